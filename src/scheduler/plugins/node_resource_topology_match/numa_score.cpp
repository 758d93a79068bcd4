#include "scheduler/plugins/node_resource_topology_match/numa_score.hpp"

#include <algorithm>
#include <optional>

#include "scheduler/framework/score_column.hpp"

namespace berth::plugins {
namespace {

using framework::kMaxScore;
using NumaAmounts = std::span<const NumaAmount>;

std::int64_t FewestZones(const NumaRequest& request, ZoneAmounts& amounts);

// Quantity.Value(): rounded up.
std::int64_t ValueOf(std::int64_t milli) { return milli / 1000 + (milli % 1000 > 0 ? 1 : 0); }

// --- by the use of each zone ---

std::int64_t UseScore(NumaStrategy strategy, std::int64_t wanted, std::int64_t available) {
  if (available == 0 || wanted > available) return 0;
  const std::int64_t all = ValueOf(available), used = ValueOf(wanted);
  const std::int64_t part = strategy == NumaStrategy::kLeastAllocated ? all - used : used;
  return part * kMaxScore / all;
}

std::int64_t WeightedScore(NumaStrategy strategy, NumaAmounts wanted, std::span<const std::int64_t> weights,
                           const ZoneAmounts& amounts, std::size_t zone) {
  std::int64_t sum = 0, weight_sum = 0;
  for (const NumaAmount& amount : wanted) {
    const std::int64_t weight = weights[amount.resource];
    sum += UseScore(strategy, amount.milli, amounts.At(amount.resource, zone)) * weight;
    weight_sum += weight;
  }
  return weight_sum == 0 ? 0 : sum / weight_sum;
}

double FractionOf(std::int64_t wanted, std::int64_t available) {
  const std::int64_t all = ValueOf(available);
  return all == 0 ? 1 : static_cast<double>(ValueOf(wanted)) / static_cast<double>(all);
}

// By the sample variance of the fractions, in two passes with a correction of the mean's rounding error.
std::int64_t BalanceScore(NumaAmounts wanted, const ZoneAmounts& amounts, std::size_t zone) {
  double sum = 0;
  for (const NumaAmount& amount : wanted) {
    const double fraction = FractionOf(amount.milli, amounts.At(amount.resource, zone));
    if (fraction > 1) return 0;
    sum += fraction;
  }
  if (wanted.size() < 2) return kMaxScore;
  const auto count = static_cast<double>(wanted.size());
  const double mean = sum / count;
  double squares = 0, compensation = 0;
  for (const NumaAmount& amount : wanted) {
    const double distance = FractionOf(amount.milli, amounts.At(amount.resource, zone)) - mean;
    squares += distance * distance;
    compensation += distance;
  }
  const double variance = (squares - compensation * compensation / count) / (count - 1);
  return static_cast<std::int64_t>((1 - variance) * static_cast<double>(kMaxScore));
}

// A zone with the score 0 is one to which the amounts do not fit.
std::int64_t LowestOfZones(NumaStrategy strategy, NumaAmounts wanted, std::span<const std::int64_t> weights,
                           const ZoneAmounts& amounts) {
  std::int64_t lowest = 0;
  for (std::size_t zone = 0; zone < amounts.zones(); ++zone) {
    const std::int64_t score = strategy == NumaStrategy::kBalancedAllocation
                                   ? BalanceScore(wanted, amounts, zone)
                                   : WeightedScore(strategy, wanted, weights, amounts, zone);
    if (score != 0 && (lowest == 0 || score < lowest)) lowest = score;
  }
  return lowest;
}

}  // namespace

std::int64_t ScoreOfZones(NumaStrategy strategy, const NumaRequest& request,
                          std::span<const std::int64_t> weights, ZoneAmounts& amounts) {
  if (strategy == NumaStrategy::kLeastNumaNodes) return FewestZones(request, amounts);
  const NumaTopology& topology = amounts.topology();
  if (!topology.single_numa_node) return 0;
  if (topology.scope == NumaTopology::Scope::kPod)
    return LowestOfZones(strategy, request.pod, weights, amounts);
  std::int64_t sum = 0;
  for (const NumaRequest::Container& container : request.containers)
    sum += LowestOfZones(strategy, container.amounts, weights, amounts);
  return request.containers.empty() ? 0 : sum / static_cast<std::int64_t>(request.containers.size());
}

namespace {

// --- by the number of zones ---

struct ZoneSet {
  std::uint64_t ids = 0;  // a bit by id
  bool nearest = false;   // no set of this size has a lower distance
};

bool BelongsToZones(NumaAmounts wanted, const ZoneAmounts& amounts) {
  return std::ranges::any_of(wanted,
                             [&](const NumaAmount& amount) { return amounts.listed(amount.resource) != 0; });
}

bool HasAmounts(NumaAmounts wanted, const ZoneAmounts& amounts, std::span<const std::uint8_t> members) {
  return std::ranges::all_of(wanted, [&](const NumaAmount& amount) {
    std::int64_t missing = amount.milli;
    for (const std::uint8_t zone : members) {
      if (missing <= 0) break;
      missing -= amounts.At(amount.resource, zone);
    }
    return missing <= 0;
  });
}

std::uint64_t IdsOf(std::span<const std::uint8_t> members, const NumaTopology& topology) {
  std::uint64_t ids = 0;
  for (const std::uint8_t zone : members) ids |= std::uint64_t{1} << topology.ids[zone];
  return ids;
}

// The nearest set of this size that has the amounts; of equally near ones the first. Every zone of it must
// list every resource of the request, also those of zero amounts.
std::optional<ZoneSet> NearestSet(NumaAmounts wanted, const ZoneAmounts& amounts, std::size_t count) {
  const NumaTopology& topology = amounts.topology();
  std::uint64_t usable = ~std::uint64_t{0};
  for (const NumaAmount& amount : wanted) usable &= amounts.listed(amount.resource);
  constexpr float kFurthest = NumaTopology::kUnknownDistance + 1;
  float lowest = kFurthest;
  std::optional<ZoneSet> best;
  Combinations sets(topology.zones(), count);
  do {
    const std::span<const std::uint8_t> members(sets.members(), count);
    if (!std::ranges::all_of(members, [&](std::uint8_t zone) { return (usable >> zone & 1) != 0; })) continue;
    if (!HasAmounts(wanted, amounts, members)) continue;
    const float distance = topology.AverageDistance(members.data(), count);
    if (distance == topology.lowest_distance[count - 1]) return ZoneSet{IdsOf(members, topology), true};
    if (distance < lowest) {
      lowest = distance;
      best = ZoneSet{IdsOf(members, topology), false};
    }
  } while (sets.Next());
  return best;
}

// No smaller set has the amounts, as no zone has more of a resource than the fullest one.
std::size_t LeastCount(NumaAmounts wanted, const ZoneAmounts& amounts) {
  std::int64_t least = 1;
  for (const NumaAmount& amount : wanted) {
    if (amount.milli <= 0) continue;
    std::int64_t most = 0;
    for (std::size_t zone = 0; zone < amounts.zones(); ++zone)
      most = std::max(most, amounts.At(amount.resource, zone));
    if (most == 0) return amounts.zones() + 1;
    least = std::max(least, amount.milli / most + (amount.milli % most == 0 ? 0 : 1));
  }
  return static_cast<std::size_t>(least);
}

std::optional<ZoneSet> SmallestSet(NumaAmounts wanted, const ZoneAmounts& amounts) {
  for (std::size_t count = LeastCount(wanted, amounts); count <= amounts.zones(); ++count) {
    if (const auto found = NearestSet(wanted, amounts, count)) return found;
  }
  return std::nullopt;
}

// Scheduler-plugins uses the id of a zone as its index here, also of zones that are not sorted; if the ids
// have gaps, it crashes or takes from another zone. Ids are unique: they have gaps if one is beyond the
// number of zones.
std::size_t IndexOf(int id, const NumaTopology& topology) {
  if (std::ranges::max(topology.ids) < topology.zones()) return static_cast<std::size_t>(id);
  return static_cast<std::size_t>(std::ranges::find(topology.ids, static_cast<std::uint8_t>(id)) -
                                  topology.ids.begin());
}

void TakeFrom(std::uint64_t ids, NumaAmounts taken, ZoneAmounts& amounts) {
  for (const NumaAmount& amount : taken) {
    std::int64_t rest = amount.milli;
    for (std::uint64_t left = ids; left != 0 && rest != 0; left &= left - 1) {
      std::int64_t& available =
          amounts.At(amount.resource, IndexOf(std::countr_zero(left), amounts.topology()));
      const std::int64_t part = std::min(rest, available);
      available -= part;
      rest -= part;
    }
  }
}

std::int64_t ScoreOfSet(int zones, bool nearest, const NumaTopology& topology) {
  const std::int64_t step = kMaxScore / topology.max_numa_nodes;
  const std::int64_t score = kMaxScore - zones * step + (nearest ? step / 2 : 0);
  return std::max<std::int64_t>(score, 0);
}

std::int64_t FewestZones(const NumaRequest& request, ZoneAmounts& amounts) {
  const NumaTopology& topology = amounts.topology();
  const bool can_combine = topology.zones() <= NumaTopology::kMostCombined;
  if (topology.scope == NumaTopology::Scope::kPod) {
    if (!BelongsToZones(request.pod, amounts)) return kMaxScore;
    const auto set = can_combine ? SmallestSet(request.pod, amounts) : std::nullopt;
    return set ? ScoreOfSet(std::popcount(set->ids), set->nearest, topology) : 0;
  }
  int most = 0;
  bool all_nearest = true;
  for (const NumaRequest::Container& container : request.containers) {
    if (!BelongsToZones(container.amounts, amounts)) continue;
    const auto set = can_combine ? SmallestSet(container.amounts, amounts) : std::nullopt;
    if (!set) return 0;
    all_nearest = all_nearest && set->nearest;
    most = std::max(most, std::popcount(set->ids));
    TakeFrom(set->ids, container.amounts, amounts);
  }
  return most == 0 ? kMaxScore : ScoreOfSet(most, all_nearest, topology);
}

}  // namespace
}  // namespace berth::plugins
