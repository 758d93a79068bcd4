// What a running scheduler reports about a node and about its plugins: copies that may be used on any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/api/node.hpp"
#include "kubernetes/api/pod.hpp"
#include "scheduler/runtime/metrics_recorder.hpp"

namespace berth::introspection {

// The records that were searched, the newest ones.
struct SearchedRecords {
  std::size_t attempts = 0;
  WallTime since;  // of the oldest one; the current time without records
};

struct NodeResource {
  std::string name;            // "cpu"
  std::int64_t requested = 0;  // milli-cores, bytes, counts
};

struct PodOnNode {
  api::PodPtr pod;
  bool assumed = false;  // placed by this scheduler, and the binding is not confirmed yet
  std::vector<NodeResource> requests;
};

// The pods that the node rejected for one reason.
struct NodeRejection {
  std::map<std::string, WallTime> pods;  // "namespace/name", with the time of the last attempt
  std::size_t more_pods = 0;             // beyond kMostRejectedPods
  WallTime last;
};

struct NodeReport {
  api::NodePtr node;
  std::size_t pod_count = 0;
  std::size_t assumed_count = 0;
  std::vector<NodeResource> requested;  // of all pods on the node, by resource of the node
  std::vector<PodOnNode> pods;          // at most kMostPodsOnNode
  std::vector<std::string> nominated;   // "namespace/name"; at most kMostNominated
  // By plugin and reason. Of the first rejecting plugin of each attempt only, as in the records.
  std::map<std::pair<std::string, std::string>, NodeRejection> rejections;
  SearchedRecords searched;
};
inline constexpr std::size_t kMostPodsOnNode = 500;
inline constexpr std::size_t kMostNominated = 100;
inline constexpr std::size_t kMostRejectedPods = 100;

// One node of a list.
struct NodeRow {
  api::NodePtr node;
  std::int64_t pod_count = 0;
  // Allocatable and requested, in the order of NodesReport::resources; 0 or missing: the node does not have
  // it.
  std::vector<std::pair<std::int64_t, std::int64_t>> resources;
  std::vector<double> measured;  // in the order of NodesReport::measurements; NaN: no value
};

// A value per node that load-aware plugins query.
struct NodesMeasurement {
  std::string name;
  std::string state;                  // load_metrics::NameOf(SignalState)
  std::optional<WallTime> polled_at;  // of the current values
};

struct NodesReport {
  std::vector<std::string> resources;          // at most kMostNodeResources
  std::vector<NodesMeasurement> measurements;  // at most kMostMeasurements
  std::vector<NodeRow> nodes;
};
inline constexpr std::size_t kMostNodeResources = 16;
inline constexpr std::size_t kMostMeasurements = 16;

// A pod that was nominated to a node whose pods are evicted.
struct PreemptionReport {
  std::string pod;  // "namespace/name"
  WallTime at;
  std::string message;
  std::string node;
  std::vector<std::string> victims;  // "namespace/name"; at most kMostVictims
  std::size_t victim_count = 0;
};
struct PreemptionsReport {
  std::vector<PreemptionReport> preemptions;  // newest first; at most kMostPreemptions
  std::size_t more = 0;                       // found in the records beyond these
  SearchedRecords searched;
};
inline constexpr std::size_t kMostPreemptions = 100;
inline constexpr std::size_t kMostVictims = 10;

// What the searched records show of a plugin.
struct PluginRejections {
  std::size_t attempts = 0;  // in which it rejected the pod or a node
  std::uint64_t nodes = 0;   // rejected in them, in total
};

struct ProfilePlugins {
  std::string name;
  // The enabled plugins of each extension point, in the order of their calls, with weights (0: no score).
  struct Point {
    std::string name;
    std::vector<std::pair<std::string, std::int64_t>> plugins;
  };
  std::vector<Point> points;
  struct PluginUse {
    std::string plugin, point;
    std::uint64_t evaluations = 0;
    std::optional<double> seconds;  // nullopt: no call was timed since the profile was created
  };
  std::vector<PluginUse> plugins;
  struct PointUse {
    std::string point, status;
    std::uint64_t calls = 0;
    double seconds = 0;
  };
  std::vector<PointUse> uses;
  std::map<std::string, PluginRejections> rejections;  // by plugin
};

struct PluginsReport {
  std::vector<ProfilePlugins> profiles;
  SearchedRecords searched;
};

}  // namespace berth::introspection
