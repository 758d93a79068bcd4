#include "command/berth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/demo_command.hpp"
#include "command/sandbox_command.hpp"

namespace berth::command {
namespace {

using Arguments = std::span<const std::string>;

struct Subcommand {
  std::string_view name;
  std::string_view help;
  int (*run)(Arguments arguments);  // those after the name
};

int PrintVersion(Arguments) {
  fmt::print("berth 0.1.0 (follows Kubernetes v1.37.1)\n");
  return 0;
}

constexpr Subcommand kSubcommands[] = {
    {"demo", "a simulated cluster and ten thousand pods, to see a scheduler at work", &RunDemoCommand},
    {"sandbox", "an API server with simulated nodes that kubectl can talk to", &RunSandboxCommand},
    {"version", "print the version", &PrintVersion},
};

void PrintHelp(std::FILE* to) {
  fmt::print(to, "Gives pods their place: a drop-in replacement for kube-scheduler.\n\nUsage: berth <command> [options]\n\n");
  for (const auto& command : kSubcommands) fmt::print(to, "  {:<12} {}\n", command.name, command.help);
  fmt::print(to, "\nberth <command> --help tells more.\n");
}

// How many letters must be changed, added or dropped.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

int ComplainAbout(std::string_view name) {
  const auto nearest = std::ranges::min_element(kSubcommands, {}, [&](const Subcommand& c) { return Distance(c.name, name); });
  fmt::print(stderr, "berth: unknown command \"{}\"; did you mean \"{}\"? (berth --help lists all)\n", name, nearest->name);
  return 1;
}

}  // namespace

int RunBerth(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
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
      return command.run(std::span(arguments).subspan(1));
    }
  }
  return ComplainAbout(name);
}

}  // namespace berth::command
