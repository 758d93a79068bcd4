// One attempt to place one pod, as seen by plugins.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/row_set.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/framework/cycle_state.hpp"

namespace berth::framework {

// Key of a plugin's buffer of type T. Created once, in the plugin's constructor (Handle::NewBuffer).
template <class T>
class BufferKey {
 public:
  explicit constexpr BufferKey(std::uint32_t slot) : slot_(slot) {}

 private:
  friend class ScratchPool;
  std::uint32_t slot_;
};

// Memory for the temporary results of attempts: a stack of row sets, which must be returned in the reverse
// order in which they were taken, and buffers of plugins. Not thread-safe.
class ScratchPool {
 public:
  // The buffer of this key, default-constructed on first use. It keeps its content from attempt to attempt.
  template <class T>
  T& Buffer(BufferKey<T> key) {
    if (key.slot_ >= buffers_.size()) buffers_.resize(key.slot_ + 1);
    std::shared_ptr<void>& slot = buffers_[key.slot_];
    if (slot == nullptr) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

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
  std::vector<std::shared_ptr<void>> buffers_;  // by slot
};

// The pod, the state of the cluster, and the cycle state of one attempt. Scratch() returns an empty set as
// large as the table; it belongs to the caller, and no allocation is needed once the pool is warm.
class Attempt {
 public:
  Attempt(const cluster::PodInfo& pod, const cluster::NodeTable& nodes, CycleState& state,
          ScratchPool& scratch)
      : pod_(pod), nodes_(nodes), state_(state), scratch_(scratch) {}

  const cluster::PodInfo& pod() const { return pod_; }
  const cluster::NodeTable& nodes() const { return nodes_; }
  CycleState& state() const { return state_; }
  Attempt With(CycleState& state) const { return {pod_, nodes_, state, scratch_}; }  // for dry runs
  ScratchPool::Rows Scratch() const { return {scratch_, nodes_.rows()}; }
  // The plugin's buffer (ScratchPool::Buffer). Later extension points of the attempt may read its content.
  template <class T>
  T& Buffer(BufferKey<T> key) const {
    return scratch_.Buffer(key);
  }

 private:
  const cluster::PodInfo& pod_;
  const cluster::NodeTable& nodes_;
  CycleState& state_;
  ScratchPool& scratch_;
};

// A pod with the node selected for it: the argument of Reserve and all later extension points. Valid until
// the binding cycle has ended and every asynchronous call of a plugin has completed.
struct Placement {
  const cluster::PodInfo& pod;
  const std::string& node;
  CycleState& state;
};

}  // namespace berth::framework
