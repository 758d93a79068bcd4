// One attempt to place one pod, as plugins see it.
#pragma once

#include <cstddef>
#include <deque>
#include <string>

#include "base/row_set.hpp"
#include "scheduler/framework/cycle_state.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_info.hpp"

namespace berth::framework {

// Sets of rows to work with, lent and given back in the reverse order, and kept for the next who needs one.
class ScratchPool {
 public:
  class Rows {
   public:
    Rows(ScratchPool& pool, std::size_t rows) : pool_(pool), set_(pool.Next()) {
      set_.Resize(rows);
      set_.Clear();
    }
    ~Rows() { --pool_.lent_; }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    RowSet& operator*() { return set_; }
    RowSet* operator->() { return &set_; }

   private:
    ScratchPool& pool_;
    RowSet& set_;
  };

 private:
  RowSet& Next() {
    if (lent_ == sets_.size()) sets_.emplace_back();
    return sets_[lent_++];
  }
  std::deque<RowSet> sets_;
  std::size_t lent_ = 0;
};

// The pod, the cluster as it stands in this attempt, and what the plugins remember of it. Sets handed out by
// Scratch are empty, as large as the table, and belong to the caller until the call it makes returns; taking
// one allocates nothing once warm.
class Attempt {
 public:
  Attempt(const cluster::PodInfo& pod, const cluster::NodeTable& nodes, CycleState& state, ScratchPool& scratch)
      : pod_(pod), nodes_(nodes), state_(state), scratch_(scratch) {}

  const cluster::PodInfo& pod() const { return pod_; }
  const cluster::NodeTable& nodes() const { return nodes_; }
  CycleState& state() const { return state_; }
  // The same attempt with another memory: for a what-if.
  Attempt With(CycleState& state) const { return {pod_, nodes_, state, scratch_}; }

  ScratchPool::Rows Scratch() const { return {scratch_, nodes_.rows()}; }

 private:
  const cluster::PodInfo& pod_;
  const cluster::NodeTable& nodes_;
  CycleState& state_;
  ScratchPool& scratch_;
};

// A pod with the node that was chosen for it: what Reserve and everything after it is about. It lives until
// the binding cycle has ended and the last answer a plugin owes has been given.
struct Placement {
  const cluster::PodInfo& pod;
  const std::string& node;
  CycleState& state;
};

}  // namespace berth::framework
