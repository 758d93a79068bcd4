// The program `berth`: one binary, several subcommands.
#pragma once

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// Runs the subcommand in the arguments. `plugins` are the plugins that configurations can enable. The command
// is `berth scheduler` if the program is called kube-scheduler or sample-scheduler-framework, if the first
// argument is one of these names, or if there are only flags: manifests start schedulers that way. Returns
// the exit code: 0, or 1 after an error, which has been printed to standard error.
int RunBerth(int argc, char** argv, const runtime::Registry& plugins);

}  // namespace berth::command
