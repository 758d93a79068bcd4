#include "kubernetes/api/requests.hpp"

#include <algorithm>
#include <utility>

#include "kubernetes/api/selectors.hpp"

namespace berth::api {
namespace {

// The source of a container's resources, which may be in the middle of an in-place resize.
enum class Source { kSpec, kAllocated, kActuated, kLimits };

struct Defaults {
  bool cpu = false;
  bool memory = false;
};

ResourceList Aggregate(const Pod& pod, Source source, Defaults defaults, bool use_status);
ResourceList AggregateWithStatus(const Pod& pod, Defaults defaults);
void ApplyPodLevel(const Pod& pod, bool use_status, ResourceList& sum);

void AddTo(ResourceList& sum, const ResourceList& more) {
  if (sum.empty()) {
    sum = more;  // shares the entries
    return;
  }
  for (const auto& [name, quantity] : more) {
    const auto [entry, added] = sum.try_emplace(name, quantity);
    if (!added) entry->second += quantity;
  }
}

void RaiseTo(ResourceList& list, const ResourceList& other) {
  if (list.empty()) {
    list = other;
    return;
  }
  for (const auto& [name, quantity] : other) {
    // Most are equal: their list stays shared.
    const auto known = std::as_const(list).find(name);
    if (known != std::as_const(list).end() && quantity.Compare(known->second) <= 0) continue;
    const auto [entry, added] = list.try_emplace(name, quantity);
    if (added) continue;
    const bool widens = entry->second.wide();
    entry->second = quantity;
    if (widens) entry->second.Widen();
  }
}

bool HasPodLevelRequests(const Pod& pod) {
  return pod.spec.resources && std::ranges::any_of(pod.spec.resources->requests, [](const auto& entry) {
           return IsPodLevelResource(entry.first);
         });
}

bool ResizeInfeasible(const Pod& pod) {
  const auto found = std::ranges::find(pod.status.conditions, "PodResizePending", &PodCondition::type);
  return found != pod.status.conditions.end() && found->reason == "Infeasible";
}

// Whether the status says anything about resources. Otherwise the requests of the specification count.
bool HasResourceStatus(const Pod& pod) {
  const PodStatus& status = pod.status;
  if (status.allocated_resources || status.resource_requests || ResizeInfeasible(pod)) return true;
  const auto has_amounts = [](const ContainerStatus& container) {
    return container.resource_requests || container.allocated_resources;
  };
  return std::ranges::any_of(status.container_statuses, has_amounts) ||
         std::ranges::any_of(status.init_container_statuses, has_amounts);
}

const ContainerStatus* FindStatus(const Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.status.container_statuses, &pod.status.init_container_statuses}) {
    const auto found = std::ranges::find(*list, name, &ContainerStatus::name);
    if (found != list->end()) return &*found;
  }
  return nullptr;
}

const ResourceList& AmountsOf(const Container& container, const ContainerStatus* status, Source source,
                              bool infeasible) {
  static const ResourceList kNothing;
  if (source == Source::kSpec) return container.resources.requests;
  if (source == Source::kLimits) return container.resources.limits;
  if (status != nullptr && source == Source::kActuated && status->resource_requests)
    return *status->resource_requests;
  if (status != nullptr && status->allocated_resources) return *status->allocated_resources;
  return infeasible ? kNothing : container.resources.requests;
}

void AddMissing(ResourceList& list, Defaults defaults) {
  if (defaults.cpu) list.try_emplace("cpu", Quantity::FromMilli(kDefaultMilliCpu));
  if (defaults.memory) list.try_emplace("memory", Quantity::FromInteger(kDefaultMemoryBytes));
}

ResourceList Aggregate(const Pod& pod, Source source, Defaults defaults, bool use_status) {
  const bool infeasible = use_status && ResizeInfeasible(pod);
  const auto requests = [&](const Container& container) {
    ResourceList list =
        AmountsOf(container, use_status ? FindStatus(pod, container.name) : nullptr, source, infeasible);
    AddMissing(list, defaults);
    return list;
  };
  ResourceList running;
  for (const Container& container : pod.spec.containers) AddTo(running, requests(container));
  // While an init container runs, the sidecars that were started before it run too.
  ResourceList sidecars;
  ResourceList peak;
  for (const Container& container : pod.spec.init_containers) {
    ResourceList own = requests(container);
    if (container.restart_always) {
      AddTo(running, own);
      AddTo(sidecars, own);
      RaiseTo(peak, sidecars);
    } else {
      AddTo(own, sidecars);
      RaiseTo(peak, own);
    }
  }
  RaiseTo(running, peak);
  return running;
}

ResourceList AggregateWithStatus(const Pod& pod, Defaults defaults) {
  // In apimachinery's order: it affects the form of numbers beyond 2^63.
  ResourceList result;
  if (!ResizeInfeasible(pod)) result = Aggregate(pod, Source::kSpec, defaults, true);
  if (pod.status.allocated_resources && pod.status.resource_requests) {
    RaiseTo(result, *pod.status.resource_requests);
    RaiseTo(result, *pod.status.allocated_resources);
  } else {
    RaiseTo(result, Aggregate(pod, Source::kActuated, defaults, true));
    RaiseTo(result, Aggregate(pod, Source::kAllocated, defaults, true));
  }
  return result;
}

void ApplyPodLevel(const Pod& pod, bool use_status, ResourceList& sum) {
  if (!HasPodLevelRequests(pod)) return;
  ResourceList effective = pod.spec.resources->requests;
  if (use_status && pod.status.has_resources) {
    if (ResizeInfeasible(pod)) effective.clear();
    if (pod.status.resource_requests) RaiseTo(effective, *pod.status.resource_requests);
    if (pod.status.allocated_resources) RaiseTo(effective, *pod.status.allocated_resources);
  }
  for (const auto& [name, quantity] : effective) {
    if (IsPodLevelResource(name)) sum.insert_or_assign(name, quantity);
  }
}

ResourceList Requests(const Pod& pod, bool use_status, bool pod_level, Defaults defaults) {
  ResourceList sum = use_status && HasResourceStatus(pod) ? AggregateWithStatus(pod, defaults)
                                                          : Aggregate(pod, Source::kSpec, defaults, false);
  if (pod_level) ApplyPodLevel(pod, use_status, sum);
  AddTo(sum, pod.spec.overhead);
  return sum;
}

}  // namespace

ResourceList PodRequests(const Pod& pod, const RequestOptions& options) {
  return Requests(pod, options.use_status, options.pod_level,
                  Defaults{options.non_zero_defaults, options.non_zero_defaults});
}

ResourceList ContainerRequests(const Pod& pod) { return Aggregate(pod, Source::kSpec, {}, false); }
ResourceList ContainerLimits(const Pod& pod) { return Aggregate(pod, Source::kLimits, {}, false); }

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

NonZeroUse NonZeroRequests(const Pod& pod) {
  Defaults defaults{true, true};
  if (HasPodLevelRequests(pod)) {
    // With pod-level requests a default applies to resources requested neither by the pod nor by a container.
    const ResourceList plain = Requests(pod, true, true, {});
    defaults = {!plain.contains("cpu"), !plain.contains("memory")};
  }
  const ResourceList sum = Requests(pod, true, true, defaults);
  const auto cpu = sum.find("cpu");
  const auto memory = sum.find("memory");
  return {cpu == sum.end() ? 0 : cpu->second.MilliValue(), memory == sum.end() ? 0 : memory->second.Value()};
}

ResourceClass ClassOf(std::string_view resource) {
  if (resource == "cpu") return ResourceClass::kCpu;
  if (resource == "memory") return ResourceClass::kMemory;
  if (resource == "ephemeral-storage") return ResourceClass::kEphemeralStorage;
  if (resource == "pods") return ResourceClass::kPods;
  const bool native = resource.find('/') == std::string_view::npos ||
                      resource.find("kubernetes.io/") != std::string_view::npos;
  if (!native && !resource.starts_with("requests.") &&
      CheckLabelKey("requests." + std::string(resource)).empty()) {
    return ResourceClass::kExtended;
  }
  if (resource.starts_with("hugepages-") || resource.starts_with("attachable-volumes-") ||
      resource.find("kubernetes.io/") != std::string_view::npos) {
    return ResourceClass::kScalar;
  }
  return ResourceClass::kIgnored;
}

}  // namespace berth::api
