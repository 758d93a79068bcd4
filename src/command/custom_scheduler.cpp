#include "command/custom_scheduler.hpp"

#include <vector>

#include "base/fatal_signals.hpp"
#include "base/open_files.hpp"
#include "command/berth.hpp"
#include "command/scheduler_command.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"

namespace berth {

SchedulerCommand::SchedulerCommand() : plugins_(assembly::InTreePlugins()) {}

int SchedulerCommand::Run(int argc, char** argv) const {
  ReportFatalSignals();
  RaiseOpenFileLimit();
  if (argc > 1 && argv[1][0] != '-') return command::RunBerth(argc, argv, plugins_);
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return command::RunSchedulerCommand(arguments, plugins_);
}

}  // namespace berth
