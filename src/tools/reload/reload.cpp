#include "tools/reload/reload.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <utility>

#include "base/write_yaml.hpp"
#include "base/yaml.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/reload/reload_text.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"

namespace berth::reload {
namespace {

// A preview evaluates 200 pods twice on a copy of the cluster, with low priority.
constexpr std::chrono::minutes kTimeout{2};

const char* PathOf(ReloadAction action) {
  switch (action) {
    case ReloadAction::kReload:
      return "config/reload";
    case ReloadAction::kPreview:
      return "config/reload?dryRun=All";
    case ReloadAction::kRollBack:
      return "config/rollback";
  }
  std::unreachable();
}

}  // namespace

Expected<int> RunReload(const ReloadOptions& options) {
  const SystemClock clock;
  const client::SystemEnvironment environment;
  http::IoThread io(clock);
  BERTH_TRY(auto scheduler,
            scheduler_access::SchedulerConnection::Open(options.access, {io, environment, clock}));
  BERTH_TRY(const std::string body,
            scheduler.Post(std::string(scheduler_access::kApi) + PathOf(options.action), kTimeout));
  BERTH_TRY(const config::Value report, yaml::ParseValue(body));
  if (options.output == "json") {
    fmt::print("{}\n", body);
  } else {
    fmt::print("{}", options.output == "yaml" ? yaml::ToYaml(report) : ReloadText(report, scheduler.where()));
  }
  return IsAccepted(report) ? 0 : 1;
}

}  // namespace berth::reload
