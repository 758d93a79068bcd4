// The plugins of the articles as published: called per pod and node, they query Prometheus each time. A node
// without a value counts as idle, and a failed query fails the pod. Written against the public plugin
// interface.
#pragma once

#include <algorithm>
#include <string>

#include "bench/load/meter.hpp"
#include "scheduler/framework/one_node.hpp"

namespace berth::bench {

// The shared data source of both plugins.
struct Prometheus {
  const Meter* meter = nullptr;
  bool up = true;
};

inline std::size_t NumberOf(const framework::NodeView& node) {
  return static_cast<std::size_t>(std::stoul(node.name().substr(node.name().find('-') + 1)));
}

class ArticleCpu final : public framework::OneNodeScorePlugin {
 public:
  explicit ArticleCpu(const Prometheus& prometheus) : prometheus_(prometheus) {}
  std::string_view Name() const override { return "article-cpu"; }
  Expected<std::int64_t> ScoreNode(const framework::Attempt&,
                                   const framework::NodeView& node) const override {
    if (!prometheus_.up) return Fail(ErrorCode::kUnavailable, "Failed to query Prometheus");
    return static_cast<std::int64_t>(100 - 100 * prometheus_.meter->BusyShare(NumberOf(node)).value_or(0));
  }

 private:
  const Prometheus& prometheus_;
};

class ArticleTraffic final : public framework::OneNodeScorePlugin {
 public:
  explicit ArticleTraffic(const Prometheus& prometheus) : prometheus_(prometheus) {}
  std::string_view Name() const override { return "article-traffic"; }
  Expected<std::int64_t> ScoreNode(const framework::Attempt&,
                                   const framework::NodeView& node) const override {
    const auto sum = prometheus_.meter->SumOfReadings(NumberOf(node));
    if (!prometheus_.up || !sum) return Fail(ErrorCode::kUnavailable, "error getting node bandwidth measure");
    return static_cast<std::int64_t>(std::min(*sum, 9e16));
  }
  framework::Status Normalize(const framework::Attempt&, const RowSet& feasible,
                              framework::ScoreColumn& scores) const override {
    std::int64_t highest = 1;
    feasible.ForEach([&](std::size_t row) { highest = std::max(highest, scores.At(row)); });
    const auto column = scores.Mutable();
    feasible.ForEach([&](std::size_t row) { column[row] = 100 - column[row] * 100 / highest; });
    return {};
  }

 private:
  const Prometheus& prometheus_;
};

}  // namespace berth::bench
