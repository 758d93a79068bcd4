#include "command/berth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fatal_signals.hpp"
#include "base/open_files.hpp"
#include "base/version.hpp"
#include "command/completion_command.hpp"
#include "command/config_command.hpp"
#include "command/demo_command.hpp"
#include "command/explain_command.hpp"
#include "command/extender_command.hpp"
#include "command/measure_command.hpp"
#include "command/migrate_command.hpp"
#include "command/rebalance_command.hpp"
#include "command/replay_command.hpp"
#include "command/sandbox_command.hpp"
#include "command/scheduler_command.hpp"
#include "command/simulate_command.hpp"
#include "command/status_command.hpp"
#include "command/ui_command.hpp"
#include "command/what_if_command.hpp"
#include "command_line/command.hpp"

namespace berth::command {
namespace {

using Arguments = std::span<const std::string>;

struct Subcommand {
  std::string_view name;
  std::string_view help;
  int (*run)(Arguments arguments, const runtime::Registry& plugins);  // without the subcommand's name
};

int PrintVersion(Arguments args, const runtime::Registry&) {
  command_line::Command command("berth version",
                                "Prints the version of Berth and of Kubernetes that it follows.");
  if (const auto code = command.Parse(args)) return *code;
  fmt::print("berth {} (follows Kubernetes v1.37.1)\n", BerthVersion());
  return 0;
}

constexpr Subcommand kSubcommands[] = {
    {"scheduler", "run the scheduler", &RunSchedulerCommand},
    {"explain", "explain why pods are pending and where they would be placed", &RunExplainCommand},
    {"why", "explain why pods are pending, with their state in the running scheduler",
     [](Arguments arguments, const runtime::Registry& plugins) {
       return RunWhyCommand("berth why", arguments, plugins);
     }},
    {"status", "print the state of the running scheduler",
     [](Arguments arguments, const runtime::Registry&) {
       return RunStatusCommand("berth status", arguments);
     }},
    {"queue", "print the pods in the queue of the running scheduler",
     [](Arguments arguments, const runtime::Registry&) { return RunQueueCommand("berth queue", arguments); }},
    {"retry", "retry waiting pods at once",
     [](Arguments arguments, const runtime::Registry&) { return RunRetryCommand("berth retry", arguments); }},
    {"reload", "make the running scheduler read its configuration file again",
     [](Arguments arguments, const runtime::Registry&) {
       return RunReloadCommand("berth reload", arguments);
     }},
    {"ui", "show the running scheduler in a browser",
     [](Arguments arguments, const runtime::Registry&) { return RunUiCommand("berth ui", arguments); }},
    {"extender", "serve plugins as a scheduler extender, or check an extender", &RunExtenderCommand},
    {"config", "check or convert configuration files", &RunConfigCommand},
    {"migrate", "check a cluster before switching its scheduler to Berth", &RunMigrateCommand},
    {"measure", "query the measurements of load-aware plugins once and print them", &RunMeasureCommand},
    {"rebalance", "evict pods from overloaded nodes that the scheduler would place on better ones",
     &RunRebalanceCommand},
    {"what-if", "show what the scheduler would do after changes of the cluster", &RunWhatIfCommand},
    {"simulate", "run a workload on virtual time and report how the scheduler places it",
     &RunSimulateCommand},
    {"replay", "repeat a recording of the scheduler, or compare it with another configuration",
     &RunReplayCommand},
    {"demo", "run a demonstration: a simulated cluster with ten thousand pods",
     [](Arguments arguments, const runtime::Registry&) { return RunDemoCommand(arguments); }},
    {"sandbox", "run an in-memory API server with simulated nodes",
     [](Arguments arguments, const runtime::Registry&) { return RunSandboxCommand(arguments); }},
    {"completion", "print a script that completes command lines in a shell",
     [](Arguments arguments, const runtime::Registry&) { return RunCompletionCommand(arguments); }},
    {"version", "print the version", &PrintVersion},
};

// Program names that manifests use, as a link or after the entry point of an image. They run `berth
// scheduler` so that manifests need no change.
constexpr std::string_view kSchedulers[] = {"kube-scheduler", "sample-scheduler-framework",
                                            "custom-scheduler"};

// The names under which kubectl runs this program for `kubectl berth`, and for the completion of its words.
constexpr std::string_view kKubectlPlugin = "kubectl-berth";
constexpr std::string_view kKubectlCompletion = "kubectl_complete-berth";

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsScheduler(std::string_view path) {
  return std::ranges::find(kSchedulers, FileName(path)) != std::end(kSchedulers);
}

// kube-scheduler has no subcommands; a scheduler with custom plugins has, even if it uses the name of that
// tutorial.
bool RunsAsScheduler(std::string_view program, const std::vector<std::string>& arguments) {
  if (!IsScheduler(program)) return false;
  return FileName(program) == "kube-scheduler" || arguments.empty() || arguments.front().starts_with('-');
}

int CompleteForKubectl(std::vector<std::string> words, const runtime::Registry& plugins) {
  LimitCompletionTime();
  words.insert(words.begin(), std::string(command_line::kCompletionRequest));
  return RunKubectlPlugin(words, plugins);
}

}  // namespace

int RunBerth(int argc, char** argv, const runtime::Registry& plugins) {
  ReportFatalSignals();
  RaiseOpenFileLimit();
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (argc > 0 && FileName(argv[0]) == kKubectlCompletion) return CompleteForKubectl(arguments, plugins);
  if (command_line::IsCompletion(arguments)) LimitCompletionTime();
  if (argc > 0 && RunsAsScheduler(argv[0], arguments)) return RunSchedulerCommand(arguments, plugins);
  if (argc > 0 && FileName(argv[0]) == kKubectlPlugin) return RunKubectlPlugin(arguments, plugins);
  command_line::Command berth("berth", "A drop-in replacement for kube-scheduler.");
  for (const auto& command : kSubcommands) {
    berth.Subcommand(std::string(command.name), std::string(command.help),
                     [&](Arguments rest) { return command.run(rest, plugins); });
  }
  if (arguments.empty()) {
    fmt::print(stderr, "{}", berth.Help());
    return 1;
  }
  const std::string& name = arguments.front();
  if (name == "--version") return PrintVersion({}, plugins);
  if (IsScheduler(name)) return RunSchedulerCommand(std::span(arguments).subspan(1), plugins);
  // A manifest with only flags in its args.
  if (name.starts_with('-') && name != "--help" && name != "-h")
    return RunSchedulerCommand(arguments, plugins);
  return berth.Dispatch(arguments);
}

}  // namespace berth::command
