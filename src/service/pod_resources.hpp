// /metrics/resources: what pods ask for, as kube-scheduler v1.37 tells it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"

namespace berth::service {

class Endpoints;

// kube_pod_resource_request and kube_pod_resource_limit of every pod that has not ended, in Prometheus' text
// format.
std::string PodResourcesText(const std::vector<api::PodPtr>& pods);

// Hands all pods that are known to `take`, later and on any thread: whoever owns them lists pointers when it
// has a moment, and the rest is not its business.
using PodSource = std::function<void(std::move_only_function<void(std::vector<api::PodPtr>)> take)>;

// The page. While `leading` says no it is empty. The text is written on a thread of our own; who asks while
// it is being written shares one answer. Lives as long as `endpoints` are asked; `pods` may answer after
// that.
class PodResources {
 public:
  PodResources(Endpoints& endpoints, std::function<bool()> leading, PodSource pods);
  ~PodResources();
  PodResources(const PodResources&) = delete;
  PodResources& operator=(const PodResources&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::service
