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

// Resources may be ignored: by the plugin's arguments, for an extender, or because devices provide them.
bool IsInsufficient(const Situation& at, cluster::Row row, const std::string& resource) {
  const std::string reason = "Insufficient " + resource;
  return std::ranges::any_of(at.obstacles.all, [&](const Obstacle& obstacle) {
    return obstacle.plugin == "NodeResourcesFit" && obstacle.reason == reason && obstacle.rows.Has(row);
  });
}

}  // namespace

std::vector<Shortage> ShortagesOn(const Situation& at, cluster::Row row) {
  const cluster::NodeTable& nodes = at.nodes();
  std::vector<Shortage> shortages;
  if (nodes.pod_count()[row] + 1 > nodes.allowed_pods()[row]) {
    shortages.push_back({.resource = "pods",
                         .request = 1,
                         .free = nodes.allowed_pods()[row] - nodes.pod_count()[row],
                         .total = nodes.allowed_pods()[row]});
  }
  const auto check = [&](cluster::ResourceId resource, std::int64_t request) {
    const auto allocatable = nodes.allocatable(resource);
    const std::int64_t total = allocatable.empty() ? 0 : allocatable[row];
    const std::int64_t free = allocatable.empty() ? 0 : total - nodes.requested(resource)[row];
    if (request <= 0 || request <= free) return;
    shortages.push_back({at.symbols.ResourceName(resource), request, free, total});
  };
  const cluster::Amounts& wanted = at.pod.fit();
  check(cluster::kCpu, wanted.milli_cpu);
  check(cluster::kMemory, wanted.memory);
  check(cluster::kEphemeralStorage, wanted.ephemeral_storage);
  for (const auto& [resource, request] : wanted.scalars) {
    if (IsInsufficient(at, row, at.symbols.ResourceName(resource))) check(resource, request);
  }
  return shortages;
}

double ShortfallOn(const Situation& at, cluster::Row row) {
  double worst = 0;
  for (const Shortage& shortage : ShortagesOn(at, row)) worst = std::max(worst, shortage.part());
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
