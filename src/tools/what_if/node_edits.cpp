#include "tools/what_if/node_edits.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace berth::what_if {
namespace {

// Whether the taint is one of this key and effect; empty: of every effect.
bool IsOf(const api::Taint& taint, std::string_view key, std::string_view effect) {
  return taint.key == key && (effect.empty() || taint.effect == effect);
}

struct InEffect {
  const api::Node& node;

  bool operator()(const Cordon& change) const {
    return change.node == node.metadata.name && node.unschedulable == change.unschedulable;
  }
  bool operator()(const Drain& change) const {
    return change.node == node.metadata.name && node.unschedulable;
  }
  bool operator()(const SetLabel& change) const {
    if (change.node != node.metadata.name) return false;
    const std::string* value = node.metadata.labels.Find(change.key);
    return change.value ? value != nullptr && *value == *change.value : value == nullptr;
  }
  bool operator()(const SetTaint& change) const {
    if (change.node != node.metadata.name) return false;
    const bool present = std::ranges::any_of(node.taints, [&](const api::Taint& taint) {
      return change.remove ? IsOf(taint, change.taint.key, change.taint.effect) : taint == change.taint;
    });
    return present != change.remove;
  }
  template <class Other>
  bool operator()(const Other& /*change*/) const {
    return false;
  }
};

}  // namespace

api::Node WithoutTaint(const api::Node& node, std::string_view key, std::string_view effect) {
  api::CowList<api::Taint> kept;
  for (const api::Taint& taint : std::as_const(node.taints)) {
    if (!IsOf(taint, key, effect)) kept.push_back(taint);
  }
  api::Node changed = node;
  changed.taints = std::move(kept);
  return changed;
}

api::Node WithCordon(const api::Node& node, bool unschedulable) {
  constexpr const char* kUnschedulable = "node.kubernetes.io/unschedulable";
  api::Node changed = WithoutTaint(node, kUnschedulable, "");
  changed.unschedulable = unschedulable;
  if (unschedulable) changed.taints.push_back({kUnschedulable, "", "NoSchedule"});
  return changed;
}

bool IsInEffect(const Change& change, const api::Node& node) { return std::visit(InEffect{node}, change); }

}  // namespace berth::what_if
