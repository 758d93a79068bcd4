// The defaults of pods and pod templates.
#include <algorithm>
#include <optional>
#include <string>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/defaults/defaults.hpp"
#include "sandbox/apiserver/defaults/members.hpp"

namespace berth::sandbox {
namespace {

void DefaultProbe(json::object& container, std::string_view name) {
  json::object* probe = Below(container, name);
  if (probe == nullptr) return;
  SetDefault(*probe, "timeoutSeconds", 1);
  SetDefault(*probe, "periodSeconds", 10);
  SetDefault(*probe, "successThreshold", 1);
  SetDefault(*probe, "failureThreshold", 3);
  if (json::object* get = Below(*probe, "httpGet")) {
    SetText(*get, "path", "/");
    SetText(*get, "scheme", "HTTP");
  }
}

// The pull policy of images without a tag or with the tag latest is Always.
bool IsLatest(std::string_view image) {
  const auto slash = image.rfind('/');
  const auto tag = image.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (tag.find('@') != std::string_view::npos) return false;
  return tag.find(':') == std::string_view::npos || tag.ends_with(":latest");
}

void DefaultContainer(json::object& container, bool host_network) {
  SetText(container, "imagePullPolicy", IsLatest(FindString(container, "image")) ? "Always" : "IfNotPresent");
  SetText(container, "terminationMessagePath", "/dev/termination-log");
  SetText(container, "terminationMessagePolicy", "File");
  SetDefault(container, "resources", json::object());
  ForEachObject(container, "ports", [&](json::object& port) {
    SetText(port, "protocol", "TCP");
    if (host_network && port.contains("containerPort"))
      SetDefault(port, "hostPort", port.at("containerPort"));
  });
  ForEachObject(container, "env", [](json::object& variable) {
    json::object* from = Below(variable, "valueFrom");
    if (from == nullptr) return;
    if (json::object* field = Below(*from, "fieldRef")) SetText(*field, "apiVersion", "v1");
  });
  for (const std::string_view probe : {"livenessProbe", "readinessProbe", "startupProbe"})
    DefaultProbe(container, probe);
}

void DefaultVolume(json::object& volume) {
  constexpr int kReadable = 0644;
  if (volume.size() == 1 && volume.contains("name")) volume["emptyDir"] = json::object();
  for (const std::string_view source : {"secret", "configMap", "downwardAPI", "projected"}) {
    if (json::object* files = Below(volume, source)) SetDefault(*files, "defaultMode", kReadable);
  }
  if (json::object* host = Below(volume, "hostPath")) SetDefault(*host, "type", "");
  if (json::object* ephemeral = Below(volume, "ephemeral")) {
    json::object* claim = Below(*ephemeral, "volumeClaimTemplate");
    json::object* spec = claim != nullptr ? Below(*claim, "spec") : nullptr;
    if (spec != nullptr) SetDefault(*spec, "volumeMode", "Filesystem");
  }
}

void CopyLimits(json::object& container) {
  const json::object* limits = FindObject(container, "resources.limits");
  if (limits == nullptr) return;
  const json::object copy = *limits;  // a copy: ObjectAt may move the object of `limits`
  json::object& requests = ObjectAt(ObjectAt(container, "resources"), "requests");
  for (const auto& entry : copy) SetDefault(requests, entry.key(), entry.value());
}

std::optional<api::Quantity> RequestOf(const json::object& container, std::string_view resource) {
  const json::object* requests = FindObject(container, "resources.requests");
  const json::value* value = requests != nullptr ? Find(*requests, resource) : nullptr;
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const auto quantity = api::Quantity::Parse(value->get_string());
  return quantity ? std::optional(*quantity) : std::nullopt;
}

// The total request of the containers; nullopt if none has a request for that resource. Init containers run
// before the others, restartable ones beside them.
std::optional<api::Quantity> RequestOfAll(json::object& spec, std::string_view resource) {
  std::optional<api::Quantity> together, most_before, beside;
  const auto add = [](std::optional<api::Quantity>& to, const api::Quantity& what) {
    if (to)
      *to += what;
    else
      to = what;
  };
  ForEachObject(spec, "containers", [&](json::object& container) {
    if (const auto request = RequestOf(container, resource)) add(together, *request);
  });
  ForEachObject(spec, "initContainers", [&](json::object& container) {
    auto request = RequestOf(container, resource);
    if (FindString(container, "restartPolicy") == "Always") {
      if (request) add(beside, *request);
      return;
    }
    if (request && beside) *request += *beside;
    if (request && (!most_before || most_before->Compare(*request) < 0)) most_before = request;
  });
  if (beside) add(together, *beside);
  if (most_before && (!together || together->Compare(*most_before) < 0)) together = most_before;
  return together;
}

}  // namespace

void AdmitPodLevelRequests(json::object& spec) {
  const json::object* limits = FindObject(spec, "resources.limits");
  if (limits == nullptr) return;
  const json::object copy = *limits;
  json::object& requests = ObjectAt(ObjectAt(spec, "resources"), "requests");
  for (const auto& entry : copy) {
    if (requests.contains(entry.key())) continue;
    const auto requested = RequestOfAll(spec, entry.key());
    requests[entry.key()] = requested ? json::value(requested->Canonical()) : entry.value();
  }
}

void DefaultPodSpec(json::object& spec) {
  const json::value* host = Find(spec, "hostNetwork");
  const bool host_network = host != nullptr && host->is_bool() && host->get_bool();
  const auto container = [&](json::object& c) { DefaultContainer(c, host_network); };
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"})
    ForEachObject(spec, list, container);
  ForEachObject(spec, "volumes", DefaultVolume);
  SetText(spec, "restartPolicy", "Always");
  SetDefault(spec, "terminationGracePeriodSeconds", 30);
  SetText(spec, "dnsPolicy", "ClusterFirst");
  if (const std::string account(FindString(spec, "serviceAccountName")); !account.empty())
    spec["serviceAccount"] = account;  // its old name
  SetDefault(spec, "securityContext", json::object());
  SetText(spec, "schedulerName", "default-scheduler");
}

std::string_view QosClass(const json::object& spec) {
  bool any = false;
  bool guaranteed = true;
  const auto add_resources = [&](const json::object& resources_of) {
    for (const std::string_view name : {"cpu", "memory"}) {
      const json::object* requests = FindObject(resources_of, "resources.requests");
      const json::object* limits = FindObject(resources_of, "resources.limits");
      const json::value* request = requests != nullptr ? Find(*requests, name) : nullptr;
      const json::value* limit = limits != nullptr ? Find(*limits, name) : nullptr;
      any = any || request != nullptr || limit != nullptr;
      guaranteed = guaranteed && limit != nullptr && (request == nullptr || *request == *limit);
    }
  };
  if (FindObject(spec, "resources") != nullptr && !FindObject(spec, "resources")->empty()) {
    add_resources(spec);  // the pod's own resources take precedence
  } else {
    for (const std::string_view list : {"containers", "initContainers"}) {
      const json::array* containers = FindArray(spec, list);
      if (containers == nullptr) continue;
      for (const auto& container : *containers) {
        if (container.is_object()) add_resources(container.get_object());
      }
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

// Pods only, not templates.
void DefaultPod(json::object& pod) {
  json::object& spec = ObjectAt(pod, "spec");
  SetDefault(spec, "enableServiceLinks", true);
  ForEachObject(spec, "containers", CopyLimits);
  ForEachObject(spec, "initContainers", CopyLimits);
  DefaultPodSpec(spec);
}

}  // namespace berth::sandbox
