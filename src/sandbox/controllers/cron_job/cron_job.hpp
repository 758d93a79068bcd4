// Creates jobs on a schedule.
#pragma once

#include <optional>

#include "sandbox/apiserver/cron_schedule.hpp"
#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: schedule (UTC only), suspend, concurrencyPolicy,
// startingDeadlineSeconds, history limits, status, events. One thread.
class CronJobController final : public Controller {
 public:
  explicit CronJobController(ControllerContext& context);
  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  Outcome Reconcile(const ObjectPtr& object) override;
  bool AdoptsPods() const override { return false; }
  // nullopt if the CronJob is suspended, or its time zone or schedule is invalid: then an event tells the
  // reason. A suspended CronJob gets no event about its schedule.
  std::optional<CronSchedule> ScheduleToFollow(const Object& cron, const json::object& document);
  bool StartJob(const Object& cron, const json::object& document, json::object& status, WallTime scheduled);
  // Updates the list of active jobs and deletes finished jobs beyond the history limits.
  void CleanUpJobs(const Object& cron, const json::object& document, json::object& status);
  void Delete(const Object& cron, const Object& job);
};

}  // namespace berth::sandbox
