#include "tools/migrate/extender_reach.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <future>

#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "http/proxy.hpp"
#include "process/extender_environment.hpp"

namespace berth::migrate {
namespace {

std::string VerbsOf(const config::ExtenderConfig& extender) {
  std::vector<std::string_view> verbs;
  if (!extender.filter_verb.empty()) verbs.emplace_back("filter");
  if (!extender.prioritize_verb.empty()) verbs.emplace_back("prioritize");
  if (!extender.preempt_verb.empty()) verbs.emplace_back("preempt");
  if (!extender.bind_verb.empty()) verbs.emplace_back("bind");
  return fmt::format("{}", fmt::join(verbs, ", "));
}

Expected<int> StatusOf(const config::ExtenderConfig& extender, http::IoThread& io,
                       const client::Environment& environment) {
  const extenders::Environment environment_access = process::ExtenderEnvironment(environment);
  http::ClientOptions options;
  BERTH_TRY(options.origin, http::ParseOrigin(extender.url_prefix));
  BERTH_TRY(options.tls, extenders::TlsOf(extender, environment_access));
  BERTH_TRY(options.proxy, http::ProxyFromVariables(options.origin, environment_access.variable));
  BERTH_TRY(const auto client, http::Client::Make(io, std::move(options)));
  const auto answered = std::make_shared<std::promise<Expected<int>>>();
  auto status = answered->get_future();
  client->Send({.target = "/", .timeout = std::chrono::seconds(5)},
               [answered](Expected<http::ClientResponse> response) {
                 if (!response) return answered->set_value(std::unexpected(std::move(response).error()));
                 answered->set_value(response->status);
               });
  return status.get();
}

}  // namespace

Findings CheckExtenders(const std::vector<config::ExtenderConfig>& extenders, http::IoThread& io,
                        const client::Environment& environment) {
  Findings findings;
  for (const config::ExtenderConfig& extender : extenders) {
    const std::string name = fmt::format("{} ({})", extender.url_prefix, VerbsOf(extender));
    const std::string examine =
        fmt::format("berth extender check {} checks its responses", extender.url_prefix);
    const auto status = StatusOf(extender, io, environment);
    if (status) {
      findings.push_back({Level::kOk, Topic::kExtenders,
                          fmt::format("{} is reachable, and Berth calls it like kube-scheduler", name),
                          examine});
    } else {
      findings.push_back({Level::kWarning, Topic::kExtenders,
                          fmt::format("{} is not reachable from here: {}", name, status.error().message),
                          fmt::format("check it from the scheduler's node or pod: berth extender check {}",
                                      extender.url_prefix)});
    }
  }
  return findings;
}

}  // namespace berth::migrate
