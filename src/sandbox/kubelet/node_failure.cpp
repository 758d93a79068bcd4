#include "sandbox/kubelet/node_failure.hpp"

#include <algorithm>
#include <cmath>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

struct Row {
  std::string_view kind;
  bool NodeFailure::* member;
};
constexpr Row kRows[] = {{"silent", &NodeFailure::silent},
                         {"not-ready", &NodeFailure::not_ready},
                         {"memory-pressure", &NodeFailure::memory_pressure},
                         {"disk-pressure", &NodeFailure::disk_pressure},
                         {"pid-pressure", &NodeFailure::pid_pressure},
                         {"network-unavailable", &NodeFailure::network_unavailable}};

std::string AnnotationOf(const Object& node) {
  if (node.text.find(kFailure) == std::string::npos) return {};  // the usual case, without parsing
  const Document document = node.Parse();
  const json::value* value = Find(ObjectOrEmpty(document.root(), "metadata.annotations"), kFailure);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

const std::vector<std::string>& FailureKinds() {
  static const std::vector<std::string> kinds = [] {
    std::vector<std::string> names;
    for (const auto& row : kRows) names.emplace_back(row.kind);
    return names;
  }();
  return kinds;
}

bool AddFailure(NodeFailure& failure, std::string_view kind) {
  const auto row = std::ranges::find(kRows, kind, &Row::kind);
  if (row == std::end(kRows)) return false;
  failure.*(row->member) = true;
  return true;
}

NodeFailure FailureOf(const Object& node) {
  NodeFailure failure;
  const std::string annotation = AnnotationOf(node);
  ForEachOf(annotation, [&](std::string_view kind) { AddFailure(failure, kind); });
  return failure;
}

bool PostConditions(json::object& node, const NodeFailure& failure, WallTime now, bool heartbeat) {
  json::object& status = ObjectAt(node, "status");
  const std::string time = FormatTime(now);
  bool changed = false;
  const auto post = [&](const Condition& condition) {
    if (!SetCondition(status, condition, time)) return;
    ArrayAt(status, "conditions").back().get_object()["lastHeartbeatTime"] = time;
    changed = true;
  };
  const auto pressure = [&](std::string_view type, bool bad, std::string_view reason_good,
                            std::string_view good, std::string_view reason_bad,
                            std::string_view message_bad) {
    post(bad ? Condition{type, "True", reason_bad, message_bad}
             : Condition{type, "False", reason_good, good});
  };
  pressure("MemoryPressure", failure.memory_pressure, "KubeletHasSufficientMemory",
           "kubelet has sufficient memory available", "KubeletHasInsufficientMemory",
           "kubelet has insufficient memory available");
  pressure("DiskPressure", failure.disk_pressure, "KubeletHasNoDiskPressure", "kubelet has no disk pressure",
           "KubeletHasDiskPressure", "kubelet has disk pressure");
  pressure("PIDPressure", failure.pid_pressure, "KubeletHasSufficientPID",
           "kubelet has sufficient PID available", "KubeletHasInsufficientPID",
           "kubelet has insufficient PID available");
  if (failure.network_unavailable) {
    post({"NetworkUnavailable", "True", "NoRouteCreated", "simulated failure"});
  } else if (FindCondition(status, "NetworkUnavailable") != nullptr) {
    post({"NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"});
  }
  pressure("Ready", !failure.not_ready, "KubeletNotReady",
           "container runtime network not ready: NetworkReady=false reason:simulated failure", "KubeletReady",
           "kubelet is posting ready status");
  if (!heartbeat) return changed;
  for (auto& condition : ArrayAt(status, "conditions")) {
    if (condition.is_object()) condition.get_object()["lastHeartbeatTime"] = time;
  }
  return true;
}

// --- random failures ---

void FailureSchedule::Add(const std::string& node, const std::string& uid, const FailurePlan& plan) {
  if (plan.between > Duration::zero() && !plan.kinds.empty()) Await(node, uid, plan);
}

Duration FailureSchedule::Draw(Duration mean) {
  const double factor = -std::log(1.0 - random_.Unit());
  const std::chrono::duration<double, std::nano> drawn = mean * std::clamp(factor, 1e-6, 50.0);
  constexpr Duration kLongest = Duration::max() / 2;
  return drawn < kLongest ? std::chrono::duration_cast<Duration>(drawn) : kLongest;
}

void FailureSchedule::Await(const std::string& node, const std::string& uid, const FailurePlan& plan) {
  timers_.After(Draw(plan.between), [this, node, uid, plan] { Fail(node, uid, plan); });
}

void FailureSchedule::Fail(const std::string& node, const std::string& uid, const FailurePlan& plan) {
  const ObjectPtr object = verbs_.store().Get(Known().nodes, node);
  if (!object || object->uid != uid) return;
  if (!AnnotationOf(*object).empty()) return Await(node, uid, plan);
  const std::string kind = plan.kinds[random_.Below(plan.kinds.size())];
  verbs_.Rewrite({Known().nodes, "", node}, uid, [&](json::object& document) {
    ObjectAt(ObjectAt(document, "metadata"), "annotations")[kFailure] = kind;
  });
  timers_.After(Draw(plan.lasts), [this, node, uid, kind, plan] { Mend(node, uid, kind, plan); });
}

void FailureSchedule::Mend(const std::string& node, const std::string& uid, const std::string& kind,
                           const FailurePlan& plan) {
  const ObjectPtr object = verbs_.store().Get(Known().nodes, node);
  if (!object || object->uid != uid) return;
  if (AnnotationOf(*object) == kind) {
    verbs_.Rewrite({Known().nodes, "", node}, uid, [&](json::object& document) {
      json::object& metadata = ObjectAt(document, "metadata");
      json::object& annotations = ObjectAt(metadata, "annotations");
      annotations.erase(kFailure);
      if (annotations.empty()) metadata.erase("annotations");
    });
  }
  Await(node, uid, plan);
}

}  // namespace berth::sandbox
