// The contract between the scheduler and its plugins. Every scheduling rule of Berth is written against this
// header and nothing else of the engine.
//
// All calls are made by the scheduler loop, one at a time. A plugin is created once per profile, lives as
// long as it, and implements the interfaces of the extension points it takes part in. What it answers for a
// node equals what the plugin of the same name in kube-scheduler v1.37.1 answers for it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/row_set.hpp"
#include "framework/cluster_event.hpp"
#include "framework/node_table.hpp"
#include "framework/pod_info.hpp"
#include "framework/ports.hpp"
#include "framework/queued_pod.hpp"
#include "framework/score_column.hpp"
#include "framework/status.hpp"
#include "framework/verdicts.hpp"

namespace berth::framework {

// One attempt to place one pod, as plugins see it. Sets handed out by Scratch are empty, as large as the
// table, and belong to the caller until the call it makes returns; taking one allocates nothing once warm.
class Attempt {
 public:
  Attempt(const PodInfo& pod, const NodeTable& nodes, std::vector<RowSet>& scratch)
      : pod_(pod), nodes_(nodes), scratch_(scratch) {}

  const PodInfo& pod() const { return pod_; }
  const NodeTable& nodes() const { return nodes_; }

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
  std::vector<RowSet>& scratch_;
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual std::string_view Name() const = 0;
  // Events after which a pod that this plugin rejected may fit. A plugin at PreEnqueue, PreFilter or Filter
  // that does not say is asked again after every event.
  virtual std::vector<ClusterEvent> EventsToRegister() const { return {ClusterEvent{}}; }
};

// Before a pod may enter activeQ. Anything but Success keeps it out until an event of EventsToRegister frees
// it.
class PreEnqueuePlugin : public virtual Plugin {
 public:
  virtual Status PreEnqueue(const api::Pod& pod) const = 0;
};

// The order of activeQ. Exactly one per process.
class QueueSortPlugin : public virtual Plugin {
 public:
  virtual bool Less(const QueuedPod& a, const QueuedPod& b) const = 0;
};

struct PreFilterAnswer {
  Status status;
  // The only nodes that can be considered; they need not exist. Nothing: all nodes.
  std::optional<std::vector<NodeNameId>> nodes;
};
// Once per attempt, before Filter. Skip: this plugin's Filter is not asked. Unschedulable and
// UnschedulableAndUnresolvable reject the pod as a whole.
class PreFilterPlugin : public virtual Plugin {
 public:
  virtual PreFilterAnswer PreFilter(const Attempt& attempt) const = 0;
};

// Which nodes will not do. Asked once for all nodes that are still candidates: for each reason the plugin
// says which rows that reason rejects. Rows outside `candidates` may be named too; they are ignored.
class FilterPlugin : public virtual Plugin {
 public:
  virtual void Filter(const Attempt& attempt, const RowSet& candidates, Rejections& out) const = 0;
};

// Once per attempt with two or more feasible nodes. Skip: this plugin's Score is not asked and it has no part
// in the total. Anything else but Success fails the attempt.
class PreScorePlugin : public virtual Plugin {
 public:
  virtual Status PreScore(const Attempt& attempt, const RowSet& feasible) const = 0;
};

// How good the feasible nodes are. After Normalize every score must be within 0 and kMaxScore.
class ScorePlugin : public virtual Plugin {
 public:
  virtual Status Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const = 0;
  // Brings raw scores, which Score may leave in any range, between 0 and kMaxScore.
  virtual Status Normalize(const Attempt&, const RowSet& /*feasible*/, ScoreColumn&) const { return {}; }
};

// Binds a pod to its node. Returns at once; `done` is called from any thread, once. Skip: the next plugin is
// asked.
class BindPlugin : public virtual Plugin {
 public:
  using Done = std::move_only_function<void(Status)>;
  virtual void Bind(const PodInfo& pod, const std::string& node, Done done) = 0;
};

// What a plugin may use of the scheduler it is built into; outlives the plugin.
struct Handle {
  Vocabulary& vocabulary;
  Reasons& reasons;
  ApiWriter& api;
};

// Kubernetes' usual normalisation: the best raw score becomes 100, the others keep their proportion (integer
// division); reversed, the best is the lowest. If no raw score is above 0 all become 100 when reversed, else
// they stay.
void NormalizeByMaximum(const RowSet& feasible, bool reverse, ScoreColumn& scores);

}  // namespace berth::framework
