// A workload: the cluster, the pods and the incidents of a simulation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"
#include "simulation/virtual_api.hpp"
#include "tools/simulate/distribution.hpp"

namespace berth::simulate {

// Random failures of each node of a group.
struct NodeFailures {
  Duration mean_time_between{};  // of one node, exponentially distributed
  Duration repair{};
};

// The number of nodes of a group follows the pods that wait: see autoscaler.hpp.
struct NodeAutoscaling {
  std::size_t least = 0, most = 0;
  Duration provision = std::chrono::seconds(90);  // from the decision to the new node
  Duration idle = std::chrono::minutes(10);       // a node without pods is removed after this time
};

// Nodes that differ only in name, hostname and zone.
struct NodeGroup {
  std::string name;
  std::size_t count = 0;           // at the start
  std::vector<std::string> names;  // of the nodes; empty: "<group>-0", ...
  std::vector<std::string> zones;  // assigned in turn; empty: no zone label
  api::Node model;                 // without name, hostname and zone
  // Published for each node, in a pool of its name; without name, node and pool. nullopt: no devices.
  std::optional<api::ResourceSlice> devices = {};
  std::optional<NodeFailures> failures;
  std::optional<NodeAutoscaling> autoscaling;
};

// When pods arrive: at listed times, at random with a mean rate, or in bursts.
struct Arrivals {
  std::vector<Duration> at;  // listed times, ascending
  double per_second = 0;     // a Poisson process
  Duration every{};          // bursts
  std::size_t count = 1;     // pods at each listed time, or of each burst
  Duration from{}, until{};  // Poisson process and bursts: from inclusive, until exclusive
};

// A size of pod groups, and how often it occurs beside the others.
struct GroupSize {
  std::uint32_t members = 0;
  double weight = 1;
};

// What arrives are groups of pods that start and end together.
struct GroupShape {
  std::vector<GroupSize> sizes;  // not empty
  // Keys of labels with the group's name and number of members, for plugins that know groups by labels;
  // empty: no label.
  std::string name_label, size_label;
};

// Pods that differ only in name and UID.
struct PodKind {
  std::string name;
  api::Pod model;  // without name and UID
  std::vector<Arrivals> arrivals;
  // From the binding, of a group from the binding of its last member; nullopt: until the end of the
  // simulation.
  std::optional<Distribution> lifetime;
  bool recreate = true;                  // a controller replaces evicted pods
  Duration recreate_after{};             // their end
  std::optional<GroupShape> group = {};  // nullopt: single pods arrive
  // By template in spec.resourceClaims of the model: the claims of each pod, without name and UID.
  std::map<std::string, api::ResourceClaim> claims = {};
};

// One pod of a recorded trace.
struct TracedPod {
  Duration arrival{};
  std::uint32_t kind = 0;                 // index in Workload::kinds
  std::optional<Duration> lifetime = {};  // from the binding; nullopt: until the end of the simulation
};

// Nodes that fail together.
struct Outage {
  std::size_t group = 0;  // index in Workload::groups
  std::size_t count = 0;  // the first nodes of the group that run
  Duration at{};
  Duration lasts{};
};

struct Workload {
  Duration duration{};
  simulation::Latencies latencies;
  Duration decision = std::chrono::microseconds(50);  // of one scheduling attempt
  Duration eviction_after = std::chrono::minutes(5);  // from the failure of a node to the end of its pods
  std::vector<NodeGroup> groups;
  std::vector<PodKind> kinds;
  std::vector<TracedPod> trace;  // ordered by arrival
  std::vector<Outage> outages;
  std::vector<ports::ClusterChange> objects;  // of further kinds, created before the start

  // Limits of what one file may request.
  static constexpr std::size_t kMostNodes = 200'000;
  static constexpr std::size_t kMostPods = 5'000'000;  // that exist at the same time, and of a trace
  static constexpr std::size_t kMostMembers = 10'000;  // of a group
  static constexpr std::size_t kMostDevices = 128;     // of a node, as in a ResourceSlice
};

}  // namespace berth::simulate
