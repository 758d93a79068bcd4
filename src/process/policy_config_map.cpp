#include "process/policy_config_map.hpp"

#include <fmt/format.h>

#include <future>

#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "observability/metrics/registry.hpp"
#include "process/api_connections.hpp"
#include "service/auth/config_map_watch.hpp"

namespace berth::process {
namespace {

constexpr std::string_view kKey = "policy.cfg";
constexpr std::chrono::seconds kTimeout{30};

}  // namespace

Expected<std::string> ReadPolicyConfigMap(const SchedulerFlags& flags,
                                          const config::ClientConnection& wanted) {
  const client::SystemEnvironment environment;
  const SystemClock clock;
  BERTH_TRY(const client::ConnectionConfig server, ConnectionOf(flags, wanted, environment));
  metrics::Registry unseen;
  http::IoThread io(clock);
  BERTH_TRY(const auto connection,
            client::Connection::Open(io, server, environment, unseen, clock, "scheduler"));
  const std::string& ns = flags.old.policy_configmap_namespace;
  const std::string& name = flags.old.policy_configmap;
  // Shared: the thread that fulfils the promise may still use it when its future is ready.
  const auto answered = std::make_shared<std::promise<client::Reply>>();
  auto reply = answered->get_future();
  connection->api().Send(
      {.path = fmt::format("/api/v1/namespaces/{}/configmaps/{}", ns, name), .timeout = kTimeout},
      [answered](client::Reply got) { answered->set_value(std::move(got)); });
  return PolicyIn(reply.get(), ns + "/" + name);
}

Expected<std::string> PolicyIn(const client::Reply& reply, std::string_view name) {
  if (!reply)
    return Invalid(fmt::format("couldn't get policy config map {}: {}", name, reply.error().message));
  const auto data = service::ParseConfigMap(*reply);
  if (!data) return Invalid(fmt::format("couldn't get policy config map {}: {}", name, data.error().message));
  const auto policy = data->find(std::string(kKey));
  if (policy != data->end()) return policy->second;
  std::string keys;
  for (const auto& [key, value] : *data) keys += (keys.empty() ? "" : ", ") + key;
  return Invalid(fmt::format("missing policy config map value at key \"{}\"; {} has {}", kKey, name,
                             keys.empty() ? "no keys" : keys));
}

}  // namespace berth::process
