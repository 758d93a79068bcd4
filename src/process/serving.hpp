// The endpoints of the process over HTTP and HTTPS.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "process/scheduler_flags.hpp"
#include "scheduler/runtime/registry.hpp"
#include "service/endpoints.hpp"
#include "service/pod_resources.hpp"

namespace berth {
class Clock;
class LeaseFence;
}  // namespace berth
namespace berth::client {
class Environment;
}
namespace berth::http {
class IoThread;
}
namespace berth::metrics {
class Registry;
}
namespace berth::service {
class Pprof;
class SecureServer;
class Server;
}  // namespace berth::service

namespace berth::process {

// Everything in it must outlive the Serving.
struct ServingParts {
  const SchedulerFlags& flags;
  const command_line::FlagSet& table;
  const config::SchedulerConfig& config;
  std::function<std::string()> configz;  // the page /configz. Any thread
  const client::Environment& environment;
  const Clock& clock;
  metrics::Registry& metrics;
  // Whether all objects that existed at the start have been received. Any thread.
  std::function<bool()> synced;
  service::PodSource list_pods;
  const LeaseFence& fence;
  const std::atomic<bool>& stopping;  // reported by /readyz
  std::function<void(service::Endpoints&)> more_pages = {};
};

// Serves until it is destroyed, on its own thread: handshakes of untrusted clients must not delay bindings.
class Serving {
 public:
  static Expected<std::unique_ptr<Serving>> Start(const ServingParts& parts);
  ~Serving();
  // Closes the ports and the connections. What others still have of requests must be destroyed before this
  // object.
  void Close();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  Serving();

  std::unique_ptr<service::Endpoints> endpoints_;
  std::unique_ptr<http::IoThread> io_;
  std::unique_ptr<service::PodResources> resources_;
  std::unique_ptr<service::Pprof> profiles_;  // null without enableProfiling
  std::unique_ptr<service::Server> open_;
  std::unique_ptr<service::SecureServer> secure_;
};

}  // namespace berth::process
