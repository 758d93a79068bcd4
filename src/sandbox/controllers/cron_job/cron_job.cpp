#include "sandbox/controllers/cron_job/cron_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/trim.hpp"

namespace berth::sandbox {
namespace {

// A longer startingDeadlineSeconds is no limit.
constexpr std::int64_t kDeadlineMax = 10LL * 366 * 24 * 3600;

struct JobFacts {
  ObjectPtr object;
  bool complete = false, failed = false;
  std::string started;
};

JobFacts JobFactsOf(const ObjectPtr& object) {
  const Document document = object->Parse();
  const json::object& status = ObjectOrEmpty(document.root(), "status");
  return {object, IsConditionTrue(status, "Complete"), IsConditionTrue(status, "Failed"),
          std::string(FindString(document.root(), "metadata.creationTimestamp"))};
}

// Takes the zone at the beginning of a schedule, as in "TZ=UTC 0 0 * * *", and the white space around the
// rest. The API server accepts it no longer, but keeps CronJobs that have it. Empty: none.
std::string_view TakeZone(std::string_view& schedule) {
  for (const std::string_view prefix : {"TZ=", "CRON_TZ="}) {
    if (!schedule.starts_with(prefix)) continue;
    const std::string_view zone = schedule.substr(prefix.size(), schedule.find(' ') - prefix.size());
    schedule.remove_prefix(prefix.size() + zone.size());
    schedule = Trimmed(schedule, " \t\n\v\f\r");
    return zone;
  }
  return {};
}

bool IsUtc(std::string_view zone) { return zone.empty() || zone == "UTC" || zone == "Etc/UTC"; }

Expected<CronSchedule> ScheduleOf(std::string_view text) {
  if (const std::string_view zone = TakeZone(text); !IsUtc(zone))
    return Invalid(fmt::format("provided bad location {0}: unknown time zone {0}", zone));
  return CronSchedule::Parse(text);
}

}  // namespace

CronJobController::CronJobController(ControllerContext& context)
    : Controller(context, Kinds().cron_jobs, "cronjob-controller") {
  EnqueueAll();
}

void CronJobController::OnChange(const ResourceType& type, const Change& change) {
  Controller::OnChange(type, change);
  if (&type != &Kinds().jobs) return;
  const Document document = change.subject().Parse();
  const json::object* owner = ControllerOf(document.root());
  if (owner != nullptr && FindString(*owner, "kind") == type_.kind)
    queue_.Add(ObjectKey(change.subject().ns, FindString(*owner, "name")));
}

Controller::Outcome CronJobController::Reconcile(const ObjectPtr& object) {
  const Document document = object->Parse();
  const json::object& root = document.root();
  if (object->deleting) return {};
  json::object status = ObjectOrEmpty(root, "status");
  CleanUpJobs(*object, root, status);
  const auto schedule = ScheduleToFollow(*object, root);
  if (!schedule) {
    WriteStatus(*object, status);
    return {};
  }
  // The latest scheduled time that has passed since the last start.
  auto from = TimeOf(FindString(status, "lastScheduleTime"));
  if (!from) from = TimeOf(FindString(root, "metadata.creationTimestamp"));
  const json::value* deadline = FindPath(root, "spec.startingDeadlineSeconds");
  const WallTime start = from.value_or(context_.Now());
  WallTime since = start;
  if (deadline != nullptr && deadline->is_int64()) {
    const auto seconds = std::clamp<std::int64_t>(deadline->get_int64(), 0, kDeadlineMax);
    since = std::max(since, context_.Now() - std::chrono::seconds(seconds));
  }
  const auto due = schedule->Last(since, context_.Now());
  // The times of @every count from the last start, also if that time missed its deadline.
  const auto next = schedule->Next(schedule->Last(start, context_.Now()).value_or(start));
  bool failed = false;
  if (due) failed = !StartJob(*object, root, status, *due);
  WriteStatus(*object, status);
  return {.failed = failed, .again_after = next ? *next - context_.Now() : Duration::zero()};
}

std::optional<CronSchedule> CronJobController::ScheduleToFollow(const Object& cron,
                                                                const json::object& document) {
  const auto zone = FindString(document, "spec.timeZone");
  if (!IsUtc(zone)) {
    Emit(cron, "Warning", "UnknownTimeZone",
         fmt::format("invalid timeZone: \"{}\": unknown time zone {}", zone, zone));
    return std::nullopt;
  }
  if (BoolAt(document, "spec.suspend")) return std::nullopt;
  const auto text = FindString(document, "spec.schedule");
  if (text.contains("TZ")) {
    Emit(cron, "Warning", "UnsupportedSchedule",
         fmt::format("CRON_TZ or TZ used in schedule \"{}\" is not officially supported, see "
                     "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details",
                     text));
  }
  const auto schedule = ScheduleOf(text);
  if (schedule) return *schedule;
  Emit(cron, "Warning", "UnparseableSchedule",
       fmt::format("unparseable schedule: \"{}\" : {}", text, schedule.error().message));
  return std::nullopt;
}

bool CronJobController::StartJob(const Object& cron, const json::object& document, json::object& status,
                                 WallTime scheduled) {
  const auto policy = FindString(document, "spec.concurrencyPolicy");
  if (policy == "Forbid" && !ArrayOrEmpty(status, "active").empty()) {
    Emit(cron, "Normal", "JobAlreadyActive",
         "Not starting job because prior execution is running and concurrency policy is Forbid");
    return true;
  }
  if (policy == "Replace") {
    for (const auto& object : context_.view.DependentsOf(cron.uid, Kinds().jobs)) {
      const JobFacts job = JobFactsOf(object);
      if (!job.complete && !job.failed) Delete(cron, *object);
    }
    status.erase("active");
  }
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(scheduled.time_since_epoch()).count();
  const std::string name = fmt::format("{}-{}", cron.name.substr(0, 52), minutes);
  Document job;
  json::object& metadata = ObjectAt(job.root(), "metadata");
  metadata["name"] = name;
  const json::object& job_template = ObjectOrEmpty(document, "spec.jobTemplate");
  for (const std::string_view key : {"labels", "annotations"}) {
    if (const json::value* value = FindPath(job_template, fmt::format("metadata.{}", key)))
      metadata[key] = *value;
  }
  ObjectAt(metadata, "annotations")["batch.kubernetes.io/cronjob-scheduled-timestamp"] =
      FormatTime(scheduled);
  metadata["ownerReferences"] = json::array{ControllerRef(cron)};
  job.root()["spec"] = ObjectOrEmpty(job_template, "spec");
  const auto created = context_.verbs.Create(Kinds().jobs, cron.ns, std::move(job));
  if (!created && created.error().code != 409) {
    Emit(cron, "Warning", "FailedCreate", fmt::format("Error creating job: {}", created.error().message));
    return false;
  }
  status["lastScheduleTime"] = FormatTime(scheduled);
  if (!created) return true;
  Emit(cron, "Normal", "SuccessfulCreate", fmt::format("Created job {}", name));
  ArrayAt(status, "active")
      .push_back(json::object{{"kind", "Job"},
                              {"namespace", cron.ns},
                              {"name", name},
                              {"uid", (*created)->uid},
                              {"apiVersion", "batch/v1"},
                              {"resourceVersion", fmt::to_string((*created)->version)}});
  return true;
}

void CronJobController::CleanUpJobs(const Object& cron, const json::object& document, json::object& status) {
  std::vector<JobFacts> complete, failed;
  const auto is_active = [&](const std::string& uid) {
    return std::ranges::any_of(ArrayOrEmpty(status, "active"), [&](const json::value& reference) {
      return reference.is_object() && FindString(reference.get_object(), "uid") == uid;
    });
  };
  for (const auto& object : context_.view.DependentsOf(cron.uid, Kinds().jobs)) {
    JobFacts job = JobFactsOf(object);
    if (!job.complete && !job.failed) continue;
    if (is_active(object->uid)) {
      EraseIf(ArrayAt(status, "active"), [&](const json::value& reference) {
        return reference.is_object() && FindString(reference.get_object(), "uid") == object->uid;
      });
      Emit(cron, "Normal", "SawCompletedJob",
           fmt::format("Saw completed job: {}, condition: {}", object->name,
                       job.complete ? "Complete" : "Failed"));
      if (job.complete)
        status["lastSuccessfulTime"] = FindString(object->Parse().root(), "status.completionTime");
    }
    (job.complete ? complete : failed).push_back(std::move(job));
  }
  if (status.contains("active")) {
    auto& active = ArrayAt(status, "active");
    EraseIf(active, [&](const json::value& reference) {
      return reference.is_object() &&
             !context_.view.Exists(std::string(FindString(reference.get_object(), "uid")));
    });
    if (active.empty()) status.erase("active");
  }
  const auto trim = [&](std::vector<JobFacts>& jobs, std::int64_t limit) {
    std::ranges::sort(jobs, {}, [](const JobFacts& job) { return std::pair(job.started, job.object->name); });
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(jobs.size()) - limit; ++i)
      Delete(cron, *jobs[static_cast<std::size_t>(i)].object);
  };
  trim(complete, IntAt(document, "spec.successfulJobsHistoryLimit", 3));
  trim(failed, IntAt(document, "spec.failedJobsHistoryLimit", 1));
}

void CronJobController::Delete(const Object& cron, const Object& job) {
  DeleteOptions options;
  options.uid = job.uid;
  options.propagation = "Background";
  if (context_.verbs.Delete(PlaceOf(job), options))
    Emit(cron, "Normal", "SuccessfulDelete", fmt::format("Deleted job {}", job.name));
}

}  // namespace berth::sandbox
