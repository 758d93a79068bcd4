// `berth retry`: retries waiting pods at once.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/scheduler_access/access_options.hpp"

namespace berth::retry {

struct RetryOptions {
  scheduler_access::AccessOptions access;
  std::vector<std::string> pods;  // "pod/NAME", "NAME" or "NAMESPACE/NAME"
  std::string ns;                 // of pods without one; empty: that of the kubeconfig's context
};

// Asks the running scheduler to retry each pod, and prints its answer. Returns exit code 0, or 1 if a pod was
// not retried; an error if the scheduler cannot be reached or a name is wrong: then no pod is retried. Must
// be called before this process has other threads.
Expected<int> RunRetry(const RetryOptions& options);

}  // namespace berth::retry
