// The process of `berth rebalance`, from its configuration to its end.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kubernetes/client/leader_election.hpp"
#include "scheduler/runtime/registry.hpp"
#include "service/serving_options.hpp"
#include "tools/rebalance/settings.hpp"

namespace berth::rebalance {

struct RebalanceOptions {
  std::string config;      // path of the scheduler's configuration; it must enable LoadAware
  std::string kubeconfig;  // empty: that of the configuration, else the pod's service account
  std::string master;      // address of the API server; overrides the kubeconfig
  std::string metric_sources;
  std::vector<std::string> plugins;  // shared objects
  bool dry_run = true;
  bool once = false;
  std::string output = "text";  // of --once: text or json
  Duration interval = std::chrono::minutes(1);
  Duration measurement_wait = std::chrono::seconds(30);  // of --once, for the first measurements
  std::map<std::string, std::string> thresholds;         // percent, by signal
  PlanSettings plan;
  std::string history = "kube-system/berth-rebalance";  // ConfigMap of the moves; empty: in memory only
  bool leader_elect = true;
  client::LeaderElectionOptions lease;
  std::string http_address;               // plain HTTP: health checks and metrics; empty: none
  service::SecureServingOptions serving;  // port 0: no HTTPS
  service::AuthenticationOptions authentication;
  service::AuthorizationOptions authorization;
  int verbosity = 0;
};

// Runs one round and prints it, or runs rounds until a signal arrives. Returns the exit code; of one round:
// 0, 1 if an eviction failed, 2 if signals were missing. Errors are start-up errors. The calling thread
// becomes the loop's; no other thread may exist yet.
Expected<int> RunRebalance(RebalanceOptions options, const runtime::Registry& built_in);

}  // namespace berth::rebalance
