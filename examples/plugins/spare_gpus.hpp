// A plugin with the set-based interface of Berth's own plugins: called once for all nodes, it returns sets
// and columns. Rejects nodes with GPUs for pods without GPU requests. For the others it prefers nodes with
// few free GPUs.
#pragma once

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"

namespace examples {

namespace fw = berth::framework;

class SpareGpus final : public fw::PreFilterPlugin, public fw::FilterPlugin, public fw::ScorePlugin {
 public:
  explicit SpareGpus(fw::Handle& handle)
      : gpu_(handle.symbols.InternResource("nvidia.com/gpu")),
        // A reason is interned once; to reject a thousand nodes is to fill one set.
        reason_(handle.reasons.Intern("node(s) had GPUs to spare for pods that use them")),
        wants_(handle.NewKey<bool>()) {}

  std::string_view Name() const override { return "SpareGpus"; }
  std::vector<fw::EventRegistration> EventsToRegister() const override {
    return {{fw::EventResource::kNode, fw::kAdd | fw::kUpdateNodeAllocatable}};
  }

  // Values that are equal for all nodes are computed once per attempt and stored under a typed key.
  fw::PreFilterResult PreFilter(const fw::Attempt& attempt) const override {
    attempt.state().Write(wants_, attempt.pod().fit().Of(gpu_) > 0);
    return {};
  }

  void Filter(const fw::Attempt& attempt, const berth::RowSet&, fw::Rejections& out) const override {
    if (*attempt.state().Read(wants_)) return;
    const auto offered = attempt.nodes().allocatable(gpu_);
    berth::RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
    for (std::size_t row = 0; row < offered.size(); ++row) {
      if (offered[row] > 0) rejected.Add(row);
    }
    out.unresolvable() |= rejected;  // evicting pods would not help
  }

  fw::Status Score(const fw::Attempt& attempt, const berth::RowSet& feasible,
                   fw::ScoreColumn& scores) const override {
    if (!*attempt.state().Read(wants_)) return {};  // no GPU requests: all nodes are equal, nothing to write
    const auto offered = attempt.nodes().allocatable(gpu_);
    const auto taken = attempt.nodes().requested(gpu_);
    const auto values = scores.Overwrite();
    feasible.ForEach([&](std::size_t row) { values[row] = offered[row] - taken[row]; });
    return {};
  }
  fw::Status Normalize(const fw::Attempt&, const berth::RowSet& feasible,
                       fw::ScoreColumn& scores) const override {
    fw::NormalizeByMaximum(feasible, /*reverse=*/true, scores);
    return {};
  }

 private:
  berth::cluster::ResourceId gpu_;
  fw::ReasonId reason_;
  fw::StateKey<bool> wants_;
};

}  // namespace examples
