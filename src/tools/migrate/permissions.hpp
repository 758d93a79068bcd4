// The permissions that `berth scheduler` needs. This is the only list in the program; a test compares it with
// the shipped roles. Those to watch what only some configurations read follow from client::kResources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/feature_gates.hpp"
#include "tools/migrate/findings.hpp"

namespace berth::migrate {

struct Permission {
  std::string verb{};
  std::string group{};        // empty: the core group
  std::string resource{};     // "pods"
  std::string subresource{};  // "binding"; empty: the resource itself
  std::string ns{};           // empty: in all namespaces
  std::string name{};         // empty: any name
  // The severity if it is missing: kBlocker if scheduling fails, kWarning if something else fails, kNote if
  // there is a fallback.
  Level without = Level::kBlocker;
  std::string consequence{};  // the effect if it is missing

  std::string Text() const;  // "patch pods/status", "get leases.coordination.k8s.io kube-system/berth"
  friend auto operator<=>(const Permission&, const Permission&) = default;
};

struct Lease {
  std::string ns = "kube-system";
  std::string name = "kube-scheduler";
  bool wanted = true;  // leaderElection.leaderElect
};

// What decides about the kinds that not every scheduler watches.
struct WatchedKinds {
  config::FeatureGates gates{};
  std::vector<std::string> requested{};  // by plugins: framework::Handle::requested_resources
};

std::vector<Permission> NeededPermissions(const Lease& lease, const WatchedKinds& watched = {});

}  // namespace berth::migrate
