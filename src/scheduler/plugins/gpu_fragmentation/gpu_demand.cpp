#include "scheduler/plugins/gpu_fragmentation/gpu_demand.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "kubernetes/api/claim_names.hpp"
#include "scheduler/devices/cluster_devices.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;

// Lengths precede texts, so that different asks have different keys.
void SetKey(GpuAsk& ask) {
  ask.key = fmt::format("{}:{}", static_cast<int>(ask.kind), ask.index);
  for (const std::string& selector : ask.selectors)
    ask.key += fmt::format(",{}:{}", selector.size(), selector);
  if (!ask.capacity) return;
  for (const auto& [name, amount] : *ask.capacity)
    ask.key += fmt::format(";{}:{}={}", name.size(), name, amount.Canonical());
}

void Add(GpuAsk ask, std::int64_t count, GpuDemand& demand) {
  SetKey(ask);
  demand.requests.emplace_back(std::move(ask), count);
}

// The name of the pod's claim; null: there is none, or it is not known yet.
const std::string* NameOf(const api::PodResourceClaim& reference, api::ClaimStatusFinder& statuses) {
  if (reference.resource_claim_name) return &*reference.resource_claim_name;
  const api::PodResourceClaimStatus* status = statuses.Find(reference.name);
  return status == nullptr || !status->resource_claim_name ? nullptr : &*status->resource_claim_name;
}

// At most the size of the demand's key.
std::size_t KeySizeOf(std::span<const std::pair<GpuAsk, std::int64_t>> requests) {
  std::size_t size = 0;
  for (const auto& [ask, count] : requests) size += ask.key.size();
  return size;
}

}  // namespace

std::string GpuDemand::Key() const {
  std::string key = fmt::format("{} {}", milli_cpu, memory);
  for (const auto& [ask, count] : requests) key += fmt::format(" {}x{}:{}", count, ask.key.size(), ask.key);
  return key;
}

GpuDemands::GpuDemands(const GpuFragmentationArgs& args, framework::Handle& handle)
    : args_(args), handle_(handle) {
  for (const std::string& name : args.resources) resources_.push_back(handle.symbols.InternResource(name));
}

std::optional<GpuDemand> GpuDemands::Of(const api::Pod& pod, const cluster::Amounts& amounts,
                                        Claims claims) const {
  GpuDemand demand{.milli_cpu = amounts.milli_cpu, .memory = amounts.memory, .requests = {}};
  for (std::uint32_t i = 0; i < resources_.size(); ++i) {
    const std::int64_t count = resources_[i].known() ? amounts.Of(resources_[i]) : 0;
    if (count > 0) Add({.kind = GpuAsk::Kind::kResource, .index = i}, count, demand);
  }
  api::ClaimStatusFinder statuses(pod);
  std::size_t counted = 0, key_size = 0;
  for (const api::PodResourceClaim& reference : std::as_const(pod.spec.resource_claims)) {
    const std::string* name = NameOf(reference, statuses);
    const auto claim =
        name == nullptr ? nullptr : handle_.objects.Of<ResourceClaim>().Find(pod.metadata.ns.str(), *name);
    if (claim == nullptr) return std::nullopt;
    const bool has_devices = claim->allocation.operator bool() ||
                             handle_.devices.allocated().PendingOf(claim->metadata.uid) != nullptr;
    if (claims == Claims::kUnallocated && has_devices) continue;
    AddClaim(*claim, demand);
    // The number of claims is not limited, and each may have megabytes of selectors.
    key_size += KeySizeOf(std::span(demand.requests).subspan(counted));
    counted = demand.requests.size();
    if (key_size > kLongestKey) return std::nullopt;
  }
  return demand;
}

void GpuDemands::AddClaim(const ResourceClaim& claim, GpuDemand& demand) const {
  for (const ResourceClaim::Request& request : claim.requests) {
    const api::ExactDeviceRequest* wanted = request.exactly ? &*request.exactly
                                            : request.first_available.empty()
                                                ? nullptr
                                                : &request.first_available.front().devices;
    if (wanted == nullptr || wanted->admin_access.value_or(false) || wanted->allocation_mode != "ExactCount")
      continue;
    const auto known = std::ranges::find(args_.device_classes, wanted->device_class_name);
    if (known == args_.device_classes.end()) continue;
    GpuAsk ask{.kind = GpuAsk::Kind::kClass,
               .index = static_cast<std::uint32_t>(known - args_.device_classes.begin()),
               .capacity = wanted->capacity};
    for (const api::DeviceSelector& selector : wanted->selectors)
      ask.selectors.push_back(selector.cel_expression.value_or(""));
    Add(std::move(ask), wanted->count, demand);
  }
}

std::vector<std::string> GpuDemands::ClaimsOf(const api::Pod& pod) {
  std::vector<std::string> keys;
  api::ClaimStatusFinder statuses(pod);
  for (const api::PodResourceClaim& reference : std::as_const(pod.spec.resource_claims)) {
    if (const std::string* name = NameOf(reference, statuses))
      keys.push_back(pod.metadata.ns.str() + "/" + *name);
  }
  std::ranges::sort(keys);
  const auto rest = std::ranges::unique(keys);
  keys.erase(rest.begin(), rest.end());
  return keys;
}

GpuDemand GpuDemands::Of(const GpuFragmentationArgs::TypicalPod& pod) const {
  const auto amount = [](const std::string& text) {
    return text.empty() ? api::Quantity() : api::Quantity::Parse(text).value_or(api::Quantity());
  };
  GpuDemand demand{
      .milli_cpu = amount(pod.cpu).MilliValue(), .memory = amount(pod.memory).Value(), .requests = {}};
  GpuAsk ask{.kind = GpuAsk::Kind::kAny, .selectors = pod.selectors};
  if (!pod.capacity.empty()) ask.capacity = api::QuantityMap{{args_.capacity, amount(pod.capacity)}};
  Add(std::move(ask), pod.gpus, demand);
  return demand;
}

// --- recordings ---

SavedGpuDemand GpuDemands::Save(const GpuDemand& demand) {
  SavedGpuDemand saved{.milli_cpu = demand.milli_cpu, .memory = demand.memory, .requests = {}};
  for (const auto& [ask, count] : demand.requests) {
    SavedGpuDemand::Request& to = saved.requests.emplace_back();
    to.of_class = ask.kind == GpuAsk::Kind::kClass;
    to.index = ask.index;
    to.selectors = ask.selectors;
    to.count = count;
    if (!ask.capacity) continue;
    to.capacity.emplace();
    for (const auto& [name, amount] : *ask.capacity) to.capacity->emplace_back(name, amount.Canonical());
  }
  return saved;
}

Expected<GpuDemand> GpuDemands::Restore(const SavedGpuDemand& saved) const {
  GpuDemand demand{.milli_cpu = saved.milli_cpu, .memory = saved.memory, .requests = {}};
  for (const SavedGpuDemand::Request& from : saved.requests) {
    const std::size_t names = from.of_class ? args_.device_classes.size() : args_.resources.size();
    if (from.index >= names) return Invalid("requests: expected names of the arguments");
    if (from.count < 1) return Invalid("requests: expected a positive count");
    GpuAsk ask{.kind = from.of_class ? GpuAsk::Kind::kClass : GpuAsk::Kind::kResource,
               .index = from.index,
               .selectors = from.selectors};
    if (from.capacity) {
      ask.capacity.emplace();
      for (const auto& [name, text] : *from.capacity) {
        BERTH_TRY(api::Quantity amount, api::Quantity::Parse(text));
        ask.capacity->insert_or_assign(name, std::move(amount));
      }
    }
    Add(std::move(ask), from.count, demand);
  }
  return demand;
}

}  // namespace berth::plugins
