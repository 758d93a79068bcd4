// Runs pods to completion.
#pragma once

#include <set>
#include <unordered_map>

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/job/back_off.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: parallelism, completions, Indexed, backoffLimit with its back-off,
// activeDeadlineSeconds, suspend, podReplacementPolicy, ttlSecondsAfterFinished, the finalizer
// batch.kubernetes.io/job-tracking, labels, conditions, events. Not simulated: podFailurePolicy,
// successPolicy, backoffLimitPerIndex. One thread.
class JobController final : public Controller {
 public:
  explicit JobController(ControllerContext& context);
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct Run {
    ObjectPtr object;
    Document document;
    json::object status;
    std::vector<ObjectPtr> active;  // pods that are neither finished nor being deleted
    std::int64_t ready = 0, terminating = 0, restarts = 0;
    std::set<std::int64_t> done;     // completed indexes
    std::set<std::int64_t> running;  // indexes that need no other pod now
    Duration wait{};
    std::string failure;

    const json::object& spec() const { return ObjectOrEmpty(document.root(), "spec"); }
    bool indexed() const { return FindString(spec(), "completionMode") == "Indexed"; }
    bool suspended() const { return BoolAt(spec(), "suspend"); }
    // A pod that is being deleted counts as failed, and is replaced, only when it has stopped.
    bool replaces_only_failed() const { return FindString(spec(), "podReplacementPolicy") == "Failed"; }
    std::optional<std::int64_t> completions() const;
    std::int64_t succeeded() const { return IntAt(status, "succeeded"); }
    std::int64_t failed() const { return IntAt(status, "failed"); }
  };

  Outcome Reconcile(const ObjectPtr& object) override;
  void OnGone(const std::string& key) override;
  std::string_view PodFinalizer() const override;
  // Sets the selector and labels that the server generates.
  bool Complete(const Object& job);
  // Counts each finished pod once, when its finalizer is removed.
  void Count(Run& run);
  void Untrack(const Object& pod);
  // True if the pod has the finalizer, but no Job that could remove it: it has no controller, or that Job
  // does not exist any more.
  bool IsOrphan(const PodFacts& pod) const;
  // Checks for success, failure and deadlines: true if the job has ended.
  bool FinishIfDone(Run& run);
  void End(Run& run, bool success, std::string_view reason, const std::string& message);
  // Deletes the active pods; sets the last condition when none remains.
  void Conclude(Run& run);
  void SetEnd(Run& run, std::string_view type, std::string_view reason, std::string_view message);
  void Suspend(Run& run);
  void Manage(Run& run);
  std::string CreateOne(const Run& run, std::optional<std::int64_t> index);
  void DeleteActive(Run& run, std::size_t count);
  Outcome Expire(const Run& run);

  // The back-off is in memory only, like that of kube-controller-manager.
  struct KnownJob {
    std::string uid;  // for pods that outlive their job
    JobBackOff back_off = {};
  };
  std::unordered_map<std::string, KnownJob> known_;  // by key
  WorkQueue orphans_;                                // pods that were orphans; checked again when it runs
};

// "0-2,4": the form of status.completedIndexes. Reads at most a million indexes, and none that is not larger
// than those before it: clients can write any text.
std::string FormatIndexes(const std::set<std::int64_t>& indexes);
std::set<std::int64_t> ParseIndexes(std::string_view text);

}  // namespace berth::sandbox
