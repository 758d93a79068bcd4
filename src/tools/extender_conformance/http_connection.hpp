// The connection to an extender over the network.
#pragma once

#include <memory>
#include <string>

#include "config/extender_config.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/extender_conformance/script.hpp"

namespace berth::extender_conformance {

struct Target {
  std::string url;  // the extender's urlPrefix
  config::ExtenderTls tls;
  Duration timeout{};  // of each request
};

// Sends requests with berth scheduler's extender client. `io` and `environment` must outlive the result.
Expected<std::unique_ptr<ExtenderConnection>> Connect(http::IoThread& io, const Target& target,
                                                      const client::Environment& environment);

}  // namespace berth::extender_conformance
