#include "service/health.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::service {

Check Ping() {
  return {"ping", [] { return std::optional<std::string>(); }};
}

HealthPath::HealthPath(std::string name, std::vector<Check> checks, metrics::Registry& slis)
    : name_(std::move(name)),
      checks_(checks.empty() ? std::vector<Check>{Ping()} : std::move(checks)),
      slis_(slis) {}

std::optional<std::string> HealthPath::Evaluate(const Check& check) {
  auto failure = check.failure();
  slis_
      .Gauge("kubernetes_healthcheck", "[STABLE] This metric records the result of a single healthcheck.",
             {{"name", check.name}, {"type", name_}})
      .Set(failure ? 0 : 1);
  slis_
      .Counter("kubernetes_healthchecks_total",
               "[STABLE] This metric records the results of all healthcheck.",
               {{"name", check.name}, {"status", failure ? "error" : "success"}, {"type", name_}})
      .Add();
  return failure;
}

HealthAnswer HealthPath::All(bool verbose, const std::vector<std::string>& exclude) {
  std::set<std::string> unknown(exclude.begin(), exclude.end());
  const std::set<std::string> excluded = unknown;
  std::string lines;
  std::vector<std::string> failed;
  for (const Check& check : checks_) {
    if (excluded.contains(check.name)) {
      unknown.erase(check.name);
      lines += fmt::format("[+]{} excluded: ok\n", check.name);
    } else if (const auto failure = Evaluate(check)) {
      lines += fmt::format("[-]{} failed: reason withheld\n", check.name);
      failed.push_back(fmt::format("[-]{} failed: {}", check.name, *failure));
    } else {
      lines += fmt::format("[+]{} ok\n", check.name);
    }
  }
  if (!unknown.empty()) {
    lines += fmt::format("warn: some health checks cannot be excluded: no matches for \"{}\"\n",
                         fmt::join(unknown, "\",\""));
  }
  if (!failed.empty()) {
    if (const auto log = log::V(2))
      log.Info(name_ + " check failed", {{"checks", fmt::format("{}", fmt::join(failed, "\n"))}});
    return {500, fmt::format("{}{} check failed\n", lines, name_)};
  }
  if (!verbose) return {200, "ok"};
  return {200, fmt::format("{}{} check passed\n", lines, name_)};
}

std::optional<HealthAnswer> HealthPath::One(std::string_view name) {
  const auto check = std::ranges::find(checks_, name, &Check::name);
  if (check == checks_.end()) return std::nullopt;
  if (const auto failure = check->failure()) {
    return HealthAnswer{500, fmt::format("internal server error: {}", *failure)};
  }
  return HealthAnswer{200, "ok"};
}

}  // namespace berth::service
