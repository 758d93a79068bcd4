// Which events can make a pod fit that NodeResourcesFit rejected (kube-scheduler v1.37.1).
#include <algorithm>

#include "api/requests.hpp"
#include "plugins/node_resources/node_resources_fit.hpp"

namespace berth::plugins {
namespace {

using framework::Amounts;
using framework::Hint;
using framework::PodInfo;

// What a node offers, in the units of Amounts.
std::int64_t Offered(const api::Node& node, const std::string& resource) {
  const auto found = node.allocatable.find(resource);
  if (found == node.allocatable.end()) return 0;
  return resource == "cpu" ? found->second.MilliValue() : found->second.Value();
}

template <class Visit>
void ForEachRequest(const Amounts& amounts, const framework::Vocabulary& words, Visit&& visit) {
  visit("cpu", amounts.milli_cpu);
  visit("memory", amounts.memory);
  visit("ephemeral-storage", amounts.ephemeral_storage);
  for (const auto& [resource, amount] : amounts.scalars) visit(words.ResourceName(resource), amount);
}

// Would the pod fit if it were alone there?
bool FitsEmpty(const PodInfo& pod, const api::Node& node, const framework::Vocabulary& words) {
  bool fits = Offered(node, "pods") >= 1;
  ForEachRequest(pod.fit(), words, [&](const std::string& resource, std::int64_t amount) {
    if (amount > 0 && amount > Offered(node, resource)) fits = false;
  });
  return fits;
}

bool OffersMore(const PodInfo& pod, const api::Node& before, const api::Node& after,
                const framework::Vocabulary& words) {
  bool more = Offered(after, "pods") > Offered(before, "pods");
  ForEachRequest(pod.fit(), words, [&](const std::string& resource, std::int64_t amount) {
    if (amount > 0 && Offered(after, resource) > Offered(before, resource)) more = true;
  });
  return more;
}

// Did a pod on a node give back any of what the waiting pod asks for?
bool GaveBack(const PodInfo& waiting, const api::Pod& before, const api::Pod& after) {
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
  return {
      WhenAssignedPod(kDelete, [](const PodInfo&, const api::Pod* gone,
                                  const api::Pod*) { return HasPlace(*gone) ? Hint::kQueue : Hint::kSkip; }),
      WhenNode(kAdd | kUpdateNodeAllocatable,
               [this](const PodInfo& pod, const api::Node* before, const api::Node* after) {
                 const bool helps = FitsEmpty(pod, *after, vocabulary_) &&
                                    (before == nullptr || OffersMore(pod, *before, *after, vocabulary_));
                 return helps ? Hint::kQueue : Hint::kSkip;
               }),
      WhenAssignedPod(kUpdatePodScaleDown,
                      [](const PodInfo& pod, const api::Pod* before, const api::Pod* after) {
                        return GaveBack(pod, *before, *after) ? Hint::kQueue : Hint::kSkip;
                      }),
      {EventResource::kTargetPod, kUpdatePodScaleDown}};
}

}  // namespace berth::plugins
