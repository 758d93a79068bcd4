// Places pods so that the free GPUs of nodes remain usable: fragmentation gradient descent (Weng et al.,
// "Beware of Fragmentation", USENIX ATC 2023). Off by default.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/saved_state.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/gpu_fragmentation/gpu_catalog.hpp"
#include "scheduler/plugins/gpu_fragmentation/lost_gpus.hpp"
#include "scheduler/plugins/gpu_fragmentation/workload_mix.hpp"

namespace berth::plugins {

// For each node: the free GPUs that typical pods could use (usable_gpus.hpp), minus those that they could use
// if the pod were placed there; in GPUs, not rounded. The fewer are lost, the higher is the score. This is
// the fragmentation gradient of the paper: a placement takes the same amount from the free GPUs of every
// node, so what is not lost is less fragmentation. Pods without GPUs count, too: they take the CPU and memory
// that free GPUs need.
//
// The raw score is 10^9 / (1 + lost GPUs), 0 if there are no devices for the pod by the plugin's own search,
// which does not consider constraints of claims; normalized by the maximum. All nodes get 0 until a pod with
// GPUs is on a node, unless the mix is given, and for pods with unusually long requests
// (WorkloadMix::kLongestKey).
//
// With deviceChoice LeastWaste, PreFilter makes DynamicResources use up devices that are in use already
// before it takes others (devices::DeviceOrder).
class GpuFragmentation final : public framework::PreFilterPlugin,
                               public framework::ScorePartsPlugin,
                               public framework::ScorePlugin,
                               public framework::SavedStatePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  GpuFragmentation(GpuFragmentationArgs args, framework::Handle& handle);
  ~GpuFragmentation() override;

  std::string_view Name() const override { return "GpuFragmentation"; }
  // Always Skip.
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override;
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo& pod) const override;
  std::vector<framework::EventRegistration> EventsToRegister() const override { return {}; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // Devices of slices are allocated and released without a change of a row. Without slices the row decides; a
  // new mix invalidates all results (WorkloadMix).
  framework::ResultDependency ScoreDependency(const cluster::PodInfo& pod) const override;
  framework::Normalization normalization() const override { return framework::Normalization::kByMaximum; }
  std::vector<framework::ScorePart> ScoreParts(const framework::Attempt& attempt,
                                               const RowSet& feasible) const override;

  // The learned mix. What is known of models and asks is dropped: their order influences the rounding of
  // sums, and which models are beyond the limit.
  Expected<framework::StateEncoder> SaveState() override;
  Expected<void> RestoreState(std::string_view text) override;

 private:
  struct Saved {
    std::optional<WorkloadMix::Saved> learned;
    static void VisitFields(auto& self, auto&& visit) { visit("learned", self.learned); }
  };
  // Whether the nodes can be compared; false: there is no mix yet, a claim of the pod is gone, or its
  // requests are too long.
  bool Begin(const framework::Attempt& attempt) const;

  const GpuFragmentationArgs args_;
  framework::Handle& handle_;
  const GpuDemands demands_;
  const std::unique_ptr<GpuCatalog> catalog_;
  const std::unique_ptr<WorkloadMix> learned_;  // null: the mix is given
  const std::unique_ptr<LostGpus> lost_;
  mutable std::uint64_t mix_version_ = 0;                                    // of the learned mix in lost_
  const std::shared_ptr<const void> self_ = std::make_shared<const char>();  // of the listener
};

}  // namespace berth::plugins
