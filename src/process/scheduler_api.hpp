// The HTTP API of a running scheduler: why pods are pending and what would help, what waits in the queue, and
// the state of nodes, plugins and the scheduler.
#pragma once

#include <functional>
#include <memory>

#include "process/config_reload.hpp"
#include "process/pod_retries.hpp"
#include "scheduler/evaluation/pod_explainer.hpp"
#include "scheduler/introspection/inspector.hpp"
#include "service/endpoints.hpp"

namespace berth::process {

// Adds the paths below /apis/berth.dev/v1alpha1/ (docs/guide/scheduler-api.md, scheduler_api_paths.hpp), and
// their OpenAPI document at /openapi/v3, which needs access to that path. The loop only copies what a
// response needs; texts are written on one other thread, and pods are evaluated anew on a third one. At most
// kMostRequests requests are served at the same time, and at most PodExplainer::kMostWaiting of them wait for
// an evaluation; others get 429 with Retry-After. Each request is logged with its user, its path and its
// status. Only these requests change anything: POST pods/NAMESPACE/NAME/retry, config/reload and
// config/rollback.
class SchedulerApi {
 public:
  struct Parts {
    introspection::Inspector inspector;
    evaluation::PodExplainer& explainer;
    PodRetries retries;
    bool may_retry = false;  // false: requests to retry a pod are refused
    ConfigReload& reload;
    bool may_reload = false;        // false: requests to change the configuration are refused
    std::function<bool()> leading;  // any thread
  };
  static constexpr int kMostRequests = 16;

  SchedulerApi(service::Endpoints& endpoints, Parts parts);
  // Waits for the response that is being written. Requests that arrive later are not served any more.
  ~SchedulerApi();
  SchedulerApi(const SchedulerApi&) = delete;
  SchedulerApi& operator=(const SchedulerApi&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::process
