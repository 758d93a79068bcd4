#include "sandbox/kubelet/pod_status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

void SetConditions(json::object& status, std::initializer_list<std::pair<std::string_view, bool>> changes,
                   const std::string& time, std::string_view reason = {}) {
  auto& conditions = ArrayAt(status, "conditions");
  for (const auto& [type, value] : changes) {
    json::object condition{
        {"type", type}, {"status", value ? "True" : "False"}, {"lastTransitionTime", time}};
    if (!value && !reason.empty()) condition["reason"] = reason;
    const auto existing = std::ranges::find_if(conditions, [&](const json::value& c) {
      return c.is_object() && FindString(c.get_object(), "type") == type;
    });
    if (existing != conditions.end())
      *existing = std::move(condition);
    else
      conditions.push_back(std::move(condition));
  }
}

json::object Terminated(std::string_view started, std::string_view finished, std::int64_t exit_code) {
  return {{"terminated", json::object{{"exitCode", exit_code},
                                      {"reason", exit_code == 0 ? "Completed" : "Error"},
                                      {"startedAt", started},
                                      {"finishedAt", finished},
                                      {"containerID", "simulated://0"}}}};
}

json::array ContainerStatuses(const json::object& pod, std::string_view list, const json::object& state,
                              bool ready, std::int64_t restarts, const json::object& last_state = {}) {
  json::array statuses;
  for (const auto& container : ArrayOrEmpty(ObjectOrEmpty(pod, "spec"), list)) {
    if (!container.is_object()) continue;
    const auto& c = container.get_object();
    statuses.push_back(json::object{{"name", FindString(c, "name")},
                                    {"image", FindString(c, "image")},
                                    {"imageID", FindString(c, "image")},
                                    {"containerID", "simulated://0"},
                                    {"ready", ready},
                                    {"started", ready},
                                    {"restartCount", restarts},
                                    {"state", state},
                                    {"lastState", last_state}});
  }
  return statuses;
}

std::int64_t RestartsOf(const json::object& pod) {
  const auto& statuses = ArrayOrEmpty(pod, "status.containerStatuses");
  return statuses.empty() || !statuses[0].is_object() ? 0 : IntAt(statuses[0].get_object(), "restartCount");
}

std::string StartOf(const json::object& pod) {
  const auto& statuses = ArrayOrEmpty(pod, "status.containerStatuses");
  if (!statuses.empty() && statuses[0].is_object()) {
    const auto started = FindString(statuses[0].get_object(), "state.running.startedAt");
    if (!started.empty()) return std::string(started);
  }
  return std::string(FindString(pod, "status.startTime"));
}

}  // namespace

void SetCreating(json::object& pod, const std::string& now) {
  if (!FindString(pod, "status.startTime").empty()) return;
  const json::object waiting{{"waiting", json::object{{"reason", "ContainerCreating"}}}};
  json::array containers = ContainerStatuses(pod, "containers", waiting, false, 0);
  json::array init = ContainerStatuses(pod, "initContainers", waiting, false, 0);
  json::object& status = ObjectAt(pod, "status");
  SetConditions(status, {{"PodReadyToStartContainers", false}, {"Initialized", init.empty()}}, now);
  SetConditions(status, {{"Ready", false}, {"ContainersReady", false}}, now, "ContainersNotReady");
  status["startTime"] = now;
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = std::move(containers);
}

void SetRunning(json::object& pod, const std::string& now, const std::string& ip) {
  const std::int64_t restarts = RestartsOf(pod);
  const json::object running{{"running", json::object{{"startedAt", now}}}};
  json::object last;
  if (restarts > 0) {
    const auto& statuses = ArrayOrEmpty(pod, "status.containerStatuses");
    if (statuses[0].is_object()) last = ObjectOrEmpty(statuses[0].get_object(), "lastState");
  }
  json::array containers = ContainerStatuses(pod, "containers", running, true, restarts, last);
  json::array init = ContainerStatuses(pod, "initContainers", Terminated(now, now, 0), true, 0);
  json::object& status = ObjectAt(pod, "status");
  status["phase"] = "Running";
  SetConditions(status,
                {{"PodReadyToStartContainers", true},
                 {"Initialized", true},
                 {"Ready", true},
                 {"ContainersReady", true}},
                now);
  const json::value* generation = FindPath(pod, "metadata.generation");
  if (generation != nullptr) status["observedGeneration"] = *generation;
  if (FindString(status, "podIP").empty()) {
    const json::object pod_ip{{"ip", ip}};
    status["podIP"] = ip;
    status["podIPs"] = json::array{pod_ip};
    if (FindString(status, "startTime").empty()) status["startTime"] = now;
  }
  if (!init.empty()) status["initContainerStatuses"] = std::move(init);
  status["containerStatuses"] = std::move(containers);
}

void SetEnded(json::object& pod, const std::string& now, std::int64_t exit_code) {
  json::array containers =
      ContainerStatuses(pod, "containers", Terminated(StartOf(pod), now, exit_code), false, RestartsOf(pod));
  json::object& status = ObjectAt(pod, "status");
  status["phase"] = exit_code == 0 ? "Succeeded" : "Failed";
  SetConditions(status, {{"Ready", false}, {"ContainersReady", false}}, now,
                exit_code == 0 ? "PodCompleted" : "PodFailed");
  status["containerStatuses"] = std::move(containers);
}

std::int64_t SetCrashed(json::object& pod, const std::string& now, std::int64_t exit_code) {
  const std::int64_t restarts = RestartsOf(pod) + 1;
  const json::object waiting{{"waiting", json::object{{"reason", "CrashLoopBackOff"},
                                                      {"message", "back-off restarting failed container"}}}};
  json::array containers = ContainerStatuses(pod, "containers", waiting, false, restarts,
                                             Terminated(StartOf(pod), now, exit_code));
  json::object& status = ObjectAt(pod, "status");
  SetConditions(status, {{"Ready", false}, {"ContainersReady", false}}, now, "ContainersNotReady");
  status["containerStatuses"] = std::move(containers);
  return restarts;
}

bool HasLostReadiness(const json::object& pod) {
  if (IsConditionTrue(ObjectOrEmpty(pod, "status"), "Ready")) return false;
  return std::ranges::none_of(ArrayOrEmpty(pod, "status.containerStatuses"), [](const json::value& status) {
    return status.is_object() && !BoolAt(status.get_object(), "ready");
  });
}

void SetReady(json::object& pod, const std::string& now) {
  SetConditions(ObjectAt(pod, "status"), {{"Ready", true}}, now);
}

}  // namespace berth::sandbox
