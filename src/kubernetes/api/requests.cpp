#include "kubernetes/api/requests.hpp"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/seeded_hash.hpp"
#include "kubernetes/api/selectors.hpp"

namespace berth::api {
namespace {

// The source of a container's resources, which may be in the middle of an in-place resize.
enum class Source { kSpec, kAllocated, kActuated, kLimits };

// What is summed for each container.
struct Part {
  bool default_cpu = false;
  bool default_memory = false;
  const ResourceList* only = nullptr;  // names; null: all
};

// Sums are lists, which share the entries of most pods, or maps, so that thousands of names cost n log n: a
// list moves the entries behind each insertion.
using Map = std::map<std::string, Quantity, std::less<>>;

template <class Sum>
void AddTo(Sum& sum, const ResourceList& more) {
  if constexpr (std::is_same_v<Sum, ResourceList>) {
    if (sum.empty()) {
      sum = more;  // shares the entries
      return;
    }
  }
  for (const auto& [name, quantity] : more) {
    const auto [entry, added] = sum.try_emplace(name, quantity);
    if (!added) entry->second += quantity;
  }
}

template <class Sum, class Other>
void RaiseTo(Sum& sum, const Other& other) {
  if constexpr (std::is_same_v<Sum, Other>) {
    if (sum.empty()) {
      sum = other;
      return;
    }
  }
  for (const auto& [name, quantity] : other) {
    // Most are equal: their list stays shared.
    const auto known = std::as_const(sum).find(name);
    if (known != std::as_const(sum).end() && quantity.Compare(known->second) <= 0) continue;
    const auto [entry, added] = sum.try_emplace(name, quantity);
    if (added) continue;
    const bool widens = entry->second.wide();
    entry->second = quantity;
    if (widens) entry->second.Widen();
  }
}

// The entries with these names.
template <class Sum>
ResourceList Selected(const Sum& sum, const ResourceList& names) {
  ResourceList selected;
  if (sum.size() < names.size()) {
    for (const auto& [name, quantity] : sum) {
      if (names.contains(name)) selected.try_emplace(name, quantity);
    }
    return selected;
  }
  for (const auto& [name, unused] : names) {
    if (const auto found = sum.find(name); found != sum.end()) selected.try_emplace(name, found->second);
  }
  return selected;
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

// Statuses by name; of equal names the first counts. The pod must outlive this object.
class Statuses {
 public:
  explicit Statuses(const Pod& pod)
      : lists_{&pod.status.container_statuses, &pod.status.init_container_statuses} {
    if (lists_[0]->size() + lists_[1]->size() <= kFew) return;
    for (const auto* list : lists_) {
      for (const ContainerStatus& status : *list) by_name_.try_emplace(status.name, &status);
    }
  }
  // Null if there is none.
  const ContainerStatus* Find(std::string_view name) const {
    if (!by_name_.empty()) {
      const auto found = by_name_.find(name);
      return found == by_name_.end() ? nullptr : found->second;
    }
    for (const auto* list : lists_) {
      const auto found = std::ranges::find(*list, name, &ContainerStatus::name);
      if (found != list->end()) return &*found;
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kFew = 16;  // a search of so many is cheaper than a table
  std::array<const CowList<ContainerStatus>*, 2> lists_;
  boost::unordered_flat_map<std::string_view, const ContainerStatus*, SeededHash> by_name_;
};

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

void AddMissing(ResourceList& list, const Part& part) {
  if (part.default_cpu) list.try_emplace("cpu", Quantity::FromMilli(kDefaultMilliCpu));
  if (part.default_memory) list.try_emplace("memory", Quantity::FromInteger(kDefaultMemoryBytes));
}

template <class Sum>
Sum Aggregate(const Pod& pod, Source source, const Part& part, bool use_status) {
  const bool infeasible = use_status && ResizeInfeasible(pod);
  std::optional<Statuses> statuses;
  if (use_status) statuses.emplace(pod);
  const auto requests = [&](const Container& container) {
    const ResourceList& all =
        AmountsOf(container, statuses ? statuses->Find(container.name) : nullptr, source, infeasible);
    ResourceList list = part.only == nullptr ? all : Selected(all, *part.only);
    AddMissing(list, part);
    return list;
  };
  Sum running;
  for (const Container& container : pod.spec.containers) AddTo(running, requests(container));
  // While an init container runs, the sidecars that were started before it run too. The peak already includes
  // the sidecars; each container adds only its own resources, because a pod may have thousands of both.
  Sum sidecars;
  Sum peak;
  for (const Container& container : pod.spec.init_containers) {
    ResourceList own = requests(container);
    if (container.restart_always) {
      AddTo(running, own);
      AddTo(sidecars, own);
      RaiseTo(peak, Selected(sidecars, own));
    } else {
      AddTo(own, Selected(sidecars, own));
      RaiseTo(peak, own);
    }
  }
  RaiseTo(running, peak);
  return running;
}

template <class Sum>
Sum AggregateWithStatus(const Pod& pod, const Part& part) {
  // In apimachinery's order: it affects the form of numbers beyond 2^63.
  Sum result;
  if (!ResizeInfeasible(pod)) result = Aggregate<Sum>(pod, Source::kSpec, part, true);
  if (pod.status.allocated_resources && pod.status.resource_requests) {
    RaiseTo(result, *pod.status.resource_requests);
    RaiseTo(result, *pod.status.allocated_resources);
  } else {
    RaiseTo(result, Aggregate<Sum>(pod, Source::kActuated, part, true));
    RaiseTo(result, Aggregate<Sum>(pod, Source::kAllocated, part, true));
  }
  return result;
}

template <class Sum>
void ApplyPodLevel(const Pod& pod, bool use_status, Sum& sum) {
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

template <class Sum>
Sum Requests(const Pod& pod, bool use_status, bool pod_level, const Part& part) {
  Sum sum = use_status && HasResourceStatus(pod) ? AggregateWithStatus<Sum>(pod, part)
                                                 : Aggregate<Sum>(pod, Source::kSpec, part, false);
  if (pod_level) ApplyPodLevel(pod, use_status, sum);
  AddTo(sum, pod.spec.overhead);
  return sum;
}

// Whether lists with many names are added up.
bool HasManyNames(const Pod& pod) {
  constexpr std::size_t kMany = 64;
  std::size_t names = 0;
  std::size_t lists = 0;
  const auto count = [&](std::size_t size) {
    names += size;
    lists += size > 0 ? 1 : 0;
  };
  count(pod.spec.overhead.size());
  if (pod.spec.resources) count(pod.spec.resources->requests.size());
  for (const auto* containers : {&pod.spec.containers, &pod.spec.init_containers}) {
    for (const Container& container : *containers)
      count(container.resources.requests.size() + container.resources.limits.size());
  }
  return lists > 1 && names > kMany;
}

ResourceList ToList(const Map& sum) {
  ResourceList list;
  list.reserve(sum.size());
  for (const auto& [name, quantity] : sum) list.try_emplace(name, quantity);
  return list;
}

ResourceList Requests(const Pod& pod, bool use_status, bool pod_level, const Part& part) {
  if (HasManyNames(pod)) return ToList(Requests<Map>(pod, use_status, pod_level, part));
  return Requests<ResourceList>(pod, use_status, pod_level, part);
}

ResourceList OfContainers(const Pod& pod, Source source) {
  if (HasManyNames(pod)) return ToList(Aggregate<Map>(pod, source, {}, false));
  return Aggregate<ResourceList>(pod, source, {}, false);
}

}  // namespace

ResourceList PodRequests(const Pod& pod, const RequestOptions& options) {
  return Requests(pod, options.use_status, options.pod_level,
                  Part{options.non_zero_defaults, options.non_zero_defaults, options.only});
}

ResourceList ContainerRequests(const Pod& pod) { return OfContainers(pod, Source::kSpec); }
ResourceList ContainerLimits(const Pod& pod) { return OfContainers(pod, Source::kLimits); }

bool IsPodLevelResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name.starts_with("hugepages-");
}

NonZeroUse NonZeroRequests(const Pod& pod) {
  Part part{true, true};
  if (HasPodLevelRequests(pod)) {
    // With pod-level requests a default applies to resources requested neither by the pod nor by a container.
    const ResourceList plain = Requests(pod, true, true, {});
    part = {!plain.contains("cpu"), !plain.contains("memory")};
  }
  const ResourceList sum = Requests(pod, true, true, part);
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
