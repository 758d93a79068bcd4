#include "plugins/node_resources/node_resources_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/wrap.hpp"
#include "plugins/node_resources/resource_columns.hpp"

namespace berth::plugins {
namespace {

using framework::Amounts;
using framework::Attempt;
using framework::NodeTable;
using framework::ResourceId;

// Rows where `request` is more than what is left of the resource; those that could never hold it also go to
// `never`. Stretches of the table without candidates are passed over.
void AddInsufficient(std::int64_t request, std::span<const std::int64_t> allocatable,
                     std::span<const std::int64_t> requested, const RowSet& candidates, RowSet& out,
                     RowSet& never) {
  const auto words = out.words();
  const auto never_words = never.words();
  const auto asked = candidates.words();
  for (std::size_t w = 0; w < std::min(words.size(), asked.size()); ++w) {
    if (asked[w] == 0) continue;
    const std::size_t begin = w * RowSet::kWordBits;
    const std::size_t end = std::min(begin + RowSet::kWordBits, allocatable.size());
    RowSet::Word short_rows = 0;
    RowSet::Word never_rows = 0;
    for (std::size_t row = begin; row < end; ++row) {
      const bool lacks = request > WrapSub(allocatable[row], requested[row]);
      short_rows |= RowSet::Word{lacks} << (row - begin);
      never_rows |= RowSet::Word{lacks && request > allocatable[row]} << (row - begin);
    }
    words[w] |= short_rows;
    never_words[w] |= never_rows;
  }
}

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

framework::Made NodeResourcesFit::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const NodeResourcesFitArgs args, ParseNodeResourcesFitArgs(raw));
  return std::make_unique<NodeResourcesFit>(args, handle);
}

NodeResourcesFit::NodeResourcesFit(const NodeResourcesFitArgs& args, framework::Handle& handle)
    : vocabulary_(handle.vocabulary),
      reasons_(handle.reasons),
      too_many_pods_(handle.reasons.Intern("Too many pods")),
      ignored_resources_(args.ignored_resources),
      ignored_groups_(args.ignored_resource_groups),
      strategy_(args.strategy()),
      shape_(args.shape) {
  for (const auto& [name, weight] : args.resources) {
    const ResourceId id = handle.vocabulary.InternResource(name);
    if (id.known()) resources_.push_back({id, weight});
  }
  constexpr std::int64_t kPerScorePoint = framework::kMaxScore / 10;
  for (ShapePoint& point : shape_) point.score *= kPerScorePoint;
}

void NodeResourcesFit::Filter(const Attempt& attempt, const RowSet& candidates,
                              framework::Rejections& out) const {
  const NodeTable& nodes = attempt.nodes();
  const std::size_t rows = nodes.rows();
  RowSet& crowded = out.Reject(too_many_pods_, rows);
  candidates.ForEach([&](std::size_t row) {
    if (nodes.pod_count()[row] + 1 > nodes.allowed_pods()[row]) crowded.Add(row);
  });

  RowSet& never = out.unresolvable();
  never.Resize(rows);
  const auto check = [&](ResourceId resource, std::int64_t request) {
    if (request <= 0) return;
    RowSet& lacking = out.Reject(InsufficientReason(resource, nodes.vocabulary()), rows);
    if (nodes.allocatable(resource).empty()) {
      lacking |= candidates;  // no node ever offered it
      never |= candidates;
      return;
    }
    AddInsufficient(request, nodes.allocatable(resource), nodes.requested(resource), candidates, lacking,
                    never);
  };
  const Amounts& request = attempt.pod().fit();
  check(framework::kCpu, request.milli_cpu);
  check(framework::kMemory, request.memory);
  check(framework::kEphemeralStorage, request.ephemeral_storage);
  for (const auto& [resource, amount] : request.scalars) {
    if (!Ignored(resource, nodes.vocabulary())) check(resource, amount);
  }
}

framework::Status NodeResourcesFit::Score(const Attempt& attempt, const RowSet& feasible,
                                          framework::ScoreColumn& scores) const {
  const NodeTable& nodes = attempt.nodes();
  score_sum_.assign(nodes.rows(), 0);
  weight_sum_.assign(nodes.rows(), 0);
  // Resources that score 0 do not count at all in the ratio strategy, as in the original.
  const bool drop_zero = strategy_ == ScoringStrategy::kRequestedToCapacityRatio;
  const auto add = [&](const Resource& resource, auto&& score) {
    const std::int64_t request = attempt.pod().score().Of(resource.id);
    if (request == 0 && resource.id.value >= framework::kFirstScalar) return;
    const auto capacity = nodes.allocatable(resource.id);
    const auto used = NonZeroUse(nodes, resource.id);
    feasible.ForEach([&](std::size_t row) {
      if (capacity[row] == 0) return;
      const std::int64_t points = score(WrapAdd(used[row], request), capacity[row]);
      if (drop_zero && points <= 0) return;
      score_sum_[row] = WrapAdd(score_sum_[row], WrapMul(points, resource.weight));
      weight_sum_[row] += resource.weight;
    });
  };
  for (const Resource& resource : resources_) {
    if (nodes.allocatable(resource.id).empty()) continue;
    switch (strategy_) {
      case ScoringStrategy::kLeastAllocated:
        add(resource, LeastRequested);
        break;
      case ScoringStrategy::kMostAllocated:
        add(resource, MostRequested);
        break;
      case ScoringStrategy::kRequestedToCapacityRatio:
        add(resource, [this](std::int64_t requested, std::int64_t capacity) {
          return RequestedToCapacity(shape_, requested, capacity);
        });
        break;
    }
  }
  const auto values = scores.Overwrite();
  feasible.ForEach([&](std::size_t row) {
    if (weight_sum_[row] == 0) {
      values[row] = 0;
    } else if (drop_zero) {
      values[row] = static_cast<std::int64_t>(
          std::round(static_cast<double>(score_sum_[row]) / static_cast<double>(weight_sum_[row])));
    } else {
      values[row] = score_sum_[row] / weight_sum_[row];
    }
  });
  return {};
}

bool NodeResourcesFit::Ignored(ResourceId resource, const framework::Vocabulary& words) const {
  if ((ignored_resources_.empty() && ignored_groups_.empty()) || !words.IsExtended(resource)) return false;
  const std::string& name = words.ResourceName(resource);
  return std::ranges::find(ignored_resources_, name) != ignored_resources_.end() ||
         std::ranges::find(ignored_groups_, name.substr(0, name.find('/'))) != ignored_groups_.end();
}

framework::ReasonId NodeResourcesFit::InsufficientReason(ResourceId resource,
                                                         const framework::Vocabulary& words) const {
  if (insufficient_.size() <= resource.value) insufficient_.resize(resource.value + 1);
  framework::ReasonId& reason = insufficient_[resource.value];
  if (!reason.known()) reason = reasons_.Intern(fmt::format("Insufficient {}", words.ResourceName(resource)));
  return reason;
}

}  // namespace berth::plugins
