#include "command/berth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.hpp"
#include "command/config_command.hpp"
#include "command/demo_command.hpp"
#include "command/explain_command.hpp"
#include "command/extender_command.hpp"
#include "command/measure_command.hpp"
#include "command/migrate_command.hpp"
#include "command/sandbox_command.hpp"
#include "command/scheduler_command.hpp"

namespace berth::command {
namespace {

using Arguments = std::span<const std::string>;

struct Subcommand {
  std::string_view name;
  std::string_view help;
  int (*run)(Arguments arguments, const runtime::Registry& plugins);  // those after the name
};

int PrintVersion(Arguments, const runtime::Registry&) {
  fmt::print("berth {} (follows Kubernetes v1.37.1)\n", BERTH_VERSION);
  return 0;
}

constexpr Subcommand kSubcommands[] = {
    {"scheduler", "schedule a cluster", &RunSchedulerCommand},
    {"explain", "say why pods of a dump are pending and where they would go", &RunExplainCommand},
    {"extender", "offer plugins to another kube-scheduler, or check an extender", &RunExtenderCommand},
    {"config", "check configuration files, or convert old ones", &RunConfigCommand},
    {"migrate", "say what would change in a cluster with Berth as its scheduler", &RunMigrateCommand},
    {"measure", "ask Prometheus once for what plugins want measured, and show it", &RunMeasureCommand},
    {"demo", "a simulated cluster and ten thousand pods, to see a scheduler at work",
     [](Arguments arguments, const runtime::Registry&) { return RunDemoCommand(arguments); }},
    {"sandbox", "an API server with simulated nodes that kubectl can talk to",
     [](Arguments arguments, const runtime::Registry&) { return RunSandboxCommand(arguments); }},
    {"version", "print the version", &PrintVersion},
};

// What manifests call their scheduler, by a link of that name or behind the entry point of an image: they
// need not change.
constexpr std::string_view kSchedulers[] = {"kube-scheduler", "sample-scheduler-framework"};

std::string_view FileName(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool IsScheduler(std::string_view path) {
  return std::ranges::find(kSchedulers, FileName(path)) != std::end(kSchedulers);
}

// kube-scheduler has no subcommands; a scheduler with plugins of its own may have that tutorial's name, and
// has.
bool RunsAsScheduler(std::string_view program, const std::vector<std::string>& arguments) {
  if (!IsScheduler(program)) return false;
  return FileName(program) == "kube-scheduler" || arguments.empty() || arguments.front().starts_with('-');
}

void PrintHelp(std::FILE* to) {
  fmt::print(to,
             "Gives pods their place: a drop-in replacement for kube-scheduler.\n\nUsage: berth <command> "
             "[options]\n\n");
  for (const auto& command : kSubcommands) fmt::print(to, "  {:<12} {}\n", command.name, command.help);
  fmt::print(to, "\nberth <command> --help tells more.\n");
}

int ComplainAbout(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : kSubcommands) names.emplace_back(command.name);
  const std::string near = Nearest(name, names);
  fmt::print(stderr, "Error: unknown command \"{}\"{} (berth --help lists all)\n", name,
             near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  return 1;
}

}  // namespace

int RunBerth(int argc, char** argv, const runtime::Registry& plugins) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (argc > 0 && RunsAsScheduler(argv[0], arguments)) return RunSchedulerCommand(arguments, plugins);
  if (arguments.empty()) {
    PrintHelp(stderr);
    return 1;
  }
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    PrintHelp(stdout);
    return 0;
  }
  for (const auto& command : kSubcommands) {
    if (command.name == name || (name == "--version" && command.name == "version")) {
      return command.run(std::span(arguments).subspan(1), plugins);
    }
  }
  if (IsScheduler(name)) return RunSchedulerCommand(std::span(arguments).subspan(1), plugins);
  // A manifest with nothing but flags in its args.
  if (name.starts_with('-')) return RunSchedulerCommand(arguments, plugins);
  return ComplainAbout(name);
}

}  // namespace berth::command
