// Queueing hints of NodeResourcesFit (kube-scheduler v1.37.1).
#include <algorithm>

#include "kubernetes/api/requests.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"

namespace berth::plugins {
namespace {

using cluster::Amounts;
using cluster::PodInfo;
using cluster::ResourceId;
using framework::Hint;

// The node's allocatable amount in the units of Amounts.
std::int64_t Offered(const api::Node& node, const std::string& resource) {
  const auto found = node.allocatable.find(resource);
  if (found == node.allocatable.end()) return 0;
  return resource == "cpu" ? found->second.MilliValue() : found->second.Value();
}

// Calls visit(resource, name, amount).
template <class Visit>
void ForEachRequest(const Amounts& amounts, const cluster::SymbolTable& words, Visit&& visit) {
  visit(cluster::kCpu, "cpu", amounts.milli_cpu);
  visit(cluster::kMemory, "memory", amounts.memory);
  visit(cluster::kEphemeralStorage, "ephemeral-storage", amounts.ephemeral_storage);
  for (const auto& [resource, amount] : amounts.scalars)
    visit(resource, words.ResourceName(resource), amount);
}

// Whether the pod requests an extended resource that the class provides.
bool Requests(const cluster::PodInfo& pod, const api::DeviceClass& device_class, bool added) {
  const api::ResourceList requests = api::PodRequests(*pod.pod, {});
  // The name of a class does not change.
  if (added && requests.contains(std::string(api::kDeviceClassResourcePrefix) + device_class.metadata.name))
    return true;
  return device_class.extended_resource_name && requests.contains(*device_class.extended_resource_name);
}

Hint AfterClassChange(const cluster::PodInfo& pod, const api::DeviceClass* before,
                      const api::DeviceClass& after) {
  if (before != nullptr &&
      before->extended_resource_name.value_or("") == after.extended_resource_name.value_or("")) {
    return Hint::kSkip;
  }
  return framework::QueueIf(Requests(pod, after, before == nullptr));
}

// Whether a pod on a node released resources that the waiting pod requests. This is evaluated for every
// waiting pod, and the other pod may have thousands of resources: only those of the waiting pod are summed.
bool GaveBack(const cluster::PodInfo& waiting, const api::Pod& before, const api::Pod& after) {
  if (after.spec.node_name.empty()) return false;
  const api::ResourceList wanted_amounts = api::PodRequests(*waiting.pod, {.use_status = true});
  const auto requests = [&](const api::Pod& pod) {
    return api::PodRequests(pod, {.use_status = true, .only = &wanted_amounts});
  };
  const api::ResourceList had = requests(before);
  const api::ResourceList has = requests(after);
  const auto amount = [](const api::ResourceList& list, const std::string& resource) -> std::int64_t {
    const auto found = list.find(resource);
    if (found == list.end()) return 0;
    return std::max<std::int64_t>(0, resource == "cpu" ? found->second.MilliValue() : found->second.Value());
  };
  return std::ranges::any_of(wanted_amounts, [&](const auto& wanted) {
    const api::ResourceClass kind = api::ClassOf(wanted.first);
    return !wanted.second.IsZero() && kind != api::ResourceClass::kIgnored &&
           kind != api::ResourceClass::kPods && amount(had, wanted.first) > amount(has, wanted.first);
  });
}

}  // namespace

// Whether the pod would fit on the empty node.
bool NodeResourcesFit::FitsEmpty(const PodInfo& pod, const api::Node& node) const {
  bool fits = Offered(node, "pods") >= 1;
  ForEachRequest(pod.fit(), symbols_, [&](ResourceId resource, const std::string& name, std::int64_t amount) {
    const std::int64_t offered = Offered(node, name);
    if (amount > 0 && amount > offered && !(offered <= 0 && IsByClass(resource))) fits = false;
  });
  return fits;
}

bool NodeResourcesFit::OffersMore(const PodInfo& pod, const api::Node& before, const api::Node& after) const {
  bool more = Offered(after, "pods") > Offered(before, "pods");
  ForEachRequest(pod.fit(), symbols_, [&](ResourceId resource, const std::string& name, std::int64_t amount) {
    const std::int64_t offered = Offered(after, name);
    if (amount > 0 && (offered > Offered(before, name) || (offered <= 0 && IsByClass(resource)))) more = true;
  });
  return more;
}

std::vector<framework::EventRegistration> NodeResourcesFit::EventsToRegister() const {
  using namespace framework;
  std::vector<EventRegistration> events = {
      WhenAssignedPod(kDelete, [](const PodInfo&, const api::Pod* gone,
                                  const api::Pod*) { return framework::QueueIf(IsBoundOrNominated(*gone)); }),
      WhenNode(kAdd | kUpdateNodeAllocatable,
               [this](const PodInfo& pod, const api::Node* before, const api::Node* after) {
                 const bool helps =
                     FitsEmpty(pod, *after) && (before == nullptr || OffersMore(pod, *before, *after));
                 return framework::QueueIf(helps);
               }),
      WhenAssignedPod(kUpdatePodScaleDown,
                      [](const PodInfo& pod, const api::Pod* before, const api::Pod* after) {
                        return framework::QueueIf(GaveBack(pod, *before, *after));
                      }),
      {EventResource::kTargetPod, kUpdatePodScaleDown}};
  if (cluster_devices_.extended().enabled()) {
    events.push_back(When<api::DeviceClass>(
        EventResource::kDeviceClass, kAdd | kUpdate,
        [](const PodInfo& pod, const api::DeviceClass* before, const api::DeviceClass* after) {
          return AfterClassChange(pod, before, *after);
        }));
  }
  return events;
}

}  // namespace berth::plugins
