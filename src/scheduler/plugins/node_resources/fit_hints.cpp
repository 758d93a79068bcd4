// Queueing hints of NodeResourcesFit (kube-scheduler v1.37.1).
#include <algorithm>

#include "kubernetes/api/requests.hpp"
#include "scheduler/plugins/node_resources/node_resources_fit.hpp"

namespace berth::plugins {
namespace {

using cluster::Amounts;
using cluster::PodInfo;
using framework::Hint;

// The node's allocatable amount in the units of Amounts.
std::int64_t Offered(const api::Node& node, const std::string& resource) {
  const auto found = node.allocatable.find(resource);
  if (found == node.allocatable.end()) return 0;
  return resource == "cpu" ? found->second.MilliValue() : found->second.Value();
}

template <class Visit>
void ForEachRequest(const Amounts& amounts, const cluster::SymbolTable& words, Visit&& visit) {
  visit("cpu", amounts.milli_cpu);
  visit("memory", amounts.memory);
  visit("ephemeral-storage", amounts.ephemeral_storage);
  for (const auto& [resource, amount] : amounts.scalars) visit(words.ResourceName(resource), amount);
}

// Whether the pod would fit on the empty node.
bool FitsEmpty(const cluster::PodInfo& pod, const api::Node& node, const cluster::SymbolTable& words) {
  bool fits = Offered(node, "pods") >= 1;
  ForEachRequest(pod.fit(), words, [&](const std::string& resource, std::int64_t amount) {
    if (amount > 0 && amount > Offered(node, resource)) fits = false;
  });
  return fits;
}

bool OffersMore(const cluster::PodInfo& pod, const api::Node& before, const api::Node& after,
                const cluster::SymbolTable& words) {
  bool more = Offered(after, "pods") > Offered(before, "pods");
  ForEachRequest(pod.fit(), words, [&](const std::string& resource, std::int64_t amount) {
    if (amount > 0 && Offered(after, resource) > Offered(before, resource)) more = true;
  });
  return more;
}

// Whether a pod on a node released resources that the waiting pod requests.
bool GaveBack(const cluster::PodInfo& waiting, const api::Pod& before, const api::Pod& after) {
  if (after.spec.node_name.empty()) return false;
  const auto requests = [](const api::Pod& pod) { return api::PodRequests(pod, {.use_status = true}); };
  const api::ResourceList had = requests(before);
  const api::ResourceList has = requests(after);
  const auto amount = [](const api::ResourceList& list, const std::string& resource) -> std::int64_t {
    const auto found = list.find(resource);
    if (found == list.end()) return 0;
    return std::max<std::int64_t>(0, resource == "cpu" ? found->second.MilliValue() : found->second.Value());
  };
  return std::ranges::any_of(requests(*waiting.pod), [&](const auto& wanted) {
    const api::ResourceClass kind = api::ClassOf(wanted.first);
    return !wanted.second.IsZero() && kind != api::ResourceClass::kIgnored &&
           kind != api::ResourceClass::kPods && amount(had, wanted.first) > amount(has, wanted.first);
  });
}

}  // namespace

std::vector<framework::EventRegistration> NodeResourcesFit::EventsToRegister() const {
  using namespace framework;
  return {WhenAssignedPod(kDelete,
                          [](const cluster::PodInfo&, const api::Pod* gone, const api::Pod*) {
                            return IsBoundOrNominated(*gone) ? Hint::kQueue : Hint::kSkip;
                          }),
          WhenNode(kAdd | kUpdateNodeAllocatable,
                   [this](const cluster::PodInfo& pod, const api::Node* before, const api::Node* after) {
                     const bool helps = FitsEmpty(pod, *after, symbols_) &&
                                        (before == nullptr || OffersMore(pod, *before, *after, symbols_));
                     return helps ? Hint::kQueue : Hint::kSkip;
                   }),
          WhenAssignedPod(kUpdatePodScaleDown,
                          [](const cluster::PodInfo& pod, const api::Pod* before, const api::Pod* after) {
                            return GaveBack(pod, *before, *after) ? Hint::kQueue : Hint::kSkip;
                          }),
          {EventResource::kTargetPod, kUpdatePodScaleDown}};
}

}  // namespace berth::plugins
