// Checks whether the extenders of a configuration are reachable.
#pragma once

#include <vector>

#include "config/extender_config.hpp"
#include "kubernetes/client/environment.hpp"
#include "tools/migrate/findings.hpp"

namespace berth::http {
class IoThread;
}

namespace berth::migrate {

// Sends GET to each urlPrefix, which has no effect on extenders; any response counts as reachable. One
// finding per extender, with its verbs. An extender that is unreachable from here may still be reachable from
// the cluster.
Findings CheckExtenders(const std::vector<config::ExtenderConfig>& extenders, http::IoThread& io,
                        const client::Environment& environment);

}  // namespace berth::migrate
