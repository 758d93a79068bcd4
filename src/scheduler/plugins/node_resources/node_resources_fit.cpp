#include "scheduler/plugins/node_resources/node_resources_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/truncate.hpp"
#include "base/wrap.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/node_resources/resource_columns.hpp"

namespace berth::plugins {
namespace {

using cluster::Amounts;
using cluster::NodeTable;
using cluster::ResourceId;
using framework::Attempt;

// (capacity - requested) as percent of capacity.
std::int64_t LeastRequested(std::int64_t requested, std::int64_t capacity) {
  return requested > capacity ? 0 : Percent(WrapSub(capacity, requested), capacity);
}

std::int64_t MostRequested(std::int64_t requested, std::int64_t capacity) {
  return Percent(std::min(requested, capacity), capacity);
}

std::int64_t RequestedToCapacity(const std::vector<ShapePoint>& shape, std::int64_t requested,
                                 std::int64_t capacity) {
  constexpr std::int64_t kFull = 100;
  return OnShape(shape, requested > capacity ? kFull : Percent(requested, capacity));
}

}  // namespace

framework::PluginOrError NodeResourcesFit::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const NodeResourcesFitArgs args, ParseNodeResourcesFitArgs(raw));
  return std::make_unique<NodeResourcesFit>(args, handle);
}

NodeResourcesFit::NodeResourcesFit(const NodeResourcesFitArgs& args, framework::Handle& handle)
    : symbols_(handle.symbols),
      cluster_devices_(handle.devices),
      devices_(handle),
      reasons_(handle.reasons),
      too_many_pods_(handle.reasons.Intern("Too many pods")),
      insufficient_(std::make_unique<std::vector<framework::ReasonId>>()),
      ignored_resources_(args.ignored_resources),
      ignored_groups_(args.ignored_resource_groups),
      strategy_(args.strategy()),
      shape_(args.shape),
      amounts_(handle.NewBuffer<std::vector<RequestedAmount>>()),
      axes_(handle.NewBuffer<std::vector<ResourceAxis>>()) {
  for (const auto& [name, weight] : args.resources) {
    const ResourceId id = handle.symbols.InternResource(name);
    if (!id.known()) continue;
    resources_.push_back({id, weight});
    resource_ids_.push_back(id);
  }
  constexpr std::int64_t kPerScorePoint = framework::kMaxScore / 10;
  for (ShapePoint& point : shape_) point.score *= kPerScorePoint;
}

void NodeResourcesFit::Filter(const Attempt& attempt, const RowSet& candidates,
                              framework::Rejections& out) const {
  const NodeTable& nodes = attempt.nodes();
  const std::span<const RequestedAmount> amounts = CollectRequests(attempt);
  const auto fits_on = [&](std::size_t row) {
    return nodes.pod_count()[row] < nodes.allowed_pods()[row] &&
           std::ranges::all_of(amounts, [&](const RequestedAmount& amount) { return amount.FitsOn(row); });
  };
  // The equivalence cache evaluates few rows, which usually fit. A direct check avoids a set per reason.
  constexpr std::size_t kFew = 16;
  if (!candidates.HasMoreThan(kFew) && !candidates.AnyOf([&](std::size_t row) { return !fits_on(row); }))
    return;

  const std::size_t rows = nodes.rows();
  RowSet& crowded = out.Reject(too_many_pods_, rows);
  AddCrowded(nodes.pod_count(), nodes.allowed_pods(), candidates, crowded);
  out.unresolvable().Resize(rows);
  for (const RequestedAmount& amount : amounts) {
    if (!amount.by_class) {
      AddLacking(attempt, amount, candidates, out);
    } else if (!amount.allocatable.empty()) {
      auto offered = attempt.Scratch();
      candidates.ForEach([&](std::size_t row) {
        if (amount.IsOffered(row)) offered->Add(row);
      });
      if (!offered->Empty()) AddLacking(attempt, amount, *offered, out);
    }
  }
}

void NodeResourcesFit::AddLacking(const Attempt& attempt, const RequestedAmount& amount,
                                  const RowSet& candidates, framework::Rejections& out) const {
  const NodeTable& nodes = attempt.nodes();
  RowSet& lacking = out.Reject(InsufficientReason(amount.resource, nodes.symbols()), nodes.rows());
  RowSet& never = out.unresolvable();
  if (amount.allocatable.empty()) {
    lacking |= candidates;
    never |= candidates;
  } else {
    AddInsufficient(amount.request, amount.allocatable, amount.requested, candidates, lacking, never);
  }
}

std::span<const NodeResourcesFit::RequestedAmount> NodeResourcesFit::CollectRequests(
    const Attempt& attempt) const {
  const NodeTable& nodes = attempt.nodes();
  std::vector<RequestedAmount>& amounts = attempt.Buffer(amounts_);
  amounts.clear();
  const auto add = [&](ResourceId resource, std::int64_t request) {
    if (request > 0) {
      amounts.push_back(
          {resource, request, nodes.allocatable(resource), nodes.requested(resource), IsByClass(resource)});
    }
  };
  const Amounts& request = attempt.pod().fit();
  add(cluster::kCpu, request.milli_cpu);
  add(cluster::kMemory, request.memory);
  add(cluster::kEphemeralStorage, request.ephemeral_storage);
  for (const auto& [resource, amount] : request.scalars) {
    if (!Ignored(resource, nodes.symbols())) add(resource, amount);
  }
  return amounts;
}

bool NodeResourcesFit::IsByClass(ResourceId resource) const {
  return resource.value >= cluster::kFirstScalar && cluster_devices_.extended().ClassOf(resource) != nullptr;
}

bool NodeResourcesFit::RequestedAmount::FitsOn(std::size_t row) const {
  if (by_class && !IsOffered(row)) return true;
  return !allocatable.empty() && request <= WrapSub(allocatable[row], requested[row]);
}

framework::Status NodeResourcesFit::Score(const Attempt& attempt, const RowSet& feasible,
                                          framework::ScoreColumn& scores) const {
  const NodeTable& nodes = attempt.nodes();
  std::vector<ResourceAxis>& axes = attempt.Buffer(axes_);
  axes.clear();
  std::int64_t weights = 0;
  for (const Resource& resource : resources_) {
    const std::int64_t request = attempt.pod().score().Of(resource.id);
    const bool scalar = resource.id.value >= cluster::kFirstScalar;
    if (request == 0 && scalar) continue;
    ResourceAxis axis{.capacity = nodes.allocatable(resource.id),
                      .inverse = nodes.inverse_allocatable(resource.id),
                      .used = NonZeroUse(nodes, resource.id),
                      .request = request,
                      .weight = resource.weight};
    if (scalar) devices_.Apply(attempt, resource.id, feasible, axes.size(), axis);
    if (axis.capacity.empty()) continue;
    axes.push_back(axis);
    weights += resource.weight;
  }
  if (strategy_ == ScoringStrategy::kRequestedToCapacityRatio || weights > kMaxWeightSum) {
    ScoreRows(axes, feasible, scores.Overwrite());
    return {};
  }
  auto left = attempt.Scratch();
  ScoreAllocation(strategy_ == ScoringStrategy::kLeastAllocated ? Allocation::kLeast : Allocation::kMost,
                  axes, feasible, scores.OverwriteBytes(), *left);
  if (!left->Empty()) ScoreRows(axes, *left, scores.Mutable());
  return {};
}

Expected<std::int64_t> NodeResourcesFit::ScorePlacement(const api::PodGroup&, const NodeTable& nodes,
                                                        const framework::FeasiblePlacement& placement) const {
  std::int64_t sum = 0;
  std::int64_t weights = 0;
  for (const Resource& resource : resources_) {
    std::int64_t requested = 0;
    for (const cluster::PodInfo* member : placement.members)
      requested = WrapAdd(requested, member->score().Of(resource.id));
    if (requested == 0 && resource.id.value >= cluster::kFirstScalar) continue;
    const std::span<const std::int64_t> capacity = nodes.allocatable(resource.id);
    if (capacity.empty()) continue;
    const std::span<const std::int64_t> used = NonZeroUse(nodes, resource.id);
    std::int64_t allocatable = 0;
    placement.placement->rows.ForEach([&](std::size_t row) {
      if (capacity[row] == 0) return;
      allocatable = WrapAdd(allocatable, capacity[row]);
      requested = WrapAdd(requested, used[row]);
    });
    if (allocatable == 0) continue;
    sum = WrapAdd(sum, WrapMul(MostRequested(requested, allocatable), resource.weight));
    weights += resource.weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

// The general form for all numbers and strategies.
void NodeResourcesFit::ScoreRows(std::span<const ResourceAxis> axes, const RowSet& rows,
                                 std::span<std::int64_t> values) const {
  // As in kube-scheduler, resources with score 0 are excluded in the ratio strategy.
  const bool drop_zero = strategy_ == ScoringStrategy::kRequestedToCapacityRatio;
  rows.ForEach([&](std::size_t row) {
    std::int64_t sum = 0;
    std::int64_t weights = 0;
    for (const ResourceAxis& axis : axes) {
      if (axis.capacity[row] == 0) continue;
      const std::int64_t points = Points(WrapAdd(axis.used[row], axis.request), axis.capacity[row]);
      if (drop_zero && points <= 0) continue;
      sum = WrapAdd(sum, WrapMul(points, axis.weight));
      weights += axis.weight;
    }
    if (weights == 0) {
      values[row] = 0;
    } else if (drop_zero) {
      values[row] = Truncate(std::round(static_cast<double>(sum) / static_cast<double>(weights)));
    } else {
      values[row] = sum / weights;
    }
  });
}

std::int64_t NodeResourcesFit::Points(std::int64_t requested, std::int64_t capacity) const {
  switch (strategy_) {
    case ScoringStrategy::kLeastAllocated:
      return LeastRequested(requested, capacity);
    case ScoringStrategy::kMostAllocated:
      return MostRequested(requested, capacity);
    case ScoringStrategy::kRequestedToCapacityRatio:
      return RequestedToCapacity(shape_, requested, capacity);
  }
  return 0;
}

bool NodeResourcesFit::Ignored(ResourceId resource, const cluster::SymbolTable& words) const {
  if ((ignored_resources_.empty() && ignored_groups_.empty()) || !words.IsExtended(resource)) return false;
  const std::string& name = words.ResourceName(resource);
  return std::ranges::find(ignored_resources_, name) != ignored_resources_.end() ||
         std::ranges::find(ignored_groups_, name.substr(0, name.find('/'))) != ignored_groups_.end();
}

framework::ReasonId NodeResourcesFit::InsufficientReason(ResourceId resource,
                                                         const cluster::SymbolTable& words) const {
  const auto make = [&] { return fmt::format("Insufficient {}", words.ResourceName(resource)); };
  // The id of a name that only pods use belongs to another name later, so no reason is stored for it.
  if (!words.IsPermanent(resource)) return ReasonOfAbsent(make());
  if (insufficient_->size() <= resource.value) insufficient_->resize(resource.value + 1);
  framework::ReasonId& reason = (*insufficient_)[resource.value];
  if (!reason.known()) reason = reasons_.Intern(make());
  return reason;
}

framework::ReasonId NodeResourcesFit::ReasonOfAbsent(const std::string& text) const {
  const framework::ReasonId known = reasons_.Find(text);
  if (known.known()) return known;
  return reasons_.Intern(reasons_.size() < kMaxReasons ? text : "Insufficient extended resource");
}

}  // namespace berth::plugins
