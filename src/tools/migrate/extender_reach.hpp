// Can the extenders of a configuration be reached?
#pragma once

#include <vector>

#include "kubernetes/client/environment.hpp"
#include "config/extender_config.hpp"
#include "tools/migrate/findings.hpp"

namespace berth::http {
class IoThread;
}

namespace berth::migrate {

// Asks each for its urlPrefix with GET, which extenders do not act on; any answer will do. One finding each,
// with its verbs. That one is not reached from here need not mean anything to a scheduler in the cluster.
Findings CheckExtenders(const std::vector<config::ExtenderConfig>& extenders, http::IoThread& io,
                                   const client::Environment& environment);

}  // namespace berth::migrate
