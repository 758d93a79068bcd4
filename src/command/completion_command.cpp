#include "command/completion_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "base/nearest.hpp"
#include "command_line/command.hpp"
#include "command_line/completion.hpp"

namespace berth::command {

int RunCompletionCommand(std::span<const std::string> args) {
  const std::vector<std::string> shells(std::begin(command_line::kShells), std::end(command_line::kShells));
  std::string shell;
  command_line::Command command("berth completion",
                                "Prints a script that completes commands, flags and their values in a shell. "
                                "Names of pods and namespaces are "
                                "read from the cluster when they are completed.\n\nFor kubectl, link the "
                                "program as kubectl_complete-berth.");
  command.Example("source <(berth completion bash)");
  command.Example("berth completion zsh > \"${fpath[1]}/_berth\"");
  command.Example("berth completion fish > ~/.config/fish/completions/berth.fish");
  command.Argument("SHELL", shell, fmt::format("one of {}", fmt::join(shells, ", ")));
  command.CompleteArguments([values = std::vector<std::string>(shells)] { return values; });
  if (const auto code = command.Parse(args)) return *code;
  if (std::ranges::find(shells, shell) == shells.end()) {
    const std::string near = Nearest(shell, shells);
    return command_line::ExitCode(
        Invalid(fmt::format("SHELL: {}: expected one of {}{}", shell, fmt::join(shells, ", "),
                            near.empty() ? "" : fmt::format("; did you mean {}?", near))));
  }
  fmt::print("{}", command_line::CompletionScript(shell));
  return 0;
}

void LimitCompletionTime() {
  constexpr unsigned kSeconds = 5;
  std::signal(SIGALRM, [](int) { _exit(1); });
  alarm(kSeconds);
}

}  // namespace berth::command
