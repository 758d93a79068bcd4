#include "sandbox/controllers/node_taints.hpp"

#include <algorithm>

namespace berth::sandbox {
namespace {

struct ConditionTaint {
  std::string_view condition;
  std::string_view status;  // the condition's status that sets the taint
  std::string_view key;
  std::string_view effect;
};
constexpr ConditionTaint kConditionTaints[] = {
    {"Ready", "False", "node.kubernetes.io/not-ready", "NoSchedule"},
    {"Ready", "False", "node.kubernetes.io/not-ready", "NoExecute"},
    {"Ready", "Unknown", "node.kubernetes.io/unreachable", "NoSchedule"},
    {"Ready", "Unknown", "node.kubernetes.io/unreachable", "NoExecute"},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable", "NoSchedule"},
};
constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

bool IsTaint(const json::value& taint, std::string_view key, std::string_view effect) {
  return taint.is_object() && FindString(taint.get_object(), "key") == key &&
         FindString(taint.get_object(), "effect") == effect;
}

bool HasCondition(const json::object& node, std::string_view type, std::string_view status) {
  const json::array* conditions = FindArray(node, "status.conditions");
  return conditions != nullptr && std::ranges::any_of(*conditions, [&](const json::value& condition) {
           return condition.is_object() && FindString(condition.get_object(), "type") == type &&
                  FindString(condition.get_object(), "status") == status;
         });
}

// True if the list changed.
bool SetTaint(json::array& taints, std::string_view key, std::string_view effect, bool wanted,
              const std::string& now) {
  const auto found =
      std::ranges::find_if(taints, [&](const auto& taint) { return IsTaint(taint, key, effect); });
  if ((found != taints.end()) == wanted) return false;
  if (wanted)
    taints.push_back(json::object{{"key", key}, {"effect", effect}, {"timeAdded", now}});
  else
    taints.erase(found);
  return true;
}

// Computes the taints of the node; true if they differ from the present ones.
bool Reconciled(const json::object& node, const std::string& now, json::array& taints) {
  if (const json::array* present = FindArray(node, "spec.taints")) taints = *present;
  const json::value* cordoned = FindPath(node, "spec.unschedulable");
  const bool unschedulable = cordoned != nullptr && cordoned->is_bool() && cordoned->get_bool();
  bool changed = SetTaint(taints, kUnschedulable, "NoSchedule", unschedulable, now);
  for (const auto& row : kConditionTaints) {
    changed |= SetTaint(taints, row.key, row.effect, HasCondition(node, row.condition, row.status), now);
  }
  return changed;
}

}  // namespace

NodeTaints::NodeTaints(Verbs& verbs, TimerQueue& timers) : verbs_(verbs), timers_(timers) {
  verbs_.store().Observe(*this);
}

void NodeTaints::OnChange(const ResourceType& type, const Change& change) {
  if (&type != &Known().nodes || !change.after) return;
  const Document node = change.after->Parse();
  json::array taints;
  if (!Reconciled(node.root(), {}, taints)) return;
  timers_.After(Duration::zero(), [this, name = change.after->name] { Reconcile(name); });
}

void NodeTaints::Reconcile(const std::string& name) {
  const ObjectPtr current = verbs_.store().Get(Known().nodes, name);
  if (!current) return;
  const Document node = current->Parse();
  json::array taints;
  if (!Reconciled(node.root(), FormatTime(verbs_.clock().WallNow()), taints)) return;
  verbs_.Rewrite({Known().nodes, "", name}, current->uid, [&](json::object& document) {
    if (taints.empty())
      ObjectAt(document, "spec").erase("taints");
    else
      ObjectAt(document, "spec")["taints"] = taints;
  });
}

}  // namespace berth::sandbox
