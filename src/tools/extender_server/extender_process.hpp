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

struct ExtenderOptions {
  std::string config;      // path of a configuration; empty: the default plugins
  std::string kubeconfig;  // empty: that of the configuration, else the pod's service account
  std::string master;      // address of the API server; overrides the kubeconfig
  std::string metric_sources;
  std::vector<std::string> plugins;  // shared objects
  EvaluatorOptions evaluator;
  // The path prefix may lack its first slash. require_certificate is set by client_ca_file;
  // bind is reset if clients are not authenticated, unless allow_anonymous_bind is set.
  ServiceOptions service;
  service::SecureServingOptions serving;  // port 0: no HTTPS
  std::string client_ca_file;
  bool allow_anonymous_bind = false;  // bind is served without client_ca_file
  std::string http_address;           // plain HTTP; empty: none
  std::int64_t body_mib = 64;
  std::int64_t connections = 256;
  int verbosity = 0;
};

// Serves until a signal arrives, and returns the exit code. Errors are start-up errors. The calling thread
// becomes the one that evaluates; no other thread may exist yet.
Expected<int> RunExtender(ExtenderOptions options, const runtime::Registry& built_in);

}  // namespace berth::extender_server
