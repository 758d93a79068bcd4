#include "scheduler/plugins/node_resources/balanced_allocation.hpp"

#include <algorithm>
#include <cmath>

#include "base/truncate.hpp"
#include "base/wrap.hpp"
#include "kubernetes/api/requests.hpp"
#include "scheduler/plugins/node_resources/resource_kernels.hpp"

namespace berth::plugins {
namespace {

using cluster::ResourceId;
using framework::Attempt;

double Fraction(std::int64_t used, std::int64_t capacity) {
  const double fraction = static_cast<double>(used) / static_cast<double>(capacity);
  return fraction > 1 ? 1 : fraction;
}

// 100 minus the standard deviation in percent. Every step rounds as in kube-scheduler.
std::int64_t Balance(std::span<const double> fractions) {
  double deviation = 0;
  if (fractions.size() == 2) {
    deviation = std::abs((fractions[0] - fractions[1]) / 2);
  } else if (fractions.size() > 2) {
    double total = 0;
    for (const double fraction : fractions) total += fraction;
    const double mean = total / static_cast<double>(fractions.size());
    double squares = 0;
    for (const double fraction : fractions) squares += (fraction - mean) * (fraction - mean);
    deviation = std::sqrt(squares / static_cast<double>(fractions.size()));
  }
  return Truncate((1 - deviation) * static_cast<double>(framework::kMaxScore));
}

constexpr std::int64_t kHalf = framework::kMaxScore / 2;

// 75 if the pod does not change the balance, up to 100 if it improves, down to 50 if it worsens.
std::int64_t Improvement(std::int64_t with_pod, std::int64_t without_pod) {
  return WrapAdd(kHalf, WrapSub(WrapAdd(kHalf, with_pod), without_pod) / 2);
}

// Nodes that have only one of the resources count as balanced.
void ScoreRows(std::span<const ResourceAxis> axes, const RowSet& rows, std::span<std::int64_t> values) {
  std::vector<double> with_pod;
  std::vector<double> without_pod;
  rows.ForEach([&](std::size_t row) {
    with_pod.clear();
    without_pod.clear();
    for (const ResourceAxis& axis : axes) {
      if (axis.capacity[row] == 0) continue;
      with_pod.push_back(Fraction(WrapAdd(axis.used[row], axis.request), axis.capacity[row]));
      without_pod.push_back(Fraction(axis.used[row], axis.capacity[row]));
    }
    values[row] = Improvement(Balance(with_pod), Balance(without_pod));
  });
}

}  // namespace

framework::PluginOrError NodeResourcesBalancedAllocation::Create(const framework::RawArgs& raw,
                                                                 framework::Handle& handle) {
  BERTH_TRY(const BalancedAllocationArgs args, ParseBalancedAllocationArgs(raw));
  return std::make_unique<NodeResourcesBalancedAllocation>(args, handle);
}

NodeResourcesBalancedAllocation::NodeResourcesBalancedAllocation(const BalancedAllocationArgs& args,
                                                                 framework::Handle& handle)
    : devices_(handle), axes_(handle.NewBuffer<std::vector<ResourceAxis>>()) {
  for (const WeightedResource& resource : args.resources) {
    const ResourceId id = handle.symbols.InternResource(resource.name);
    if (id.known()) {
      resources_.push_back(id);
    } else {
      uncounted_.push_back(resource.name);
    }
  }
}

bool NodeResourcesBalancedAllocation::RequestsAny(const cluster::PodInfo& pod) const {
  if (std::ranges::any_of(resources_, [&](ResourceId id) { return pod.use().requested.Of(id) != 0; }))
    return true;
  if (uncounted_.empty()) return false;
  const api::ResourceList requests = api::PodRequests(*pod.pod, {.use_status = true});
  return std::ranges::any_of(uncounted_, [&](const std::string& name) {
    const auto found = requests.find(name);
    return found != requests.end() && found->second.Value() != 0;
  });
}

framework::Status NodeResourcesBalancedAllocation::PreScore(const Attempt& attempt, const RowSet&) const {
  // A pod without requests would always prefer the same balanced node.
  return RequestsAny(attempt.pod()) ? framework::Status{} : framework::Status::Skip();
}

framework::Status NodeResourcesBalancedAllocation::Score(const Attempt& attempt, const RowSet& feasible,
                                                         framework::ScoreColumn& scores) const {
  if (!RequestsAny(attempt.pod()))
    return {};  // PreScore is disabled in the profile: all scores are 0, as in kube-scheduler
  const cluster::NodeTable& nodes = attempt.nodes();
  std::vector<ResourceAxis>& axes = attempt.Buffer(axes_);
  axes.clear();
  for (const ResourceId id : resources_) {
    const std::int64_t request = attempt.pod().use().requested.Of(id);
    const bool scalar = id.value >= cluster::kFirstScalar;
    if (request == 0 && scalar) continue;
    ResourceAxis axis{.capacity = nodes.allocatable(id),
                      .inverse = nodes.inverse_allocatable(id),
                      .used = nodes.requested(id),
                      .request = request};
    if (scalar) devices_.Apply(attempt, id, feasible, axes.size(), axis);
    if (!axis.capacity.empty()) axes.push_back(axis);
  }
  if (axes.size() != 2) {
    ScoreRows(axes, feasible, scores.Overwrite());
    return {};
  }
  // The common case of two resources.
  auto left = attempt.Scratch();
  ScoreBalance(axes[0], axes[1], feasible, scores.OverwriteBytes(), *left);
  if (!left->Empty()) ScoreRows(axes, *left, scores.Mutable());
  return {};
}

}  // namespace berth::plugins
