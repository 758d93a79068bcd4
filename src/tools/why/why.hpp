// `berth why`: the state of pods in the running scheduler, and the advice of `berth explain`.
#pragma once

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"
#include "tools/explain/explain.hpp"
#include "tools/scheduler_access/access_options.hpp"

namespace berth::why {

struct WhyOptions {
  explain::ExplainOptions explain;
  scheduler_access::AccessOptions access;  // of the same kubeconfig and context
};

// Prints for each named pod its place in the queue, the next retry and its last attempts, then the
// explanation, which uses the scheduler's configuration unless the options name one. Without a reachable
// scheduler a note on standard error gives the reason, and only the explanation follows. With files, without
// a named pod, and for records in JSON or YAML the scheduler is not read. Returns and fails as RunExplain.
// Must be called before this process has other threads.
Expected<int> RunWhy(const WhyOptions& options, const runtime::Registry& built_in);

}  // namespace berth::why
