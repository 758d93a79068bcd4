#include "tools/scheduler_state/scheduler_state.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/write_yaml.hpp"
#include "http/origin.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"
#include "tools/scheduler_state/state_text.hpp"

namespace berth::scheduler_state {
namespace {

using scheduler_access::kApi;
using scheduler_access::SchedulerConnection;

// Sends the request and prints the report; `text` writes its text form.
template <class Text>
Expected<int> Report(const scheduler_access::AccessOptions& access, const std::string& path,
                     const std::string& output, Text&& text) {
  const SystemClock clock;
  const client::SystemEnvironment environment;
  http::IoThread io(clock);
  BERTH_TRY(auto connection, SchedulerConnection::Open(access, {io, environment, clock}));
  BERTH_TRY(const std::string body, connection.Get(std::string(kApi) + path));
  if (output == "json") {
    fmt::print("{}\n", body);
    return 0;
  }
  BERTH_TRY(const config::Value report, yaml::ParseValue(body));
  const std::int64_t now =
      std::chrono::floor<std::chrono::seconds>(clock.WallNow()).time_since_epoch().count();
  fmt::print("{}", output == "yaml" ? yaml::ToYaml(report) : text(report, connection.where(), now));
  return 0;
}

std::string QueuePath(const QueueOptions& options) {
  std::string path = fmt::format("queue?limit={}&offset={}", options.limit, options.offset);
  for (const auto& [name, value] :
       {std::pair{"namespace", &options.ns}, {"place", &options.place}, {"plugin", &options.plugin}}) {
    if (!value->empty()) path += fmt::format("&{}={}", name, http::EncodeQuery(*value));
  }
  return path;
}

}  // namespace

Expected<int> RunStatus(const StatusOptions& options) {
  return Report(options.access, "status", options.output,
                [](const config::Value& status, const std::string& where, std::int64_t) {
                  return StatusText(status, where);
                });
}

Expected<int> RunQueue(const QueueOptions& options) {
  return Report(options.access, QueuePath(options), options.output,
                [](const config::Value& queue, const std::string&, std::int64_t now) {
                  return QueueText(queue, {.now = now});
                });
}

}  // namespace berth::scheduler_state
