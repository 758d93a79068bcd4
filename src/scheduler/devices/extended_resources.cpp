#include "scheduler/devices/extended_resources.hpp"

#include <algorithm>

#include "kubernetes/api/requests.hpp"

namespace berth::devices {
namespace {

std::string ImplicitName(const api::DeviceClass& device_class) {
  return std::string(api::kDeviceClassResourcePrefix) + device_class.metadata.name;
}

// The owner of a claim for extended resources; empty for other claims.
std::string_view OwnerOf(const api::ResourceClaim* claim) {
  if (claim == nullptr || !claim->for_extended_resources || !claim->metadata.controller) return {};
  return claim->metadata.controller->uid;
}

}  // namespace

ExtendedResources::ExtendedResources(bool enabled, cluster::ClusterObjects& objects,
                                     cluster::SymbolTable& symbols, cluster::NodeTable& nodes)
    : enabled_(enabled), objects_(objects), symbols_(symbols), nodes_(nodes) {
  if (!enabled) return;
  objects.Of<api::DeviceClass>().Listen([this](const auto& change) { OnClass(change); });
  objects.Of<api::ResourceClaim>().Listen([this](const auto& change) { OnClaim(change); });
}

// --- classes ---

void ExtendedResources::OnClass(const ports::Change<api::DeviceClass>& change) {
  for (const ClassPtr& version : {change.before, change.after}) {
    if (version == nullptr) continue;
    Resolve(ImplicitName(*version));
    if (version->extended_resource_name) Resolve(*version->extended_resource_name);
  }
  nodes_.InvalidateResults();
}

void ExtendedResources::Resolve(const std::string& resource) {
  const auto& classes = objects_.Of<api::DeviceClass>();
  ClassPtr best;
  if (resource.starts_with(api::kDeviceClassResourcePrefix)) {
    best = classes.Find(std::string_view(resource).substr(api::kDeviceClassResourcePrefix.size()));
  } else {
    // In ascending order of names.
    classes.ForEach([&](const ClassPtr& candidate) {
      if (candidate->extended_resource_name != resource) return;
      if (best == nullptr || candidate->creation_timestamp > best->creation_timestamp) best = candidate;
    });
  }
  cluster::SymbolScope scope(symbols_);
  const cluster::ResourceId id = scope.InternResource(resource);
  if (!id.known()) return;
  if (best == nullptr) {
    classes_.erase(id);
  } else {
    classes_.insert_or_assign(id, Provider{std::move(best), scope.Lease()});
  }
}

// --- claims ---

void ExtendedResources::OnClaim(const ports::Change<api::ResourceClaim>& change) {
  const auto name_of = [](const ClaimPtr& claim) -> const std::string& { return claim->metadata.name; };
  if (const std::string_view owner = OwnerOf(change.before.get()); !owner.empty()) {
    const auto found = claims_.find(owner);
    if (found != claims_.end()) {
      std::erase_if(found->second, [&](const ClaimPtr& claim) {
        return claim->metadata.uid == change.before->metadata.uid;
      });
      if (found->second.empty()) claims_.erase(found);
    }
  }
  if (const std::string_view owner = OwnerOf(change.after.get()); !owner.empty()) {
    std::vector<ClaimPtr>& claims = claims_[std::string(owner)];
    claims.insert(std::ranges::upper_bound(claims, name_of(change.after), {}, name_of), change.after);
  }
}

ExtendedResources::ClaimPtr ExtendedResources::ClaimOf(const api::Pod& pod) const {
  const auto found = claims_.find(pod.metadata.uid);
  if (found == claims_.end()) return nullptr;
  const auto owned = std::ranges::find_if(found->second, [&](const ClaimPtr& claim) {
    return claim->metadata.controller->name == pod.metadata.name;
  });
  return owned == found->second.end() ? nullptr : *owned;
}

bool IsDeviceResourceName(std::string_view resource) {
  return resource.starts_with(api::kDeviceClassResourcePrefix) ||
         api::ClassOf(resource) == api::ResourceClass::kExtended;
}

}  // namespace berth::devices
