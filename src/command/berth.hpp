// The program `berth`: one binary, several subcommands.
#pragma once

#include "runtime/registry.hpp"

namespace berth::command {

// `plugins` are those that configurations may name. Returns the exit code: 0, or 1 after an error, which has
// been printed to standard error.
int RunBerth(int argc, char** argv, const runtime::Registry& plugins);

}  // namespace berth::command
