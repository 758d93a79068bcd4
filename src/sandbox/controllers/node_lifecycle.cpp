#include "sandbox/controllers/node_lifecycle.hpp"

#include <fmt/format.h>

#include "sandbox/store/guard.hpp"

namespace berth::sandbox {
namespace {

constexpr std::chrono::seconds kPeriod{5};  // kube-controller-manager's --node-monitor-period
constexpr std::string_view kNodeLifecycleComponent = "node-controller";

}  // namespace

NodeLifecycle::NodeLifecycle(ControllerContext& context, const NodeLifecycleOptions& options)
    : context_(context),
      options_(options),
      pods_(context.timers, context.verbs.clock(),
            [this](const std::string& node) { return MarkPodsNotReady(node); }),
      last_round_(context.verbs.clock().Now()) {
  for (const auto& [_, node] : context.store().All(Known().nodes)) {
    OnChange(Known().nodes, {.version = 0, .before = nullptr, .after = node, .removed = nullptr});
  }
  context.store().Observe(*this);
  if (options_.enabled) context_.timers.After(kPeriod, [this] { Monitor(); });
}

void NodeLifecycle::OnChange(const ResourceType& type, const Change& change) {
  if (&type == &Known().leases) {
    if (!change.after || change.after->ns != "kube-node-lease") return;
    const auto found = last_heartbeat_.find(change.after->name);
    if (found != last_heartbeat_.end()) found->second = context_.verbs.clock().Now();
    return;
  }
  if (&type != &Known().nodes) return;
  const std::string& name = change.subject().name;
  if (!change.after) {
    last_heartbeat_.erase(name);
    ready_.erase(name);
    return;
  }
  last_heartbeat_.try_emplace(name, context_.verbs.clock().Now());
  const Document document = change.after->Parse();
  const bool ready = IsConditionTrue(ObjectOrEmpty(document.root(), "status"), "Ready");
  const auto [known, fresh] = ready_.try_emplace(name, ready);
  if (!fresh && known->second && !ready) pods_.Add(name);
  known->second = ready;
}

void NodeLifecycle::Monitor() {
  const MonoTime now = context_.verbs.clock().Now();
  // The kubelets run in this process: while it was stopped, they could not send heartbeats either.
  if (now - last_round_ > 2 * kPeriod) {
    for (auto& [_, time] : last_heartbeat_) time = now;
  }
  last_round_ = now;
  std::vector<std::string> silent;
  for (const auto& [name, time] : last_heartbeat_) {
    if (now - time > options_.grace) silent.push_back(name);
  }
  std::ranges::sort(silent);  // same seed, same run
  for (const auto& name : silent) {
    const ObjectPtr node = context_.store().Get(Known().nodes, name);
    // Guarded one by one: the monitoring must go on.
    if (node) RunGuarded("the controller", name, [&] { DeclareUnknown(*node); });
  }
  context_.timers.After(kPeriod, [this] { Monitor(); });
}

void NodeLifecycle::DeclareUnknown(const Object& node) {
  const Document document = node.Parse();
  const json::object* ready = FindCondition(ObjectOrEmpty(document.root(), "status"), "Ready");
  if (ready != nullptr && FindString(*ready, "status") == "Unknown") return;
  const std::string now = context_.NowText();
  context_.verbs.Rewrite(PlaceOf(node), node.uid, [&](json::object& changed) {
    json::object& status = ObjectAt(changed, "status");
    for (const std::string_view type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
      const json::object* old = FindCondition(status, type);
      const std::string heartbeat(old != nullptr ? FindString(*old, "lastHeartbeatTime")
                                                 : FindString(changed, "metadata.creationTimestamp"));
      SetCondition(
          status,
          old != nullptr
              ? Condition{type, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."}
              : Condition{type, "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status."},
          now);
      ArrayAt(status, "conditions").back().get_object()["lastHeartbeatTime"] = heartbeat;
    }
  });
}

WorkQueue::Outcome NodeLifecycle::MarkPodsNotReady(const std::string& node) {
  const ObjectPtr object = context_.store().Get(Known().nodes, node);
  if (!object || ready_[node]) return {};
  context_.events.Record(*object, "Normal", "NodeNotReady",
                         fmt::format("Node {} status is now: NodeNotReady", node), kNodeLifecycleComponent);
  std::vector<ObjectPtr> pods;
  for (const PodFacts* pod : context_.view.PodsOn(node)) {
    if (pod->ready) pods.push_back(pod->object);
  }
  for (const auto& pod : pods) {
    context_.verbs.Rewrite(PlaceOf(*pod), pod->uid, [&](json::object& document) {
      SetCondition(ObjectAt(document, "status"), {"Ready", "False"}, context_.NowText());
    });
    context_.events.Record(*pod, "Warning", "NodeNotReady", "Node is not ready", kNodeLifecycleComponent);
  }
  return {};
}

}  // namespace berth::sandbox
