// One attempt to place one pod, as plugins see it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/row_set.hpp"
#include "framework/cycle_state.hpp"
#include "framework/node_table.hpp"
#include "framework/pod_info.hpp"

namespace berth::framework {

// The pod, the cluster as it stands in this attempt, and what the plugins remember of it. Sets handed out by
// Scratch are empty, as large as the table, and belong to the caller until the call it makes returns; taking
// one allocates nothing once warm.
class Attempt {
 public:
  Attempt(const PodInfo& pod, const NodeTable& nodes, CycleState& state, std::vector<RowSet>& scratch)
      : pod_(pod), nodes_(nodes), state_(state), scratch_(scratch) {}

  const PodInfo& pod() const { return pod_; }
  const NodeTable& nodes() const { return nodes_; }
  CycleState& state() const { return state_; }
  // The same attempt with another memory: for a what-if.
  Attempt With(CycleState& state) const { return {pod_, nodes_, state, scratch_}; }

  class ScratchRows {
   public:
    explicit ScratchRows(std::vector<RowSet>& pool, std::size_t rows) : pool_(pool) {
      if (!pool_.empty()) {
        set_ = std::move(pool_.back());
        pool_.pop_back();
      }
      set_.Resize(rows);
      set_.Clear();
    }
    ~ScratchRows() { pool_.push_back(std::move(set_)); }
    ScratchRows(const ScratchRows&) = delete;
    ScratchRows& operator=(const ScratchRows&) = delete;
    RowSet& operator*() { return set_; }
    RowSet* operator->() { return &set_; }

   private:
    std::vector<RowSet>& pool_;
    RowSet set_;
  };
  ScratchRows Scratch() const { return ScratchRows(scratch_, nodes_.rows()); }

 private:
  const PodInfo& pod_;
  const NodeTable& nodes_;
  CycleState& state_;
  std::vector<RowSet>& scratch_;
};

// A pod with the node that was chosen for it: what Reserve and everything after it is about. It lives until
// the binding cycle has ended and the last answer a plugin owes has been given.
struct Placement {
  const PodInfo& pod;
  const std::string& node;
  CycleState& state;
};

}  // namespace berth::framework
