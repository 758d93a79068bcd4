// The API server of the sandbox with its controllers and kubelets, on virtual time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "base/timer_queue.hpp"
#include "http/server.hpp"
#include "sandbox/apiserver/api_server.hpp"
#include "sandbox/controllers/controllers.hpp"
#include "sandbox/kubelet/devices/device_drivers.hpp"
#include "sandbox/kubelet/kubelet.hpp"
#include "simulation/virtual_time.hpp"

namespace berth::faults {

// Controllers and kubelets are not affected by the network's faults: they write directly. One thread.
class ControlPlane {
 public:
  ControlPlane(simulation::VirtualTime& time, std::uint64_t seed);
  ~ControlPlane();

  // Executes a request of a client.
  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
    api_->Handle(std::move(request), std::move(exchange));
  }
  sandbox::Store& store() { return store_; }
  sandbox::Verbs& verbs() { return verbs_; }
  // Creates an object of a client. `json` must be valid.
  sandbox::ObjectPtr Create(const sandbox::ResourceType& type, std::string_view ns, std::string_view json);
  // Creates a node with the lease of its kubelet.
  void CreateNode(std::string_view json);
  // Deletes the object if it exists.
  void Delete(const sandbox::ResourceType& type, const std::string& ns, const std::string& name);
  // Changes an object of a client if it exists.
  void Edit(const sandbox::ResourceType& type, const std::string& ns, const std::string& name,
            const std::function<void(sandbox::json::object&)>& change);

 private:
  void Arm();

  simulation::VirtualTime& time_;
  Random random_;
  sandbox::Store store_{4096};
  TimerQueue timers_;
  sandbox::Verbs verbs_;
  std::unique_ptr<sandbox::Controllers> controllers_;
  std::unique_ptr<sandbox::Kubelet> kubelet_;
  std::unique_ptr<sandbox::DeviceDrivers> drivers_;
  std::unique_ptr<sandbox::ApiServer> api_;
  simulation::VirtualTime::EventId armed_{};
};

}  // namespace berth::faults
