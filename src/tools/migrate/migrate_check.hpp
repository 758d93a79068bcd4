// `berth migrate check`: all checks of a cluster before Berth replaces its scheduler or runs beside it.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::migrate {

struct MigrateOptions {
  std::string kubeconfig;  // empty: the pod's service account, else $KUBECONFIG
  std::string config;      // configuration file for Berth; empty: that of the running scheduler
  std::string manifest;    // manifest of the running scheduler; empty: its pod in kube-system
  std::vector<std::string> scheduler_names;  // of the pods to check; empty: the names of the profiles
  std::string as_user;                       // user whose permissions are checked; empty: the usual one
  std::string output = "text";               // "text" or "json"
  bool beside = false;                       // Berth as a second scheduler, not as the replacement
  bool no_reviews = false;                   // do not check permissions
  std::vector<std::string> plugins;          // shared objects
};

// Prints the findings to standard output, notes to standard error. Returns the exit code: 0: no blockers; 2:
// blockers. An error means that the check was not possible. Writes nothing to the cluster. Must be called
// before this process has other threads.
Expected<int> RunMigrateCheck(const MigrateOptions& options, const runtime::Registry& built_in);

}  // namespace berth::migrate
