#include "sandbox/controllers/job/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "sandbox/store/time_after.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kTracking = "batch.kubernetes.io/job-tracking";
constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";
constexpr std::int64_t kJobBurst = 500;
constexpr std::size_t kIndexesMax = 1'000'000;

std::optional<std::int64_t> IndexOf(const Object& pod) {
  const std::string* text = pod.Label(kIndex);
  std::int64_t index = 0;
  if (text == nullptr || std::from_chars(text->data(), text->data() + text->size(), index).ec != std::errc())
    return std::nullopt;
  return index;
}

bool IsTracked(const Object& pod) { return HasFinalizer(pod, kTracking); }

bool IsOver(const json::object& status) {
  return IsConditionTrue(status, "Complete") || IsConditionTrue(status, "Failed");
}

// The result is decided, although pods may still be stopping.
bool IsEnding(const json::object& status) {
  return IsConditionTrue(status, "SuccessCriteriaMet") || IsConditionTrue(status, "FailureTarget");
}

}  // namespace

std::string FormatIndexes(const std::set<std::int64_t>& indexes) {
  std::string text;
  for (auto it = indexes.begin(); it != indexes.end();) {
    const std::int64_t first = *it;
    std::int64_t last = first;
    while (++it != indexes.end() && *it == last + 1) last = *it;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last != first) text += fmt::format("{}{}", last == first + 1 ? "," : "-", last);
  }
  return text;
}

std::set<std::int64_t> ParseIndexes(std::string_view text) {
  std::set<std::int64_t> indexes;
  std::int64_t previous = -1;
  ForEachOf(text, [&](std::string_view part) {
    std::int64_t first = 0, last = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    if (error != std::errc()) return;
    last = first;
    if (end != part.data() + part.size()) std::from_chars(end + 1, part.data() + part.size(), last);
    last = std::min<std::int64_t>(last, std::numeric_limits<std::int32_t>::max());
    if (first <= previous || last < first) return;
    for (std::int64_t i = first; i <= last && indexes.size() < kIndexesMax; ++i)
      indexes.insert(indexes.end(), i);
    previous = last;
  });
  return indexes;
}

std::optional<std::int64_t> JobController::Run::completions() const {
  const json::value* value = Find(spec(), "completions");
  if (value == nullptr || !value->is_int64()) return std::nullopt;
  return value->get_int64();
}

JobController::JobController(ControllerContext& context)
    : Controller(context, Kinds().jobs, "job-controller"),
      orphans_(context.timers, context.verbs.clock(), [this](const std::string& key) -> Outcome {
        const PodFacts* pod = context_.view.Pod(key);
        if (pod != nullptr && IsOrphan(*pod)) Untrack(*ObjectPtr(pod->object));
        return {};
      }) {
  EnqueueAll();
}

void JobController::OnPod(const PodFacts* before, const PodFacts* after) {
  Controller::OnPod(before, after);
  if (after != nullptr && IsOrphan(*after)) orphans_.Add(after->object->key);
}

std::string_view JobController::PodFinalizer() const { return kTracking; }

bool JobController::IsOrphan(const PodFacts& pod) const {
  if (!pod.owner_uid.empty()) {
    if (pod.owner_kind != type_.kind) return false;
    const ObjectPtr job = context_.store().Get(type_, ObjectKey(pod.object->ns, pod.owner_name));
    if (job && job->uid == pod.owner_uid) return false;
  }
  return IsTracked(*pod.object);
}

Controller::Outcome JobController::Reconcile(const ObjectPtr& object) {
  if (!Complete(*object)) return {};  // the change triggers the next reconcile
  KnownJob& known = known_[object->key];
  if (known.uid != object->uid) known = {.uid = object->uid};
  Run run{.object = object,
          .document = object->Parse(),
          .status = {},
          .active = {},
          .done = {},
          .running = {},
          .failure = {}};
  run.status = ObjectOrEmpty(run.document.root(), "status");
  run.done = ParseIndexes(FindString(run.status, "completedIndexes"));
  const bool over = IsOver(run.status);
  if (SelectorOf(*object) != nullptr) {
    const LabelSelector selector = *SelectorOf(*object);
    ClaimPods(*object, selector);
  }
  Count(run);
  if (over) {
    known.back_off = {};
    DeleteActive(run, run.active.size());
  } else if (!object->deleting) {
    if (!IsEnding(run.status)) Suspend(run);
    if (!run.suspended() && !run.status.contains("startTime")) run.status["startTime"] = context_.NowText();
    if (!FinishIfDone(run)) Manage(run);
  }
  const auto set = [&](std::string_view key, std::int64_t count, bool zero_counts = false) {
    if (count != 0 || zero_counts)
      run.status[key] = count;
    else
      run.status.erase(key);
  };
  set("active", static_cast<std::int64_t>(run.active.size()));
  set("ready", run.ready, true);
  set("terminating", run.terminating, true);
  if (run.indexed() && !run.done.empty()) run.status["completedIndexes"] = FormatIndexes(run.done);
  if (!run.status.contains("uncountedTerminatedPods")) run.status["uncountedTerminatedPods"] = json::object();
  WriteStatus(*object, run.status);
  if (IsOver(run.status)) return Expire(run);
  return {.objects_read = run.active.size(), .failed = !run.failure.empty(), .again_after = run.wait};
}

void JobController::OnGone(const std::string& key) {
  const auto known = known_.find(key);
  if (known == known_.end()) return;
  std::vector<ObjectPtr> pods;
  for (const PodFacts* pod : context_.view.PodsOf(known->second.uid)) pods.push_back(pod->object);
  for (const auto& pod : pods) Untrack(*pod);
  if (context_.view.PodsOf(known->second.uid).empty()) known_.erase(known);
}

bool JobController::Complete(const Object& job) {
  const Document document = job.Parse();
  if (FindObject(document.root(), "spec.selector") != nullptr ||
      BoolAt(document.root(), "spec.manualSelector"))
    return true;
  context_.verbs.Rewrite(PlaceOf(job), job.uid, [&](json::object& changed) {
    json::object& spec = ObjectAt(changed, "spec");
    ObjectAt(ObjectAt(spec, "selector"), "matchLabels")["batch.kubernetes.io/controller-uid"] = job.uid;
    json::object& labels = ObjectAt(ObjectAt(ObjectAt(spec, "template"), "metadata"), "labels");
    labels["batch.kubernetes.io/controller-uid"] = job.uid;
    labels["batch.kubernetes.io/job-name"] = job.name;
    labels["controller-uid"] = job.uid;
    labels["job-name"] = job.name;
  });
  return false;
}

// --- counting ---

void JobController::Count(Run& run) {
  std::vector<ObjectPtr> finished;
  std::vector<WallTime> successes, failures;  // of pods that are counted now
  std::int64_t succeeded = run.succeeded(), failed = run.failed();
  for (const PodFacts* pod : context_.view.PodsOf(run.object->uid)) {
    const Object& object = *pod->object;
    const auto index = run.indexed() ? IndexOf(object) : std::nullopt;
    if (pod->active()) {
      run.active.push_back(pod->object);
      run.ready += pod->ready ? 1 : 0;
      run.restarts += pod->restarts;
      if (index) run.running.insert(*index);
      continue;
    }
    run.terminating += pod->terminal() ? 0 : 1;
    // Without a node no kubelet stops the pod.
    if (run.replaces_only_failed() && !pod->terminal() && !pod->node().empty()) {
      if (index) run.running.insert(*index);
      continue;
    }
    if (!IsTracked(object)) continue;
    finished.push_back(pod->object);
    (pod->succeeded() ? successes : failures).push_back(pod->finished);
    const bool first_of_index = !index || run.done.insert(*index).second;
    if (pod->succeeded())
      succeeded += first_of_index ? 1 : 0;
    else if (index && first_of_index)
      run.done.erase(*index);
    if (!pod->succeeded() && !run.suspended() && !IsOver(run.status) && !IsEnding(run.status)) ++failed;
  }
  known_.at(run.object->key).back_off.Add(successes, std::move(failures));
  for (const auto& pod : finished) Untrack(*pod);
  if (succeeded > 0) run.status["succeeded"] = succeeded;
  if (failed > 0) run.status["failed"] = failed;
}

void JobController::Untrack(const Object& pod) {
  const auto drop = [&](json::object& document) -> ApiResult<> {
    json::object& metadata = ObjectAt(document, "metadata");
    auto& finalizers = ArrayAt(metadata, "finalizers");
    EraseIf(finalizers, [&](const json::value& value) { return value == json::value(kTracking); });
    if (finalizers.empty()) metadata.erase("finalizers");
    return {};
  };
  (void)context_.verbs.Edit(PlaceOf(pod), Part::kMain, drop);  // the pod may already be gone
}

// --- end of a job ---

bool JobController::FinishIfDone(Run& run) {
  if (IsEnding(run.status)) {
    Conclude(run);
    return true;
  }
  const std::int64_t limit = IntAt(run.spec(), "backoffLimit", 6);
  const bool on_failure = FindString(run.spec(), "template.spec.restartPolicy") == "OnFailure";
  if (run.failed() > limit ||
      (on_failure && run.restarts > 0 && run.restarts >= std::max<std::int64_t>(limit, 1))) {
    End(run, false, "BackoffLimitExceeded", "Job has reached the specified backoff limit");
    return true;
  }
  const json::value* deadline = Find(run.spec(), "activeDeadlineSeconds");
  const auto start = TimeOf(FindString(run.status, "startTime"));
  if (deadline != nullptr && deadline->is_int64() && start && !run.suspended()) {
    const Duration left = TimeAfter(*start, deadline->get_int64()) - context_.Now();
    if (left <= Duration::zero()) {
      End(run, false, "DeadlineExceeded", "Job was active longer than specified deadline");
      return true;
    }
    run.wait = left;
  }
  const auto completions = run.completions();
  const bool done = completions ? run.succeeded() >= *completions : run.succeeded() > 0 && run.active.empty();
  if (!done || (run.suspended() && !completions)) return false;
  End(run, true, "CompletionsReached", "Reached expected number of succeeded pods");
  return true;
}

void JobController::End(Run& run, bool success, std::string_view reason, const std::string& message) {
  // Of a failed job, pods that have not ended count as failed.
  if (!success && !run.active.empty())
    run.status["failed"] = run.failed() + static_cast<std::int64_t>(run.active.size());
  SetEnd(run, success ? "SuccessCriteriaMet" : "FailureTarget", reason, message);
  Conclude(run);
}

void JobController::SetEnd(Run& run, std::string_view type, std::string_view reason,
                           std::string_view message) {
  const std::string now = context_.NowText();
  SetCondition(run.status, {type, "True", reason, message}, now);
  ArrayAt(run.status, "conditions").back().get_object()["lastProbeTime"] = now;
}

// The job is Complete or Failed when all of its pods have stopped.
void JobController::Conclude(Run& run) {
  DeleteActive(run, run.active.size());
  run.wait = {};
  const auto pods = context_.view.PodsOf(run.object->uid);
  // No kubelet stops a pod without a node.
  run.terminating = std::ranges::count_if(pods, [](const PodFacts* pod) {
    return !pod->terminal() && !(pod->node().empty() && pod->object->deleting);
  });
  if (run.terminating > 0) return;
  const bool success = IsConditionTrue(run.status, "SuccessCriteriaMet");
  const json::object& target = *FindCondition(run.status, success ? "SuccessCriteriaMet" : "FailureTarget");
  const std::string reason(FindString(target, "reason")), message(FindString(target, "message"));
  SetEnd(run, success ? "Complete" : "Failed", reason, message);
  if (success) {
    run.status["completionTime"] = context_.NowText();
    Emit(*run.object, "Normal", "Completed", "Job completed");
  } else {
    Emit(*run.object, "Warning", reason, message);
  }
}

void JobController::Suspend(Run& run) {
  const std::string now = context_.NowText();
  if (run.suspended()) {
    DeleteActive(run, run.active.size());
    if (SetCondition(run.status, {"Suspended", "True", "JobSuspended", "Job suspended"}, now)) {
      ArrayAt(run.status, "conditions").back().get_object()["lastProbeTime"] = now;
      run.status.erase("startTime");
      Emit(*run.object, "Normal", "Suspended", "Job suspended");
    }
  } else if (IsConditionTrue(run.status, "Suspended")) {
    SetCondition(run.status, {"Suspended", "False", "JobResumed", "Job resumed"}, now);
    ArrayAt(run.status, "conditions").back().get_object()["lastProbeTime"] = now;
    run.status["startTime"] = now;
    Emit(*run.object, "Normal", "Resumed", "Job resumed");
  }
}

// Deletes finished jobs after their ttlSecondsAfterFinished.
Controller::Outcome JobController::Expire(const Run& run) {
  const json::value* ttl = Find(run.spec(), "ttlSecondsAfterFinished");
  if (ttl == nullptr || !ttl->is_int64() || run.object->deleting) return {};
  const json::object* condition = FindCondition(run.status, "Complete");
  if (condition == nullptr) condition = FindCondition(run.status, "Failed");
  const auto finished = TimeOf(FindString(*condition, "lastTransitionTime"));
  const Duration left = TimeAfter(finished.value_or(context_.Now()), ttl->get_int64()) - context_.Now();
  if (left > Duration::zero()) return {.again_after = left};
  DeleteOptions options;
  options.uid = run.object->uid;
  options.propagation = "Foreground";
  (void)context_.verbs.Delete(PlaceOf(*run.object), options);  // the job may already be gone
  return {};
}

// --- pods ---

void JobController::Manage(Run& run) {
  if (run.suspended()) return;
  const std::int64_t parallelism = IntAt(run.spec(), "parallelism", 1);
  const auto completions = run.completions();
  const auto active = static_cast<std::int64_t>(run.active.size());
  std::int64_t wanted = parallelism;
  if (completions)
    wanted = std::min(parallelism, *completions - run.succeeded());
  else if (run.succeeded() > 0)
    wanted = active;  // the queue is being drained
  if (active > wanted) return DeleteActive(run, static_cast<std::size_t>(active - wanted));
  const std::int64_t missing = wanted - active - (run.replaces_only_failed() ? run.terminating : 0);
  if (missing <= 0) return;
  // After a failure the next pod is delayed with exponential back-off.
  const Duration left = known_.at(run.object->key).back_off.Remaining(context_.Now());
  if (left > Duration::zero()) {
    if (run.wait == Duration::zero() || left < run.wait) run.wait = left;
    return;
  }
  std::int64_t next_index = 0;
  for (std::int64_t made = 0; made < missing;) {
    std::optional<std::int64_t> index;
    if (run.indexed() && completions) {
      while (run.done.contains(next_index) || run.running.contains(next_index)) ++next_index;
      if (next_index >= *completions) return;
      index = next_index++;
    }
    run.failure = CreateOne(run, index);
    if (!run.failure.empty()) return;
    if (++made == kJobBurst) {
      run.wait = std::chrono::milliseconds(10);
      return;
    }
  }
}

std::string JobController::CreateOne(const Run& run, std::optional<std::int64_t> index) {
  const auto adjust = [&](json::object& pod) {
    json::object& metadata = ObjectAt(pod, "metadata");
    ArrayAt(metadata, "finalizers").push_back(json::value(kTracking));
    if (!index) return;
    const std::string text = fmt::to_string(*index);
    metadata["generateName"] = fmt::format("{}-{}-", run.object->name, text);
    ObjectAt(metadata, "annotations")[kIndex] = text;
    ObjectAt(metadata, "labels")[kIndex] = text;
    json::object& spec = ObjectAt(pod, "spec");
    if (!spec.contains("hostname")) spec["hostname"] = fmt::format("{}-{}", run.object->name, text);
    const json::object field{{"fieldPath", fmt::format("metadata.labels['{}']", kIndex)}};
    for (auto& container : ArrayAt(spec, "containers")) {
      if (!container.is_object()) continue;
      ArrayAt(container.get_object(), "env")
          .push_back(json::object{{"name", "JOB_COMPLETION_INDEX"},
                                  {"valueFrom", json::object{{"fieldRef", field}}}});
    }
  };
  const auto created = CreatePod(*run.object, {ObjectOrEmpty(run.spec(), "template"), {}, adjust});
  return created ? std::string() : created.error().message;
}

void JobController::DeleteActive(Run& run, std::size_t count) {
  count = std::min(count, run.active.size());
  for (std::size_t i = 0; i < count; ++i) {
    const ObjectPtr pod = run.active.back();
    run.active.pop_back();
    if (IsTracked(*pod)) Untrack(*pod);  // it is no longer counted
    if (const ObjectPtr present = context_.store().Get(Known().pods, pod->key))
      DeletePod(*run.object, *present);
  }
  if (run.active.empty()) run.ready = 0;
}

}  // namespace berth::sandbox
