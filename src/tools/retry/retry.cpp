#include "tools/retry/retry.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/yaml.hpp"
#include "http/origin.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"

namespace berth::retry {
namespace {

using scheduler_access::SchedulerConnection;

Expected<std::vector<std::string>> KeysOf(const RetryOptions& options,
                                          const client::Environment& environment) {
  BERTH_TRY(const std::string ns, scheduler_access::NamespaceOf(options.ns, options.access, environment));
  std::vector<std::string> keys;
  for (const std::string& name : options.pods) {
    BERTH_TRY(std::string key, explain::PodKey(name, ns));
    keys.push_back(std::move(key));
  }
  return keys;
}

std::string_view TextOf(std::string_view outcome) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kTexts{
      {{"retried", "retried"},
       {"alreadyActive", "is about to be tried"},
       {"inFlight", "is being scheduled or bound; it is retried if that fails"}}};
  for (const auto& [name, text] : kTexts) {
    if (name == outcome) return text;
  }
  return outcome;
}

Expected<std::string> Retry(SchedulerConnection& scheduler, const std::string& key) {
  const std::size_t slash = key.find('/');
  BERTH_TRY(const std::string body, scheduler.Post(fmt::format("{}pods/{}/{}/retry", scheduler_access::kApi,
                                                               http::EncodeQuery(key.substr(0, slash)),
                                                               http::EncodeQuery(key.substr(slash + 1)))));
  BERTH_TRY(const yaml::Value answer, yaml::ParseValue(body));
  const yaml::Value* outcome = answer.Find("outcome");
  if (outcome == nullptr) return Invalid("the scheduler's answer has no outcome: " + body);
  return std::string(TextOf(outcome->text));
}

}  // namespace

Expected<int> RunRetry(const RetryOptions& options) {
  const SystemClock clock;
  const client::SystemEnvironment environment;
  BERTH_TRY(const std::vector<std::string> keys, KeysOf(options, environment));
  http::IoThread io(clock);
  BERTH_TRY(auto scheduler, SchedulerConnection::Open(options.access, {io, environment, clock}));
  int code = 0;
  for (const std::string& key : keys) {
    if (const auto answer = Retry(scheduler, key)) {
      fmt::print("{} {}\n", key, *answer);
    } else {
      fmt::print(stderr, "{}: {}\n", key, answer.error().message);
      code = 1;
    }
  }
  return code;
}

}  // namespace berth::retry
