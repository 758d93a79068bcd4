#include "scheduler/explanation/lower_requests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace berth::explanation {
namespace {

std::int64_t AmountIn(const api::ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  if (found == list.end()) return 0;
  return resource == "cpu" ? found->second.MilliValue() : found->second.Value();
}

void SetRequest(api::ResourceRequirements& resources, const std::string& resource, std::int64_t amount) {
  const api::Quantity quantity = AmountQuantity(resource, amount);
  resources.requests.insert_or_assign(resource, quantity);
  // Limits of extended resources and huge pages equal the requests.
  if (resource != "cpu" && resource != "memory" && resource != "ephemeral-storage" &&
      resources.limits.contains(resource)) {
    resources.limits.insert_or_assign(resource, quantity);
  }
}

// Lowers the sum of these containers to at most `target`, the largest request first.
void LowerSum(std::vector<api::Container*> containers, const std::string& resource, std::int64_t target) {
  const auto request = [&](const api::Container* container) {
    return AmountIn(container->resources.requests, resource);
  };
  std::int64_t sum = 0;
  for (const api::Container* container : containers) sum += request(container);
  std::ranges::stable_sort(containers, std::greater<>{}, request);
  for (api::Container* container : containers) {
    if (sum <= target) return;
    const std::int64_t before = request(container);
    const std::int64_t after = std::max<std::int64_t>(0, before - (sum - target));
    SetRequest(container->resources, resource, after);
    sum -= before - after;
  }
}

void LowerResource(api::Pod& pod, const std::string& resource, std::int64_t limit) {
  const std::int64_t target = limit - AmountIn(pod.spec.overhead, resource);
  std::vector<api::Container*> running;
  for (api::Container& container : pod.spec.containers) running.push_back(&container);
  for (api::Container& container : pod.spec.init_containers) {
    if (container.restart_always) {
      running.push_back(&container);
    } else if (AmountIn(container.resources.requests, resource) > target) {
      SetRequest(container.resources, resource, target);
    }
  }
  LowerSum(std::move(running), resource, target);
  if (std::as_const(pod.spec.resources) && pod.spec.resources->requests.contains(resource))
    SetRequest(*pod.spec.resources, resource, target);
}

}  // namespace

std::optional<LoweredRequests> LowerRequests(const api::Pod& pod, const std::vector<Shortage>& shortages) {
  std::vector<std::string> texts;
  std::vector<std::pair<std::string, std::int64_t>> limits;
  for (const Shortage& shortage : shortages) {
    // The user sets the requests without the overhead, which the runtime class adds.
    const std::int64_t overhead = AmountIn(pod.spec.overhead, shortage.resource);
    const std::int64_t target = shortage.free - overhead;
    if (shortage.resource == "pods" || target <= 0) return std::nullopt;
    texts.push_back(fmt::format("the {} request from {} to {}", shortage.resource,
                                AmountText(shortage.resource, shortage.request - overhead),
                                AmountQuantity(shortage.resource, target).Canonical()));
    limits.emplace_back(shortage.resource, shortage.free);
  }
  if (limits.empty()) return std::nullopt;
  return LoweredRequests{fmt::format("lower {}", fmt::join(texts, " and ")), [limits](api::Pod& changed) {
                           for (const auto& [resource, limit] : limits)
                             LowerResource(changed, resource, limit);
                         }};
}

}  // namespace berth::explanation
