#include "scheduler/plugins/dynamic_resources/special_claim.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/saturated.hpp"
#include "base/text_map.hpp"
#include "observability/log/log.hpp"
#include "scheduler/devices/allocator.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/claim_writes.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;
using Mapping = api::ExtendedResourceClaimStatus::RequestMapping;

// The requests of one pod for one resource after the other.
class RequestsOfPod {
 public:
  // `maps`: whether the mappings are needed.
  RequestsOfPod(const api::Pod& pod, bool maps) : maps_(maps) {
    const auto add = [&](const api::Container& container, bool init) {
      containers_.push_back({&container, !init || container.restart_always});
    };
    for (const api::Container& container : pod.spec.init_containers) add(container, true);
    for (const api::Container& container : pod.spec.containers) add(container, false);
  }

  // Those for the resources that devices provide.
  void Add(const std::vector<RequestedResource>& resources, const DevicesOfPod::VariantKey& by_devices) {
    for (std::size_t i = 0; i < resources.size(); ++i) {
      if (by_devices[i]) Add(resources[i]);
    }
  }
  std::vector<ResourceClaim::Request> requests;
  std::vector<Mapping> mappings;  // if there are more than kMostMappings: one more than these

 private:
  struct Entry {
    const api::Container* container;
    bool lasting;  // an app container or a sidecar
  };
  using Slots = std::vector<std::optional<ResourceClaim::Request>>;  // by container
  void Add(const RequestedResource& resource);
  // Requests what the container needs in addition to the requests that it can use as well.
  std::optional<ResourceClaim::Request> AddContainer(const RequestedResource& resource, std::size_t index,
                                                     std::span<const Slots::value_type> reusable,
                                                     std::vector<Mapping>& out);

  const bool maps_;
  std::size_t mapped_ = 0;
  std::vector<Entry> containers_;
};

// The amount as an integer; 0 if it is none.
std::int64_t IntegerOf(const api::Quantity& amount) {
  const std::int64_t value = amount.Value();
  return api::Quantity::FromInteger(value).Compare(amount) == 0 ? value : 0;
}

std::optional<ResourceClaim::Request> RequestsOfPod::AddContainer(const RequestedResource& resource,
                                                                  std::size_t index,
                                                                  std::span<const Slots::value_type> reusable,
                                                                  std::vector<Mapping>& out) {
  const api::Container& container = *containers_[index].container;
  const auto wanted = container.resources.requests.find(resource.name);
  if (wanted == container.resources.requests.end()) return std::nullopt;
  const std::int64_t amount = IntegerOf(wanted->second);
  if (amount == 0) return std::nullopt;
  const auto map_to = [&](const std::string& request) {
    if (maps_ && mapped_++ <= kMostMappings) out.push_back({container.name, resource.name, request});
  };
  std::int64_t available = 0;
  for (const auto& other : reusable) {
    if (!other) continue;
    available = SaturatedSum(available, other->exactly->count);
    map_to(other->name);
    if (available >= amount) return std::nullopt;
  }
  // The position among all requests of the container, by name.
  const auto smaller = std::ranges::count_if(container.resources.requests,
                                             [&](const auto& other) { return other.first < resource.name; });
  ResourceClaim::Request request;
  request.name = fmt::format("container-{}-request-{}", index, smaller);
  ResourceClaim::DeviceRequest& devices = request.exactly.emplace();
  devices.device_class_name = resource.class_name;
  devices.allocation_mode = "ExactCount";
  devices.count = amount - available;
  map_to(request.name);
  return request;
}

void RequestsOfPod::Add(const RequestedResource& resource) {
  Slots lasting(containers_.size());
  for (std::size_t i = 0; i < containers_.size(); ++i) {
    if (containers_[i].lasting) lasting[i] = AddContainer(resource, i, {}, mappings);
  }
  const auto apps = static_cast<std::size_t>(
      std::ranges::count_if(lasting, [](const auto& request) { return request.has_value(); }));
  // With more requests, each for a device, the pod fits on no node. Without this limit each of thousands of
  // init containers would be mapped to each of thousands of requests.
  const bool fits = requests.size() + apps <= devices::kMostDevicesOfClaim;
  // Init containers run one after the other: the largest request is enough for all of them.
  std::optional<ResourceClaim::Request> largest;
  FlatTextSet names;
  std::vector<Mapping> of_init;
  for (std::size_t i = 0; fits && i < containers_.size(); ++i) {
    if (containers_[i].lasting) continue;
    auto request = AddContainer(resource, i, std::span(lasting).subspan(i), of_init);
    if (!request) continue;
    names.insert(request->name);
    if (!largest || largest->exactly->count < request->exactly->count) largest = std::move(request);
  }
  for (Mapping& mapping : of_init) {
    if (names.contains(mapping.request_name)) mapping.request_name = largest->name;
  }
  std::ranges::move(of_init, std::back_inserter(mappings));
  if (largest) requests.push_back(*std::move(largest));
  for (auto& request : lasting) {
    if (request) requests.push_back(*std::move(request));
  }
}

// One deletion. On the loop's thread, except that writes end on other threads.
class ClaimDeletion : public std::enable_shared_from_this<ClaimDeletion> {
 public:
  ClaimDeletion(framework::Handle& handle, ResourceClaimPtr claim)
      : handle_(handle), claim_(std::move(claim)) {}

  void RemoveFinalizer() {
    std::vector<std::string> rest = claim_->finalizers;
    if (std::erase(rest, kClaimFinalizer) == 0) return Delete();
    const api::ObjectMeta& meta = claim_->metadata;
    handle_.api.ChangeClaim(
        {meta.ns.str(), meta.name, meta.resource_version, ports::ClaimChange::SetFinalizers{std::move(rest)}},
        [self = shared_from_this(), post = handle_.loop.poster()](const Expected<std::string>& version) {
          Expected<void> result;
          if (!version) result = std::unexpected(version.error());
          post([self, result] { self->OnFinalizerRemoved(result); });
        });
  }

 private:
  void OnFinalizerRemoved(const Expected<void>& result) {
    if (result) return Delete();
    if (result.error().code == ErrorCode::kNotFound) return;
    if (result.error().code != ErrorCode::kConflict || ++tries_ >= kTriesMax) return Report(result.error());
    handle_.loop.PostAfter(kBetweenTries, [self = shared_from_this()] {
      const api::ObjectMeta& meta = self->claim_->metadata;
      const auto newest = self->handle_.objects.Of<ResourceClaim>().Find(meta.ns, meta.name);
      if (newest != nullptr && newest->metadata.uid == meta.uid) self->claim_ = newest;
      self->RemoveFinalizer();
    });
  }
  void Delete() {
    const api::ObjectMeta& meta = claim_->metadata;
    handle_.api.DeleteClaim(
        {meta.ns.str(), meta.name, meta.uid},
        [self = shared_from_this(), post = handle_.loop.poster()](const Expected<void>& result) {
          if (!result && result.error().code != ErrorCode::kNotFound) return self->Report(result.error());
          // The watch may never deliver a claim that existed for a short time only.
          post([self] { self->handle_.devices.allocated().RemovePending(self->claim_->metadata.uid); });
        });
  }
  void Report(const Error& error) const {
    log::Warning(
        fmt::format("resource claim {} for extended resources was not deleted; the next attempt for its "
                    "pod tries again: {}",
                    claim_->metadata.Key(), error.message));
  }

  static constexpr int kTriesMax = 5;
  // After a conflict the newer version arrives by the watch.
  static constexpr Duration kBetweenTries = std::chrono::milliseconds(50);
  framework::Handle& handle_;
  ResourceClaimPtr claim_;
  int tries_ = 0;
};

}  // namespace

std::vector<RequestedResource> ResourcesWithClasses(const cluster::PodInfo& pod, framework::Handle& handle) {
  std::vector<RequestedResource> result;
  bool provided = false;
  for (const auto& [id, amount] : pod.fit().scalars) {
    if (amount == 0) continue;
    const std::string& name = handle.symbols.ResourceName(id);
    if (!devices::IsDeviceResourceName(name)) continue;
    const api::DeviceClass* provider = handle.devices.extended().ClassOf(id);
    provided = provided || provider != nullptr;
    result.push_back({id, name, provider == nullptr ? "" : provider->metadata.name, amount});
  }
  if (!provided) return {};
  std::ranges::sort(result, {}, &RequestedResource::name);
  return result;
}

ResourceClaimPtr MakeSpecialClaim(const api::Pod& pod, std::string uid) {
  auto claim = std::make_shared<ResourceClaim>();
  claim->metadata.ns = pod.metadata.ns;
  claim->metadata.name = kSpecialClaimName;
  claim->metadata.uid = std::move(uid);
  claim->for_extended_resources = true;
  return claim;
}

DevicesOfPod::Variant MakeVariant(const api::Pod& pod, const ResourceClaim& claim,
                                  const std::vector<RequestedResource>& resources,
                                  const DevicesOfPod::VariantKey& by_devices) {
  RequestsOfPod requests(pod, false);
  requests.Add(resources, by_devices);
  if (requests.requests.empty()) return {};
  std::ranges::sort(requests.requests, {}, &ResourceClaim::Request::name);
  auto special = std::make_shared<ResourceClaim>(claim);
  special->requests = std::move(requests.requests);
  return {.special = std::move(special), .by_devices = by_devices};
}

Expected<std::vector<Mapping>> MappingsOf(const api::Pod& pod,
                                          const std::vector<RequestedResource>& resources,
                                          const DevicesOfPod::VariantKey& by_devices) {
  RequestsOfPod requests(pod, true);
  requests.Add(resources, by_devices);
  if (requests.mappings.size() > kMostMappings)
    return Invalid(fmt::format("more than {} request mappings", kMostMappings));
  return std::move(requests.mappings);
}

void DeleteSpecialClaim(framework::Handle& handle, const ResourceClaimPtr& claim) {
  std::make_shared<ClaimDeletion>(handle, claim)->RemoveFinalizer();
}

}  // namespace berth::plugins
