// Prefers nodes that hold the data that a pod reads, or that are in the same zone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/load_metrics/node_directory.hpp"
#include "scheduler/plugins/data_locality/data_locality_args.hpp"
#include "scheduler/plugins/volume_binding/storage_index.hpp"

namespace berth::plugins {

// Two sources, each with a weight:
//   hosts    100 for a node that the annotation names, zoneScore for other nodes in the zone of such a node
//   volumes  the percentage of the volumes that are accessible from the node by their node affinity: of the
//            claims that the pod mounts, and of those that the annotation names
// The score is the weighted mean of the sources that the pod has. Hosts that are not in the cluster, claims
// without a volume and volumes without node affinity do not count. A pod without any of these skips the
// plugin. Images are not evaluated (ImageLocality).
//
// The cost of a pod is bounded: at most maxEntries of each annotation and of the mounted claims are
// evaluated; the others are counted in berth_data_locality_ignored_entries_total.
//
// Hosts are found by the names and addresses that nodes had when a node last changed in a way that is visible
// to plugins (NodeTable::node_changes).
class DataLocality final : public framework::PreScorePlugin,
                           public framework::ScorePartsPlugin,
                           public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  DataLocality(const DataLocalityArgs& args, framework::Handle& handle);

  std::string_view Name() const override { return "DataLocality"; }
  bool StateIsDerived() const override { return true; }
  framework::Status PreScore(const framework::Attempt& attempt, const RowSet& feasible) const override;
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // Hosts depend on the annotation, which is a part of the pod's shape, and on nodes; volumes on other
  // objects. PreScore is called for every pod, because Score reads its result.
  framework::ResultDependency ScoreDependency(const cluster::PodInfo& pod) const override {
    return ReadsVolumes(*pod.pod) ? framework::ResultDependency::kEverything
                                  : framework::ResultDependency::kNodes;
  }
  framework::Normalization normalization() const override { return framework::Normalization::kNone; }
  std::vector<framework::ScorePart> ScoreParts(const framework::Attempt& attempt,
                                               const RowSet& feasible) const override;

 private:
  // Where the data of one pod is; reused from pod to pod.
  struct Places {
    bool has_hosts = false;
    RowSet hosts;
    RowSet zones;  // of the hosts
    std::vector<const RowGroup*> volumes;

    bool empty() const { return !has_hosts && volumes.empty(); }
    std::int64_t HostScore(std::size_t row, std::int64_t zone_score) const;
    std::int64_t VolumeScore(std::size_t row) const;
  };

  // Whether the pod has claims or names some.
  bool ReadsVolumes(const api::Pod& pod) const;
  void FindHosts(const framework::Attempt& attempt, std::string_view names, Places& places) const;
  void FindVolumes(const framework::Attempt& attempt, Places& places) const;
  void AddVolume(const framework::Attempt& attempt, std::string_view claim, Places& places) const;
  void CountIgnored(std::size_t entries) const;

  const DataLocalityArgs args_;
  const cluster::ClusterObjects& objects_;
  const cluster::LabelKeyId zone_key_;
  const framework::BufferKey<Places> places_;
  const std::unique_ptr<StorageIndex> storage_;
  mutable load_metrics::NodeDirectory directory_;
  mutable std::uint64_t directory_changes_ = 0;  // node_changes at which it was built
  metrics::Counter* ignored_ = nullptr;          // null: no metrics
};

}  // namespace berth::plugins
