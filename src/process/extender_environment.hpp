// The machine's interfaces for extender clients.
#pragma once

#include "kubernetes/client/environment.hpp"
#include "scheduler/extenders/http_transport.hpp"

namespace berth::process {

// `environment` must outlive the result.
inline extenders::Environment ExtenderEnvironment(const client::Environment& environment) {
  return {.read_file = [&environment](const std::string& path) { return environment.ReadFile(path); },
          .variable = [&environment](const std::string& name) { return environment.Variable(name); }};
}

}  // namespace berth::process
