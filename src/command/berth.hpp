// The program `berth`: one binary, several subcommands.
#pragma once

namespace berth::command {

// Returns the exit code: 0, or 1 after an error, which has been printed to standard error.
int RunBerth(int argc, char** argv);

}  // namespace berth::command
