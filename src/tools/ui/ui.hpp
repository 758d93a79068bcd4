// `berth ui`: the page over the scheduler's API, served on this host for its user.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "tools/scheduler_access/access_options.hpp"

namespace berth::ui {

struct UiOptions {
  scheduler_access::AccessOptions access{};
  std::uint16_t port = 0;  // of 127.0.0.1; 0: the system chooses
};

// Connects to the scheduler, prints the address of the page with its key, and serves until SIGINT or SIGTERM:
// the page, and GET requests to the scheduler's API, which are forwarded with the credentials of the
// kubeconfig. Returns 0. Errors: why the scheduler cannot be reached, the port is in use, or the program was
// built without the page.
Expected<int> RunUi(const UiOptions& options);

}  // namespace berth::ui
