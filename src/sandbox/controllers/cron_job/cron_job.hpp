// Makes jobs by the clock.
#pragma once

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
  bool StartJob(const Object& cron, const json::object& document, json::object& status, WallTime scheduled);
  // Which of its jobs run, and that not too many finished ones are kept.
  void Sweep(const Object& cron, const json::object& document, json::object& status);
  void Delete(const Object& cron, const Object& job);
};

}  // namespace berth::sandbox
