// The rule of bench_plugin_interfaces as a linked plugin: keeps a tenth of each node's CPU free and prefers
// nodes with more free CPU. One variant is called once for all nodes, the other per node; measured_rule.c is
// the loaded variant.
#pragma once

#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/one_node.hpp"
#include "scheduler/framework/plugin.hpp"

namespace berth::bench {

inline std::int64_t LeftOf(std::int64_t allocatable, std::int64_t requested, std::int64_t request) {
  return allocatable - requested - request;
}
inline std::int64_t ScoreOf(std::int64_t left, std::int64_t allocatable) {
  return left > 0 ? left * framework::kMaxScore / allocatable : 0;
}

class LinkedAllNodes final : public framework::FilterPlugin, public framework::ScorePlugin {
 public:
  static constexpr std::string_view kName = "LinkedAllNodes";
  explicit LinkedAllNodes(framework::Handle& handle)
      : reason_(handle.reasons.Intern("node(s) had to keep cpu free")) {}
  std::string_view Name() const override { return kName; }
  void Filter(const framework::Attempt& attempt, const RowSet&, framework::Rejections& out) const override {
    const auto allocatable = attempt.nodes().allocatable(cluster::kCpu);
    const auto requested = attempt.nodes().requested(cluster::kCpu);
    const std::int64_t request = attempt.pod().fit().milli_cpu;
    RowSet& rejected = out.Reject(reason_, attempt.nodes().rows());
    for (std::size_t row = 0; row < allocatable.size(); ++row) {
      if (LeftOf(allocatable[row], requested[row], request) < allocatable[row] / 10) rejected.Add(row);
    }
  }
  framework::Status Score(const framework::Attempt& attempt, const RowSet&,
                          framework::ScoreColumn& scores) const override {
    const auto allocatable = attempt.nodes().allocatable(cluster::kCpu);
    const auto requested = attempt.nodes().requested(cluster::kCpu);
    const std::int64_t request = attempt.pod().fit().milli_cpu;
    const auto values = scores.Overwrite();
    for (std::size_t row = 0; row < allocatable.size(); ++row)
      values[row] = ScoreOf(LeftOf(allocatable[row], requested[row], request), allocatable[row]);
    return {};
  }

 private:
  framework::ReasonId reason_;
};

class LinkedOneNode final : public framework::OneNodeFilterPlugin, public framework::OneNodeScorePlugin {
 public:
  static constexpr std::string_view kName = "LinkedOneNode";
  explicit LinkedOneNode(framework::Handle&) {}
  std::string_view Name() const override { return kName; }
  framework::Status FilterNode(const framework::Attempt& attempt,
                               const framework::NodeView& node) const override {
    const std::int64_t allocatable = node.Allocatable(cluster::kCpu);
    if (LeftOf(allocatable, node.Requested(cluster::kCpu), attempt.pod().fit().milli_cpu) >= allocatable / 10)
      return {};
    return framework::Status::Unschedulable("node(s) had to keep cpu free");
  }
  Expected<std::int64_t> ScoreNode(const framework::Attempt& attempt,
                                   const framework::NodeView& node) const override {
    const std::int64_t allocatable = node.Allocatable(cluster::kCpu);
    return ScoreOf(LeftOf(allocatable, node.Requested(cluster::kCpu), attempt.pod().fit().milli_cpu),
                   allocatable);
  }
};

}  // namespace berth::bench
