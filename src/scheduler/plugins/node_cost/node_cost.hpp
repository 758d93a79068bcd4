// Prefers cheap nodes, by prices in labels or in the arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "observability/metrics/registry.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/score_parts.hpp"
#include "scheduler/plugins/node_cost/node_cost_args.hpp"

namespace berth::plugins {

// The cost of a node is its price, or its price per core or GiB of what is allocatable, or of what is not
// requested yet (at least a tenth of what is allocatable). The raw score is the cost in millionths, at least
// 0; the normalized one is 100 minus its percentage of the most expensive feasible node, so the most
// expensive node gets 0 and a free one 100. A node without a valid price has the median price; if no node has
// one, all nodes get 100.
class NodeCost final : public framework::ScorePartsPlugin, public framework::ScorePlugin {
 public:
  static framework::PluginOrError Create(const framework::RawArgs& raw, framework::Handle& handle);
  NodeCost(NodeCostArgs args, framework::Handle& handle);

  std::string_view Name() const override { return "NodeCost"; }
  // Prices follow from the labels of the nodes, and the median does not depend on their order.
  bool StateIsDerived() const override { return true; }
  framework::Status Score(const framework::Attempt& attempt, const RowSet& feasible,
                          framework::ScoreColumn& scores) const override;
  // The median depends on all nodes; every change of a node invalidates results of both kinds.
  framework::ResultDependency ScoreDependency(const cluster::PodInfo&) const override {
    return args_.amount == NodeCostArgs::Amount::kFree ? framework::ResultDependency::kRow
                                                       : framework::ResultDependency::kNodes;
  }
  framework::Normalization normalization() const override {
    return framework::Normalization::kByMaximumReversed;
  }
  std::vector<framework::ScorePart> ScoreParts(const framework::Attempt& attempt,
                                               const RowSet& feasible) const override;

 private:
  void RefreshPrices(const cluster::NodeTable& nodes) const;
  // NaN: no price; `invalid` is set if the price label has another text than a price.
  double PriceOf(const api::Node& node, bool& invalid) const;
  // In millionths.
  std::int64_t CostOf(const cluster::NodeTable& nodes, cluster::Row row) const;
  void Show(std::int64_t priced, std::int64_t unpriced, std::int64_t invalid) const;

  const NodeCostArgs args_;
  metrics::Gauge* priced_ = nullptr;  // null: no metrics
  metrics::Gauge* unpriced_ = nullptr;
  metrics::Gauge* invalid_ = nullptr;
  // By row, at label_generation_ of the table; the median for nodes without a price.
  mutable std::vector<double> prices_;
  mutable double median_ = 0;
  mutable bool any_price_ = false;
  mutable std::uint64_t label_generation_ = 0;
};

}  // namespace berth::plugins
