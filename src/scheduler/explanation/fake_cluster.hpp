// A cluster for tests: objects, from which engines are built.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "testing/builders.hpp"

namespace berth::explanation {

inline constexpr const char* kZone = "topology.kubernetes.io/zone";
inline constexpr const char* kHost = "kubernetes.io/hostname";

// An engine with its evaluator.
struct FakeEngine {
  assembly::DryRunPorts ports;
  std::unique_ptr<assembly::Engine> engine;
  std::unique_ptr<assembly::PodEvaluator> evaluator;
};

struct FakeCluster {
  std::vector<api::NodePtr> nodes;
  std::vector<api::PodPtr> bound;
  std::vector<std::shared_ptr<const api::PersistentVolumeClaim>> claims;
  std::vector<std::shared_ptr<const api::PersistentVolume>> volumes;
  std::vector<std::shared_ptr<const api::ResourceSlice>> slices;
  std::vector<std::shared_ptr<const api::CSINode>> csi_nodes;
  std::vector<std::shared_ptr<const api::NodeResourceTopology>> topologies;

  FakeCluster& Add(const api::Node& node) {
    nodes.push_back(std::make_shared<const api::Node>(node));
    return *this;
  }
  FakeCluster& Run(const std::string& node, const api::Pod& pod) {
    api::Pod placed = pod;
    placed.spec.node_name = node;
    if (placed.metadata.uid.empty()) placed.metadata.uid = "uid-of-" + placed.metadata.Key();
    bound.push_back(std::make_shared<const api::Pod>(std::move(placed)));
    return *this;
  }

  std::unique_ptr<FakeEngine> Build(
      const config::SchedulerConfig& config = config::DefaultSchedulerConfig()) const {
    auto built = std::make_unique<FakeEngine>();
    std::vector<std::string> notes;
    built->engine = std::move(
        assembly::Engine::Build(config, assembly::InTreePlugins(), built->ports.ports(), notes).value());
    cluster::ClusterState& cache = built->engine->cache();
    for (const api::NodePtr& node : nodes) cache.AddNode(node);
    const auto put = [&]<class T>(const std::vector<std::shared_ptr<const T>>& objects) {
      for (const auto& object : objects) cache.objects().Apply(ports::Change<T>{nullptr, object});
    };
    put(claims);
    put(volumes);
    put(slices);
    put(csi_nodes);
    put(topologies);
    for (const api::PodPtr& pod : bound) cache.AddPod(pod);
    built->evaluator = std::make_unique<assembly::PodEvaluator>(*built->engine);
    return built;
  }

  // The cluster after the change; written independently of AppliedChange.
  FakeCluster After(const Change& change) const {
    FakeCluster changed = *this;
    std::erase_if(changed.bound, [&](const api::PodPtr& pod) {
      return std::ranges::any_of(change.leaving,
                                 [&](const auto& gone) { return gone->metadata.uid == pod->metadata.uid; });
    });
    for (const api::NodePtr& node : change.nodes) {
      std::erase_if(changed.nodes,
                    [&](const api::NodePtr& old) { return old->metadata.name == node->metadata.name; });
      changed.nodes.push_back(node);
    }
    for (const NewNode& added : change.new_nodes) {
      changed.nodes.push_back(added.node);
      changed.bound.insert(changed.bound.end(), added.pods.begin(), added.pods.end());
      changed.slices.insert(changed.slices.end(), added.slices.begin(), added.slices.end());
      if (added.csi_node != nullptr) changed.csi_nodes.push_back(added.csi_node);
      if (added.topology != nullptr) changed.topologies.push_back(added.topology);
    }
    return changed;
  }

  // The nodes on which the pod fits, from a complete attempt on a new engine; sorted.
  std::vector<std::string> Fitting(const api::PodPtr& pod) const {
    const auto built = Build();
    cluster::PodInfo info;
    const auto record = built->evaluator->Evaluate(pod, info);
    std::vector<std::string> names;
    if (record->nodes != nullptr)
      record->feasible.ForEach([&](std::size_t row) { names.push_back(record->nodes->by_row[row]); });
    std::ranges::sort(names);
    return names;
  }
};

}  // namespace berth::explanation
