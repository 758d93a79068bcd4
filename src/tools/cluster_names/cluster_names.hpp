// Names of objects in a cluster, for completion: one small request with a short deadline.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace berth::cluster_names {

struct Cluster {
  std::string kubeconfig;  // empty: as kubectl
  std::string context;     // empty: the current one
};

// At most kMostNames, in the order of the API server, which is that of names.
inline constexpr int kMostNames = 500;
Expected<std::vector<std::string>> Namespaces(const Cluster& cluster);
// Pods that are pending in `ns`; empty: in the namespace of the context.
Expected<std::vector<std::string>> PendingPods(const Cluster& cluster, const std::string& ns);

}  // namespace berth::cluster_names
