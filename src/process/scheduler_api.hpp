// The HTTP API of a running scheduler: why pods are pending, what waits in the queue, and the state of the
// scheduler.
#pragma once

#include <functional>
#include <memory>

#include "scheduler/introspection/inspector.hpp"
#include "service/endpoints.hpp"

namespace berth::process {

// Adds GET /apis/berth.dev/v1alpha1/{status,queue,pods/NAMESPACE/NAME} (docs/guide/scheduler-api.md). The
// loop only copies what a response needs; the text is written on one other thread. At most kMostRequests
// requests are served at the same time, others get 429 with Retry-After. Each request is logged with its path
// and its status.
class SchedulerApi {
 public:
  struct Parts {
    introspection::Inspector inspector;
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
