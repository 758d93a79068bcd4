#include "tools/what_if/node_edits.hpp"

#include <utility>

namespace berth::what_if {

api::Node WithoutTaint(const api::Node& node, std::string_view key, std::string_view effect) {
  api::CowList<api::Taint> kept;
  for (const api::Taint& taint : std::as_const(node.taints)) {
    if (taint.key != key || (!effect.empty() && taint.effect != effect)) kept.push_back(taint);
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

}  // namespace berth::what_if
