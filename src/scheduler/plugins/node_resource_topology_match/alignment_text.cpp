#include "scheduler/plugins/node_resource_topology_match/alignment_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

namespace berth::plugins {
namespace {

constexpr std::size_t kMostLines = 16;
constexpr std::size_t kMostAmounts = 16;

std::string AmountText(std::int64_t milli, const std::string& resource) {
  constexpr std::int64_t kMebi = std::int64_t{1000} << 20;
  const bool bytes =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  if (bytes && milli % kMebi == 0) return fmt::format("{}Mi {}", milli / kMebi, resource);
  if (milli % 1000 == 0) return fmt::format("{} {}", milli / 1000, resource);
  return fmt::format("{}m {}", milli, resource);
}

std::string Subject(const AlignmentResult& result) {
  if (result.container == nullptr) return "the pod";
  const char* const kind = result.part == Misalignment::kInitContainer ? "init container"
                           : result.part == Misalignment::kSidecar     ? "sidecar"
                                                                       : "container";
  return fmt::format("{} {}", kind, *result.container->name);
}

// Amounts of 0 are left out.
template <class AmountOf>
std::string AmountsText(std::span<const NumaAmount> wanted, const NumaRequest& request,
                        AmountOf&& amount_of) {
  std::vector<std::string> texts;
  for (const NumaAmount& amount : wanted) {
    if (amount.milli == 0) continue;
    if (texts.size() == kMostAmounts) return fmt::format("{}, ...", fmt::join(texts, ", "));
    texts.push_back(AmountText(amount_of(amount), *request.resources[amount.resource].name));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

std::vector<std::string> DescribeMisalignment(const AlignmentResult& result, const NumaRequest& request,
                                              const ZoneAmounts& amounts) {
  const std::span<const NumaAmount> wanted =
      result.container != nullptr ? result.container->amounts : request.pod;
  const std::string requested =
      AmountsText(wanted, request, [](const NumaAmount& amount) { return amount.milli; });
  std::vector<std::string> lines{
      fmt::format("{} requests {}: no NUMA zone has all of it", Subject(result), requested)};
  for (std::size_t zone = 0; zone < amounts.zones(); ++zone) {
    if (lines.size() == kMostLines) {
      lines.push_back(fmt::format("... and {} more zones", amounts.zones() - zone));
      break;
    }
    lines.push_back(fmt::format("zone node-{} has {}", amounts.topology().ids[zone],
                                AmountsText(wanted, request, [&](const NumaAmount& amount) {
                                  return amounts.At(amount.resource, zone);
                                })));
  }
  return lines;
}

}  // namespace berth::plugins
