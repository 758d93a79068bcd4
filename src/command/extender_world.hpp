// What extenders' clients need of the machine.
#pragma once

#include "client/environment.hpp"
#include "extender/http_transport.hpp"

namespace berth::command {

// `environment` outlives it.
inline extender::World ExtenderWorld(const client::Environment& environment) {
  return {.read_file = [&environment](const std::string& path) { return environment.ReadFile(path); },
          .variable = [&environment](const std::string& name) { return environment.Variable(name); }};
}

}  // namespace berth::command
