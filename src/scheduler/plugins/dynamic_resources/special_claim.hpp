// The special claim of a pod: it holds the devices for extended resources that DeviceClasses provide
// (extendeddynamicresources.go of kube-scheduler v1.37.1).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/dynamic_resources/pod_claims.hpp"

namespace berth::plugins {

// Not the name of an object: the API server chooses one.
inline constexpr std::string_view kSpecialClaimName = "<extended-resources>";

// The extended resources with a non-zero amount that the pod requests, by name. Empty if no class provides
// one of them.
std::vector<RequestedResource> ResourcesWithClasses(const cluster::PodInfo& pod, framework::Handle& handle);
// A special claim without requests that does not exist yet. `uid` must be unique.
ResourceClaimPtr MakeSpecialClaim(const api::Pod& pod, std::string uid);
// Adds the requests for the resources that devices provide (`by_devices`, by resource) to a copy of `claim`.
DevicesOfPod::Variant MakeVariant(const api::Pod& pod, const api::ResourceClaim& claim,
                                  const std::vector<RequestedResource>& resources,
                                  const DevicesOfPod::VariantKey& by_devices);
// The API server stores no more: the names of so many do not fit into a pod.
inline constexpr std::size_t kMostMappings = 100'000;
// Which requests of such a variant the containers use. There may be a million, so they are made when they are
// written. An error: there are more than kMostMappings.
Expected<std::vector<api::ExtendedResourceClaimStatus::RequestMapping>> MappingsOf(
    const api::Pod& pod, const std::vector<RequestedResource>& resources,
    const DevicesOfPod::VariantKey& by_devices);

// Removes the scheduler's finalizer from the claim and deletes it. Returns immediately; failures are logged.
// The next attempt for the pod deletes a claim that is left.
void DeleteSpecialClaim(framework::Handle& handle, const ResourceClaimPtr& claim);

}  // namespace berth::plugins
