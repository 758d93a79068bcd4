// The program: one binary, its subcommands.
#pragma once

namespace berth::command {

// Returns the exit code.
int RunBerth(int argc, char** argv);

}  // namespace berth::command
