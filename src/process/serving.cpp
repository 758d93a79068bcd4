#include "process/serving.hpp"

#include <fmt/format.h>

#include <map>

#include "base/lease_fence.hpp"
#include "base/redact.hpp"
#include "http/io_thread.hpp"
#include "observability/log/log.hpp"
#include "process/host_port.hpp"
#include "service/pod_resources.hpp"
#include "service/profiling/pprof.hpp"
#include "service/secure_server.hpp"
#include "service/server.hpp"
#include "service/zpages.hpp"

namespace berth::process {
namespace {

void AddHealth(const ServingParts& parts, service::Endpoints& endpoints) {
  std::vector<service::Check> health, ready;
  if (parts.config.leader_election.leader_elect) {
    // kube-scheduler never sets the elector of its watchdog, so the check always passes.
    const service::Check watchdog{"leaderElection", [] { return std::optional<std::string>(); }};
    health.push_back(watchdog);
    ready.push_back(watchdog);
  }
  ready.push_back({"shutdown", [&stopping = parts.stopping]() -> std::optional<std::string> {
                     if (stopping.load(std::memory_order_relaxed)) return "process is shutting down";
                     return std::nullopt;
                   }});
  ready.push_back({"sched-handler-sync", [synced = parts.synced]() -> std::optional<std::string> {
                     if (synced()) return std::nullopt;
                     return "handlers are not fully synchronized";
                   }});
  endpoints.AddHealth("healthz", std::move(health));
  endpoints.AddHealth("livez", {});
  endpoints.AddHealth("readyz", std::move(ready));
}

void AddPages(const ServingParts& parts, service::Endpoints& endpoints) {
  endpoints.AddPage("/configz", "application/json", parts.configz);
  service::AddFlagz(endpoints, [&table = parts.table] {
    std::map<std::string, std::string> shown;
    for (const auto& [name, value] : table.Values()) shown.emplace(name, RedactUrl(value));
    return shown;
  });
  service::AddStatusz(endpoints, {.binary_version = "1.37.1", .emulation_version = "1.37"}, parts.clock);
}

std::unique_ptr<service::PodResources> AddResources(const ServingParts& parts,
                                                    service::Endpoints& endpoints) {
  return std::make_unique<service::PodResources>(
      endpoints, [&fence = parts.fence] { return fence.Open(); }, parts.list_pods);
}

// The port of older releases (--port) has always served metrics.
service::PlainContent HttpContent(const SchedulerFlags& flags, const command_line::FlagSet& table) {
  const bool old_port = table.IsSet("port") && !table.IsSet("berth-http-address");
  return flags.own.http_metrics || old_port ? service::PlainContent::kHealthAndMetrics
                                            : service::PlainContent::kHealth;
}

// From --berth-http-address, or from the legacy --port and --address.
Expected<HostPort> HttpAddress(const SchedulerFlags& flags, const command_line::FlagSet& table) {
  if (table.IsSet("port") && !table.IsSet("berth-http-address"))
    return HostPort{flags.old.address, static_cast<std::uint16_t>(flags.old.port)};
  const std::string& text = flags.own.http_address;
  if (std::optional<HostPort> address = ParseHostPort(text)) return *std::move(address);
  return Invalid(
      fmt::format("invalid argument \"{}\" for \"--berth-http-address\" flag: expected ADDRESS:PORT", text));
}

}  // namespace

Serving::Serving() = default;
Serving::~Serving() = default;

void Serving::Close() {
  secure_.reset();
  open_.reset();
}

Expected<std::unique_ptr<Serving>> Serving::Start(const ServingParts& parts) {
  std::unique_ptr<Serving> serving(new Serving);
  serving->endpoints_ = std::make_unique<service::Endpoints>(parts.metrics);
  service::Endpoints& endpoints = *serving->endpoints_;
  serving->io_ = std::make_unique<http::IoThread>(parts.clock);
  AddHealth(parts, endpoints);
  AddPages(parts, endpoints);
  if (parts.more_pages) parts.more_pages(endpoints);
  serving->resources_ = AddResources(parts, endpoints);
  if (parts.config.enable_profiling) {
    serving->profiles_ = std::make_unique<service::Pprof>(endpoints, *serving->io_, parts.clock);
    endpoints.AddVerbosity();
  }
  BERTH_TRY(const HostPort address, HttpAddress(parts.flags, parts.table));
  if (address.port != 0) {
    auto open = service::Server::Listen(*serving->io_, endpoints, HttpContent(parts.flags, parts.table),
                                        address.host, address.port);
    if (!open && open.error().code == ErrorCode::kConflict)
      open.error().message +=
          "; if another scheduler runs on this host, set another port, or --berth-http-address=127.0.0.1:0 "
          "to disable plain HTTP";
    BERTH_TRY(serving->open_, std::move(open));
    log::Info("Serving plain HTTP", {{"address", address.host}, {"port", address.port}});
  }
  const SchedulerFlags& flags = parts.flags;
  BERTH_TRY(serving->secure_, service::SecureServer::Start(
                                  flags.serving, flags.authentication, flags.authorization,
                                  {*serving->io_, parts.environment, parts.clock, parts.metrics, endpoints}));
  return serving;
}

}  // namespace berth::process
