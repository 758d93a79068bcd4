// A plugin with the per-node interface. Rejects nodes with too many pods of the incoming pod's namespace, and
// prefers nodes with few.
//
//   pluginConfig:
//   - name: FewPods
//     args: {most: 5}
#pragma once

#include <algorithm>

#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/one_node.hpp"

namespace examples {

namespace fw = berth::framework;

class FewPods final : public fw::OneNodeFilterPlugin, public fw::OneNodeScorePlugin {
 public:
  // Arguments are decoded strictly: an unknown field or a value of the wrong type is a start-up error.
  static fw::PluginOrError Create(const fw::RawArgs& raw, fw::Handle&) {
    std::int64_t most = 10;
    if (raw.value != nullptr) {
      berth::config::Problems problems;
      berth::config::StructReader reader(*raw.value, "FewPodsArgs", "", problems);
      reader.Read("most", most);
      reader.Finish();
      if (!problems.empty()) return berth::Invalid(problems.Text());
    }
    if (most < 1) return berth::Invalid(raw.path + ".most: Invalid value: must be greater than 0");
    return std::make_unique<FewPods>(most);
  }
  explicit FewPods(std::int64_t most) : most_(most) {}

  std::string_view Name() const override { return "FewPods"; }

  // Only a deleted pod or a new node can make a rejected pod schedulable.
  std::vector<fw::EventRegistration> EventsToRegister() const override {
    return {fw::WhenAssignedPod(fw::kDelete,
                                [](const berth::cluster::PodInfo& waiting, const berth::api::Pod* gone,
                                   const berth::api::Pod*) {
                                  const bool same_namespace = gone->metadata.ns == waiting.pod->metadata.ns;
                                  return same_namespace ? fw::Hint::kQueue : fw::Hint::kSkip;
                                }),
            {fw::EventResource::kNode, fw::kAdd}};
  }

  fw::Status FilterNode(const fw::Attempt& attempt, const fw::NodeView& node) const override {
    if (Count(attempt, node) < most_) return {};
    return fw::Status::Unschedulable("node(s) had enough pods of the namespace");
  }

  berth::Expected<std::int64_t> ScoreNode(const fw::Attempt& attempt,
                                          const fw::NodeView& node) const override {
    return fw::kMaxScore - Count(attempt, node) * fw::kMaxScore / most_;
  }

 private:
  static std::int64_t Count(const fw::Attempt& attempt, const fw::NodeView& node) {
    return std::ranges::count_if(node.pods(), [&](const berth::cluster::PlacedPod* other) {
      return other->pod->metadata.ns == attempt.pod().pod->metadata.ns;
    });
  }

  std::int64_t most_;
};

}  // namespace examples
