#include "tools/why/why.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/yaml.hpp"
#include "http/origin.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/explain/terminal.hpp"
#include "tools/scheduler_access/configz.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"
#include "tools/scheduler_state/state_text.hpp"

namespace berth::why {
namespace {

using scheduler_access::SchedulerConnection;

struct Pod {
  std::string ns, name;
};

// The pods that the options name. Invalid names are left out: RunExplain reports them.
Expected<std::vector<Pod>> NamedPods(const WhyOptions& options, const client::Environment& environment) {
  BERTH_TRY(const std::string ns,
            scheduler_access::NamespaceOf(options.explain.ns, options.access, environment));
  std::vector<Pod> pods;
  for (const std::string& name : options.explain.pods) {
    const auto key = explain::PodKey(name, ns);
    if (!key) continue;
    const std::size_t slash = key->find('/');
    pods.push_back({key->substr(0, slash), key->substr(slash + 1)});
  }
  return pods;
}

std::string StateOf(SchedulerConnection& scheduler, const Pod& pod,
                    const scheduler_state::StateTextOptions& text) {
  const std::string path = fmt::format("{}pods/{}/{}", scheduler_access::kApi, http::EncodeQuery(pod.ns),
                                       http::EncodeQuery(pod.name));
  auto body = scheduler.Get(path + "?view=nodes");
  // Who may read the pod may read the summary, which names no other tenant and no other member of the group.
  if (!body && body.error().code == ErrorCode::kUnauthorized) body = scheduler.Get(path);
  const auto report = body ? yaml::ParseValue(*body) : Expected<yaml::Value>(std::unexpected(body.error()));
  if (report) return scheduler_state::PodText(*report, scheduler.where(), text);
  return fmt::format("{}/{}: {}\n", pod.ns, pod.name, report.error().message);
}

// The configuration of the scheduler, unless it must not be read.
void UseItsConfiguration(SchedulerConnection& scheduler, explain::ExplainOptions& options) {
  if (auto text = scheduler_access::ReadConfigz(scheduler)) {
    options.running = explain::RunningConfig{
        .text = std::move(*text), .feature_gates = "", .source = scheduler.where() + " (/configz)"};
  }
}

// Prints the state of the named pods. An error is the reason why the scheduler was not read.
Expected<void> PrintState(const WhyOptions& options, explain::ExplainOptions& explain) {
  const SystemClock clock;
  const client::SystemEnvironment environment;
  BERTH_TRY(const std::vector<Pod> pods, NamedPods(options, environment));
  http::IoThread io(clock);
  BERTH_TRY(auto scheduler, SchedulerConnection::Open(options.access, {io, environment, clock}));
  const scheduler_state::StateTextOptions text{
      .now = std::chrono::floor<std::chrono::seconds>(clock.WallNow()).time_since_epoch().count(),
      .width = explain::StandardOutput(environment).width};
  for (const Pod& pod : pods) fmt::print("{}\n", StateOf(scheduler, pod, text));
  if (explain.config.empty()) UseItsConfiguration(scheduler, explain);
  return {};
}

bool ReadsScheduler(const explain::ExplainOptions& options) {
  return options.files.empty() && !options.pods.empty() &&
         (options.output == "text" || options.output == "wide");
}

}  // namespace

Expected<int> RunWhy(const WhyOptions& options, const runtime::Registry& built_in) {
  explain::ExplainOptions explain = options.explain;
  if (ReadsScheduler(explain)) {
    if (const auto read = PrintState(options, explain); !read) {
      if (read.error().code == ErrorCode::kInvalid) return std::unexpected(read.error());
      fmt::print(stderr,
                 "Note: the running scheduler was not read: {}. This is an evaluation of the cluster.\n",
                 read.error().message);
    }
  }
  std::fflush(stdout);
  return explain::RunExplain(explain, built_in);
}

}  // namespace berth::why
