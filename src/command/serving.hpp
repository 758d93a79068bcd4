// What the process tells of itself over HTTP and HTTPS.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "base/result.hpp"
#include "command/scheduler_flags.hpp"
#include "config/scheduler_config.hpp"
#include "runtime/registry.hpp"
#include "server/endpoints.hpp"

namespace berth {
class Clock;
class LeaseFence;
}  // namespace berth
namespace berth::client {
class Environment;
}
namespace berth::core {
class Scheduler;
}
namespace berth::http {
class IoThread;
}
namespace berth::metrics {
class Registry;
}
namespace berth::server {
class PodResources;
class Pprof;
class SecureServer;
class Server;
}  // namespace berth::server

namespace berth::command {

// All of it outlives the Serving.
struct ServingParts {
  const SchedulerFlags& flags;
  const PFlags& table;
  const config::SchedulerConfig& config;
  const runtime::Registry& plugins;
  const client::Environment& environment;
  const Clock& clock;
  metrics::Registry& metrics;
  core::Scheduler& scheduler;
  const LeaseFence* fence;            // null: without election
  const std::atomic<bool>& stopping;  // told by /readyz
  std::function<void(server::Endpoints&)> more_pages = {};
};

// Serves until it is destroyed, on a thread of its own: strangers' handshakes must not keep bindings waiting.
class Serving {
 public:
  static Expected<std::unique_ptr<Serving>> Start(const ServingParts& parts);
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

 private:
  Serving();

  std::unique_ptr<server::Endpoints> endpoints_;
  std::unique_ptr<http::IoThread> io_;
  std::unique_ptr<server::PodResources> resources_;
  std::unique_ptr<server::Pprof> profiles_;  // null without enableProfiling
  std::unique_ptr<server::Server> open_;
  std::unique_ptr<server::SecureServer> secure_;
};

}  // namespace berth::command
