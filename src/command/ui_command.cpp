#include "command/ui_command.hpp"

#include "command/scheduler_access_flags.hpp"
#include "command_line/command.hpp"
#include "tools/ui/ui.hpp"

namespace berth::command {

int RunUiCommand(const std::string& name, std::span<const std::string> args) {
  ui::UiOptions options;
  command_line::Command command(
      name,
      "Shows the running scheduler in a browser: the queue, pods with advice, nodes, preemptions and status. "
      "Serves the page on 127.0.0.1 and prints its address, which contains a key.\n\n"
      "The scheduler is found by its Lease and reached by a port that kubectl forwards to its pod, or by "
      "--server. It need not run with --berth-ui. Only GET requests are sent, with the credentials of the "
      "kubeconfig.");
  command.Example(name);
  command.Example(name + " --port 8080 --server https://127.0.0.1:10259 --insecure-skip-tls-verify");
  command_line::FlagSet& flags = command.flags();
  flags.Integer("port", options.port, "port of 127.0.0.1; 0 selects a free port");
  AddClusterFlags(flags, options.access.kubeconfig, options.access.context);
  AddSchedulerAccessFlags(flags, options.access);
  if (const auto code = command.Parse(args)) return *code;
  return command_line::ExitCode(ui::RunUi(options));
}

}  // namespace berth::command
