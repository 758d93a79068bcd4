#include "command/berth.hpp"

#include <string>
#include <vector>

#include "command/explain_command.hpp"

namespace berth::command {
int RunBerth(int argc, char** argv) {
  std::vector<std::string> args(argv + (argc > 1 ? 2 : 1), argv + argc);
  return RunExplainCommand(args);
}
}  // namespace berth::command
