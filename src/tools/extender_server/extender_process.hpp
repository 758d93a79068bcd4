// The process of `berth extender`, from its configuration to its end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/runtime/registry.hpp"
#include "service/serving_options.hpp"
#include "tools/extender_server/evaluator.hpp"
#include "tools/extender_server/service.hpp"

namespace berth::extender_server {

struct ExtenderFlags {
  std::string config;
  std::string kubeconfig;
  std::string master;
  std::string metric_sources;
  extender_server::EvaluatorOptions evaluator;
  extender_server::ServiceOptions service;
  service::SecureServingOptions serving;
  std::string client_ca_file;
  std::string http_address;  // plain HTTP; empty: none
  std::int64_t body_mib = 64;
  std::int64_t connections = 256;
  std::int64_t verbosity = 0;
};

// Serves until a signal arrives, and returns the exit code. Errors are start-up errors. The calling thread
// becomes the one that evaluates; no other thread may exist yet.
Expected<int> RunExtender(const ExtenderFlags& flags, const config::SchedulerConfig& config,
                          const runtime::Registry& plugins, std::vector<std::string> notes);

}  // namespace berth::extender_server
