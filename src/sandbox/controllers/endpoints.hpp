// The addresses of a service's pods: Endpoints and EndpointSlices.
#pragma once

#include "sandbox/controllers/controller.hpp"

namespace berth::sandbox {

// For services with a selector: an Endpoints object of the same name with at most 1000 addresses, and
// EndpointSlices of at most 100 endpoints each, as kube-controller-manager v1.37 makes them (IPv4). One
// thread.
class EndpointsController final : public Controller {
 public:
  explicit EndpointsController(ControllerContext& context);
  void OnPod(const PodFacts* before, const PodFacts* after) override;

 private:
  struct Backend {
    ObjectPtr pod;
    std::string ip, node;
    bool ready = false;    // published as ready
    bool serving = false;  // the pod is Ready
    bool terminating = false;
  };
  Outcome Reconcile(const ObjectPtr& service) override;
  void OnGone(const std::string& key) override;
  // `all_ready`: publishNotReadyAddresses. Pods that are being deleted come last; only slices contain them.
  std::vector<Backend> BackendsOf(const Object& service, bool all_ready, std::size_t& objects_read) const;
  void WriteEndpoints(const Object& service, const json::object& spec, const std::vector<Backend>& backends);
  void WriteSlices(const Object& service, const json::object& spec, const std::vector<Backend>& backends);
};

}  // namespace berth::sandbox
