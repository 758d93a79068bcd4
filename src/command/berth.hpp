// The program `berth`: one binary, several subcommands.
#pragma once

#include "scheduler/runtime/registry.hpp"

namespace berth::command {

// `plugins` are those that configurations may name. Called kube-scheduler or sample-scheduler-framework, or
// with one of these as its first argument, or with flags only, it is `berth scheduler`: that is how manifests
// call schedulers. Returns the exit code: 0, or 1 after an error, which has been printed to standard error.
int RunBerth(int argc, char** argv, const runtime::Registry& plugins);

}  // namespace berth::command
