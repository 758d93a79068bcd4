#include "bench/comparison.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "base/child_process.hpp"
#include "base/files.hpp"
#include "tools/demo/command_line.hpp"

namespace berth::command {
namespace {

namespace json = boost::json;

std::string PodBody(std::string_view kind, std::string_view prefix, std::size_t i) {
  const std::size_t cpu = kind == "varied" ? 50 + i % 97 : 50;
  const std::size_t memory = kind == "varied" ? 64 + i % 89 : 64;
  json::object spec{
      {"containers",
       json::array{json::object{
           {"name", "main"},
           {"image", "docker.io/library/nginx:1.27"},
           {"resources",
            json::object{{"requests", json::object{{"cpu", fmt::format("{}m", cpu)},
                                                   {"memory", fmt::format("{}Mi", memory)}}}}}}}}};
  const std::string app = fmt::format("app-{}", i % 10);
  if (kind == "spread") {
    const json::object selector{{"matchLabels", json::object{{"app", app}}}};
    spec["topologySpreadConstraints"] =
        json::array{json::object{{"maxSkew", 5},
                                 {"topologyKey", "topology.kubernetes.io/zone"},
                                 {"whenUnsatisfiable", "DoNotSchedule"},
                                 {"labelSelector", selector}},
                    json::object{{"maxSkew", 5},
                                 {"topologyKey", "kubernetes.io/hostname"},
                                 {"whenUnsatisfiable", "ScheduleAnyway"},
                                 {"labelSelector", selector}}};
  }
  return json::serialize(json::object{{"apiVersion", "v1"},
                                      {"kind", "Pod"},
                                      {"metadata", json::object{{"name", fmt::format("{}-{}", prefix, i)},
                                                                {"labels", json::object{{"app", app}}}}},
                                      {"spec", spec}});
}

constexpr std::string_view kConfig = R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {}, contentType: application/json, qps: 100000, burst: 100000}}
leaderElection: {{leaderElect: false}}
)";

}  // namespace

std::optional<int> Contest::Read(command_line::Command& command, int argc, char** argv) {
  std::vector<std::string> schedulers;
  sandbox = std::filesystem::path(OwnExecutable()).parent_path() / "berth";
  command_line::FlagSet& flags = command.flags();
  flags.Integers("nodes", nodes, "cluster sizes in nodes");
  flags.Integer("rounds", rounds, "rounds per scheduler and size");
  flags.Choice("pod-kind", pod_kind, {"plain", "varied", "spread"}, "kind of the pods");
  flags.List("scheduler", "NAME=COMMAND", schedulers,
             "a scheduler; {kubeconfig} and {config} are replaced by file names; may be repeated");
  flags.Path("sandbox", sandbox, "path of the program berth");
  flags.Real("timeout", timeout_seconds, "abort after this many seconds without a binding");
  flags.Bool("json", json_output, "print one JSON object per line");
  if (const auto code = command.Parse(argc, argv)) return code;
  if (schedulers.empty())
    schedulers.push_back(fmt::format("berth={} scheduler --kubeconfig {{kubeconfig}}", sandbox));
  for (const std::string& text : schedulers) {
    const auto equals = text.find('=');
    if (equals == text.npos) {
      fmt::print(stderr, "--scheduler {}: expected name=command\n", text);
      return 1;
    }
    contenders.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return std::nullopt;
}

std::vector<std::string> PodBodies(std::string_view kind, std::string_view prefix, std::size_t count) {
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < count; ++i) bodies.push_back(PodBody(kind, prefix, i));
  return bodies;
}

Stage::~Stage() {
  scheduler.reset();
  sandbox.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

Expected<void> Stage::StartSandbox(const std::string& program, std::size_t nodes) {
  folder = std::filesystem::temp_directory_path() / fmt::format("berth-bench-{}", ::getpid());
  std::filesystem::create_directories(folder);
  kubeconfig = folder / "kubeconfig";
  config = folder / "config.yaml";
  BERTH_TRY(auto child, ChildProcess::Start(
                            {.arguments = {program, "sandbox", "--no-field-ownership", "--nodes",
                                           fmt::to_string(nodes), "--port", "0", "--kubeconfig", kubeconfig},
                             .output = OutputToFile{folder / "sandbox.log"}}));
  sandbox.emplace(std::move(child));
  for (int i = 0; i < 1000 && !std::filesystem::exists(kubeconfig); ++i) {
    if (const auto ended = sandbox->Ended()) {
      return Fail(ErrorCode::kUnavailable, fmt::format("the sandbox ended with {}:\n{}", ended->Text(),
                                                       demo::LastLines(folder / "sandbox.log", 5)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  BERTH_TRY(port, load_generator::PortIn(kubeconfig));
  return WriteFileAtomically(config, fmt::format(kConfig, kubeconfig), 0600);
}

Expected<void> Stage::StartScheduler(const Contender& contender) {
  const auto arguments =
      demo::CommandLine(contender.command, {{"kubeconfig", kubeconfig}, {"config", config}});
  BERTH_TRY(auto child,
            ChildProcess::Start({.arguments = arguments, .output = OutputToFile{folder / "scheduler.log"}}));
  scheduler.emplace(std::move(child));
  return {};
}

Expected<void> Stage::Post(const std::vector<std::string>& bodies,
                           const load_generator::PostOptions& options) const {
  std::atomic<std::size_t> refused = 0;
  BERTH_RETURN_IF_ERROR(load_generator::PostAll(port, "/api/v1/namespaces/default/pods", bodies, options,
                                                [&](std::size_t, int status) {
                                                  if (status != 201) ++refused;
                                                }));
  if (refused > 0) return Fail(ErrorCode::kInternal, fmt::format("{} pods were rejected", refused.load()));
  return {};
}

std::string Stage::LogTail() const { return demo::LastLines(folder / "scheduler.log", 5); }

}  // namespace berth::command
