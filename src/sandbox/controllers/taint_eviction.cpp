#include "sandbox/controllers/taint_eviction.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/node_selector.hpp"
#include "sandbox/controllers/pod_gc.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kTaintEvictionComponent = "taint-eviction-controller";
// More seconds are no limit: as a time they would overflow.
constexpr std::chrono::seconds kTolerationMax = std::chrono::days(100 * 365);

}  // namespace

TaintEviction::TaintEviction(ControllerContext& context)
    : context_(context), queue_(context.timers, context.verbs.clock(), [this](const std::string& node) {
        return Reconcile(node);
      }) {
  for (const auto& [_, node] : context.store().All(Known().nodes)) {
    OnChange(Known().nodes, {.version = 0, .before = nullptr, .after = node, .removed = nullptr});
  }
  context.store().Observe(*this);
  context.view.Observe(*this);
}

void TaintEviction::OnChange(const ResourceType& type, const Change& change) {
  if (&type != &Known().nodes) return;
  std::vector<Taint> taints;
  if (change.after && change.after->text.find("NoExecute") != std::string::npos) {
    const Document document = change.after->Parse();
    for (const auto& value : ArrayOrEmpty(document.root(), "spec.taints")) {
      if (!value.is_object() || FindString(value.get_object(), "effect") != "NoExecute") continue;
      taints.push_back({std::string(FindString(value.get_object(), "key")),
                        std::string(FindString(value.get_object(), "value"))});
    }
  }
  const std::string& name = change.subject().name;
  const auto known = taints_.find(name);
  if (known == taints_.end() ? taints.empty() : known->second == taints) return;
  if (taints.empty())
    taints_.erase(name);
  else
    taints_[name] = std::move(taints);
  queue_.Add(name);
}

void TaintEviction::OnPod(const PodFacts* before, const PodFacts* after) {
  if (after == nullptr) {
    tolerating_since_.erase(before->object->uid);
  } else if (!after->node().empty() && taints_.contains(after->node()) &&
             (before == nullptr || before->node().empty())) {
    queue_.Add(after->node());
  }
}

WorkQueue::Outcome TaintEviction::Reconcile(const std::string& node) {
  const auto found = taints_.find(node);
  const std::vector<Taint> taints = found == taints_.end() ? std::vector<Taint>() : found->second;
  const MonoTime now = context_.verbs.clock().Now();
  std::vector<ObjectPtr> pods;
  for (const PodFacts* pod : context_.view.PodsOn(node)) {
    if (!pod->object->deleting) pods.push_back(pod->object);
  }
  WorkQueue::Outcome outcome{.objects_read = pods.size()};
  for (const auto& pod : pods) {
    const auto toleration = taints.empty() ? std::nullopt : TolerationTime(*pod, taints);
    if (!toleration) {
      if (tolerating_since_.erase(pod->uid) > 0) {
        context_.events.Record(*pod, "Normal", "TaintManagerEviction",
                               fmt::format("Cancelling deletion of Pod {}", pod->key),
                               kTaintEvictionComponent);
      }
      continue;
    }
    const MonoTime since = tolerating_since_.try_emplace(pod->uid, now).first->second;
    const Duration left = since + *toleration - now;
    if (left <= Duration::zero())
      Evict(*pod);
    else if (outcome.again_after == Duration::zero() || left < outcome.again_after)
      outcome.again_after = left;
  }
  return outcome;
}

std::optional<Duration> TaintEviction::TolerationTime(const Object& pod, const std::vector<Taint>& taints) {
  const Document document = pod.Parse();
  std::optional<Duration> shortest;
  for (const auto& taint : taints) {
    const json::object as_object{{"key", taint.key}, {"value", taint.value}, {"effect", "NoExecute"}};
    bool tolerated = false;
    for (const auto& value : ArrayOrEmpty(document.root(), "spec.tolerations")) {
      if (!value.is_object() || !ToleratesTaint({value}, as_object)) continue;
      tolerated = true;
      const json::value* seconds = Find(value.get_object(), "tolerationSeconds");
      if (seconds == nullptr || !seconds->is_int64()) break;
      const std::chrono::seconds stay(std::max<std::int64_t>(seconds->get_int64(), 0));
      if (stay <= kTolerationMax && (!shortest || stay < *shortest)) shortest = stay;
      break;  // only the first toleration of a taint counts
    }
    if (!tolerated) return Duration::zero();
  }
  return shortest;
}

void TaintEviction::Evict(const Object& pod) {
  tolerating_since_.erase(pod.uid);
  context_.events.Record(pod, "Normal", "TaintManagerEviction",
                         fmt::format("Marking for deletion Pod {}", pod.key), kTaintEvictionComponent);
  MarkDisrupted(context_, pod, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint");
  DeleteOptions options;
  options.uid = pod.uid;
  (void)context_.verbs.Delete(PlaceOf(pod), options);  // the pod may already be gone
}

}  // namespace berth::sandbox
