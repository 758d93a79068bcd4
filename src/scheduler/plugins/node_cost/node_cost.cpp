#include "scheduler/plugins/node_cost/node_cost.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "scheduler/load_metrics/signal_table.hpp"

namespace berth::plugins {
namespace {

using cluster::Row;

constexpr double kMillionths = 1e6;
// A hundred times the highest cost is an int64.
constexpr double kHighestCost = 9e16;
constexpr double kMillicores = 1000;
constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
// At least this share of a node counts as free: the cost per unit of a full node would be so high that all
// other nodes had nearly the same score.
constexpr double kLeastFree = 0.1;

double AmountIn(std::span<const std::int64_t> column, Row row) {
  return row < column.size() ? static_cast<double>(column[row]) : 0;
}

}  // namespace

framework::PluginOrError NodeCost::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(NodeCostArgs args, ParseNodeCostArgs(raw));
  return std::make_unique<NodeCost>(std::move(args), handle);
}

NodeCost::NodeCost(NodeCostArgs args, framework::Handle& handle) : args_(std::move(args)) {
  if (handle.metrics == nullptr) return;
  const auto gauge = [&](const char* state) {
    return &handle.metrics->Gauge(
        "berth_node_cost_nodes",
        "[ALPHA] Nodes by state of the price that NodeCost reads: priced, unpriced, "
        "invalid (the price label is not a number).",
        {{"state", state}});
  };
  priced_ = gauge("priced");
  unpriced_ = gauge("unpriced");
  invalid_ = gauge("invalid");
}

framework::Status NodeCost::Score(const framework::Attempt& attempt, const RowSet& feasible,
                                  framework::ScoreColumn& scores) const {
  const cluster::NodeTable& nodes = attempt.nodes();
  RefreshPrices(nodes);
  if (!any_price_) return {};
  const auto column = scores.Overwrite();
  feasible.ForEach([&](std::size_t row) { column[row] = CostOf(nodes, static_cast<Row>(row)); });
  return {};
}

// Prices depend on labels only, so decisions between two changes of labels read a column.
void NodeCost::RefreshPrices(const cluster::NodeTable& nodes) const {
  if (label_generation_ == nodes.label_generation()) return;
  label_generation_ = nodes.label_generation();
  prices_.assign(nodes.rows(), load_metrics::kNoValue);
  std::int64_t priced = 0, unpriced = 0, invalid = 0;
  nodes.all().ForEach([&](std::size_t row) {
    bool is_invalid = false;
    prices_[row] = PriceOf(nodes.node(static_cast<Row>(row)), is_invalid);
    if (is_invalid) {
      ++invalid;
    } else {
      ++(std::isnan(prices_[row]) ? unpriced : priced);
    }
  });
  const double median = load_metrics::MedianOf(prices_);
  any_price_ = !std::isnan(median);
  for (double& price : prices_) {
    if (std::isnan(price)) price = median;
  }
  Show(priced, unpriced, invalid);
}

double NodeCost::PriceOf(const api::Node& node, bool& invalid) const {
  const api::Labels& labels = node.metadata.labels;
  std::optional<double> price;
  if (const std::string* text = args_.price_label.empty() ? nullptr : labels.Find(args_.price_label)) {
    price = ParsePrice(*text);
    if (!price) invalid = true;
  }
  const auto find = [&](const NodeCostArgs::LabelPrices& list) -> std::optional<double> {
    const std::string* text = labels.Find(list.label);
    if (text == nullptr) return std::nullopt;
    const auto known = list.values.find(*text);
    return known == list.values.end() ? std::nullopt : std::optional(known->second);
  };
  for (const NodeCostArgs::LabelPrices& list : args_.prices) {
    if (!price) price = find(list);
  }
  if (!price) return load_metrics::kNoValue;
  for (const NodeCostArgs::LabelPrices& list : args_.factors) *price *= find(list).value_or(1);
  return *price;
}

std::int64_t NodeCost::CostOf(const cluster::NodeTable& nodes, Row row) const {
  double cost = prices_[row] * kMillionths;
  if (args_.per != NodeCostArgs::Per::kNode) {
    const bool cpu = args_.per == NodeCostArgs::Per::kCpu;
    const double allocatable = AmountIn(nodes.allocatable(cpu ? cluster::kCpu : cluster::kMemory), row);
    double amount = allocatable;
    if (args_.amount == NodeCostArgs::Amount::kFree) {
      amount -= AmountIn(nodes.requested(cpu ? cluster::kCpu : cluster::kMemory), row);
      amount = std::max(amount, kLeastFree * allocatable);
    }
    const double units = amount > 0 ? amount / (cpu ? kMillicores : kGibibyte) : 1;
    cost /= units;
  }
  return static_cast<std::int64_t>(std::round(std::min(cost, kHighestCost)));
}

void NodeCost::Show(std::int64_t priced, std::int64_t unpriced, std::int64_t invalid) const {
  if (priced_ == nullptr) return;
  priced_->Set(priced);
  unpriced_->Set(unpriced);
  invalid_->Set(invalid);
}

std::vector<framework::ScorePart> NodeCost::ScoreParts(const framework::Attempt& attempt,
                                                       const RowSet& feasible) const {
  const cluster::NodeTable& nodes = attempt.nodes();
  RefreshPrices(nodes);
  if (!any_price_) return {};
  framework::ScorePart cost{.name = "cost",
                            .weight = 1,
                            .load = std::vector<double>(nodes.rows(), load_metrics::kNoValue),
                            .estimated = std::vector<double>(nodes.rows()),
                            .score = std::vector<double>(nodes.rows())};
  std::int64_t highest = 0;
  feasible.ForEach(
      [&](std::size_t row) { highest = std::max(highest, CostOf(nodes, static_cast<Row>(row))); });
  feasible.ForEach([&](std::size_t row) {
    const auto raw = static_cast<double>(CostOf(nodes, static_cast<Row>(row)));
    cost.load[row] = highest == 0 ? 0 : 100 * raw / static_cast<double>(highest);
    cost.score[row] = 100 - cost.load[row];
  });
  return {std::move(cost)};
}

}  // namespace berth::plugins
