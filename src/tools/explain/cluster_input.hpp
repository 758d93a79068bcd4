// Reads from an API server what a scheduler would watch.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/feature_gates.hpp"
#include "kubernetes/client/resources.hpp"
#include "tools/migrate/server.hpp"

namespace berth::explain {

// The body of one page of a list, and its path.
using LoadPage = std::function<Expected<void>(const std::string& body, const std::string& path)>;

// Whether to list a resource.
using Wanted = std::function<bool(const client::Resource& resource)>;

// Lists all wanted kinds, in pages, with GET requests only. `warnings` receives one text per kind that may
// not be listed or fails; the error is that of nodes and pods, without which nothing can be evaluated. Kinds
// that the server does not have are skipped. The lists are not of one moment: a cluster that changes
// meanwhile may look inconsistent by some pods.
Expected<void> ReadCluster(migrate::Server& server, const LoadPage& load, const Wanted& wanted,
                           std::vector<std::string>& warnings);

// Lists PriorityClasses, which admission reads for new pods.
Expected<void> ReadPriorityClasses(migrate::Server& server, const LoadPage& load);

}  // namespace berth::explain
