// /metrics/resources: the resource requests and limits of pods, in kube-scheduler v1.37's format.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kubernetes/api/objects.hpp"

namespace berth::service {

class Endpoints;

// kube_pod_resource_request and kube_pod_resource_limit of every pod that is not terminated, in Prometheus'
// text format.
std::string PodResourcesText(const std::vector<api::PodPtr>& pods);

// Passes all known pods to `take`, later and on any thread. The owner of the pods only copies pointers.
using PodSource = std::function<void(std::move_only_function<void(std::vector<api::PodPtr>)> take)>;

// The page. It is empty while `leading` returns false. The text is written on a separate thread; requests
// that arrive meanwhile share one response. Must live as long as `endpoints` are used; `pods` may respond
// after that.
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
