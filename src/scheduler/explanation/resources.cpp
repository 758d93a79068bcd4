#include "scheduler/explanation/resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace berth::explanation {
namespace {

constexpr std::int64_t kMilli = 1000;

bool IsBytes(const std::string& resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
}

std::optional<Shortage> ShortageOfPods(const Situation& at, cluster::Row row) {
  const cluster::NodeTable& nodes = at.nodes();
  const std::int64_t allowed = nodes.allowed_pods()[row], free = allowed - nodes.pod_count()[row];
  if (free >= 1) return std::nullopt;
  return Shortage{.resource = "pods", .request = 1, .free = free, .total = allowed};
}

// Without the resource's name.
std::optional<Shortage> ShortageOf(const Situation& at, cluster::Row row, cluster::ResourceId resource,
                                   std::int64_t request) {
  if (request <= 0) return std::nullopt;
  const auto allocatable = at.nodes().allocatable(resource);
  const std::int64_t total = allocatable.empty() ? 0 : allocatable[row];
  const std::int64_t free = allocatable.empty() ? 0 : total - at.nodes().requested(resource)[row];
  if (request <= free) return std::nullopt;
  return Shortage{.resource = {}, .request = request, .free = free, .total = total};
}

// Calls visit(resource's name, shortage without the name). The name is not copied: most callers visit all
// nodes.
template <class Visit>
void ForEachShortage(const Situation& at, cluster::Row row, Visit&& visit) {
  if (const auto pods = ShortageOfPods(at, row)) visit(pods->resource, *pods);
  const auto check = [&](cluster::ResourceId resource, std::int64_t request) {
    if (const auto found = ShortageOf(at, row, resource, request))
      visit(at.symbols.ResourceName(resource), *found);
  };
  const cluster::Amounts& wanted = at.pod.fit();
  check(cluster::kCpu, wanted.milli_cpu);
  check(cluster::kMemory, wanted.memory);
  check(cluster::kEphemeralStorage, wanted.ephemeral_storage);
  for (std::size_t i = 0; i < wanted.scalars.size(); ++i) {
    // Others are ignored: by the plugin's arguments, for an extender, or because devices provide them.
    if (at.lookups.insufficient[i].Has(row)) check(wanted.scalars[i].first, wanted.scalars[i].second);
  }
}

}  // namespace

std::vector<Shortage> ShortagesOn(const Situation& at, cluster::Row row) {
  std::vector<Shortage> shortages;
  ForEachShortage(at, row, [&](const std::string& resource, const Shortage& shortage) {
    shortages.push_back(shortage);
    shortages.back().resource = resource;
  });
  return shortages;
}

std::optional<Shortage> ShortageOf(const Situation& at, cluster::Row row, const std::string& resource) {
  if (resource == "pods") return ShortageOfPods(at, row);
  const cluster::ResourceId id = at.symbols.FindResource(resource);
  std::optional<Shortage> shortage = ShortageOf(at, row, id, at.pod.fit().Of(id));
  if (shortage) shortage->resource = resource;
  return shortage;
}

double ShortfallOn(const Situation& at, cluster::Row row) {
  double worst = 0;
  ForEachShortage(at, row, [&](const std::string&, const Shortage& shortage) {
    worst = std::max(worst, shortage.part());
  });
  return worst;
}

std::string AmountText(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu")
    return amount % kMilli == 0 ? fmt::format("{}", amount / kMilli) : fmt::format("{}m", amount);
  if (!IsBytes(resource)) return fmt::format("{}", amount);
  static constexpr std::array<const char*, 5> kUnits{"", "Ki", "Mi", "Gi", "Ti"};
  auto scaled = static_cast<double>(amount);
  std::size_t unit = 0;
  while (std::abs(scaled) >= 1024 && unit + 1 < kUnits.size()) {
    scaled /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g}{}", scaled, kUnits[unit]);
}

api::Quantity AmountQuantity(const std::string& resource, std::int64_t amount) {
  if (resource == "cpu") return api::Quantity::FromMilli(amount);
  if (!IsBytes(resource)) return api::Quantity::FromInteger(amount);
  constexpr std::int64_t kMebi = std::int64_t{1} << 20;
  if (amount < kMebi) return api::Quantity::FromInteger(amount);
  return api::Quantity::Parse(fmt::format("{}Mi", amount / kMebi)).value_or(api::Quantity());
}

}  // namespace berth::explanation
