// Validation common to all objects, and of single kinds.
#include <fmt/format.h>

#include "sandbox/apiserver/cron_schedule.hpp"
#include "sandbox/apiserver/validate/devices.hpp"
#include "sandbox/apiserver/validate/pod.hpp"
#include "sandbox/apiserver/validate/validate.hpp"
#include "sandbox/store/selector.hpp"

namespace berth::sandbox {
namespace {

void ValidateName(const ResourceType& type, std::string_view name, Causes& causes) {
  if (type.group == "rbac.authorization.k8s.io") {
    if (name == "." || name == ".." || name.find_first_of("/%") != std::string_view::npos)
      causes.push_back(InvalidValue("metadata.name", GoQuote(name), "may not contain '/' or '%'"));
  } else if (type.group.empty() && (type.plural == "namespaces" || type.plural == "services")) {
    CheckLabel("metadata.name", name, causes);
  } else {
    CheckSubdomain("metadata.name", name, causes);
  }
}

void ValidateMetadata(const ResourceType& type, const json::object& document, Causes& causes) {
  ValidateName(type, FindString(document, "metadata.name"), causes);
  CheckLabels("metadata.labels", FindObject(document, "metadata.labels"), causes);
  const json::object* annotations = FindObject(document, "metadata.annotations");
  for (const auto& entry : annotations != nullptr ? *annotations : json::object())
    CheckQualifiedName("metadata.annotations", entry.key(), causes);
  const json::array* owners = FindArray(document, "metadata.ownerReferences");
  for (std::size_t i = 0; owners != nullptr && i < owners->size(); ++i) {
    if (!(*owners)[i].is_object()) continue;
    for (const std::string_view key : {"kind", "name", "uid"}) {
      if (FindString((*owners)[i].get_object(), key).empty())
        causes.push_back(
            Required(fmt::format("metadata.ownerReferences[{}].{}", i, key), "must not be empty"));
    }
  }
  const json::array* finalizers = FindArray(document, "metadata.finalizers");
  for (std::size_t i = 0; finalizers != nullptr && i < finalizers->size(); ++i) {
    if (!(*finalizers)[i].is_string()) continue;
    const std::string_view name = (*finalizers)[i].get_string();
    if (name == "orphan" || name == "foregroundDeletion" || name == "kubernetes") continue;
    CheckQualifiedName("metadata.finalizers", name, causes);
    if (name.find('/') == std::string_view::npos) {
      causes.push_back(InvalidValue(fmt::format("metadata.finalizers[{}]", i), GoQuote(name),
                                    "name is neither a standard finalizer name nor is it fully qualified"));
    }
  }
}

void ValidateLease(const json::object& lease, Causes& causes) {
  const json::value* seconds = FindPath(lease, "spec.leaseDurationSeconds");
  if (seconds != nullptr && seconds->is_int64() && seconds->get_int64() <= 0) {
    causes.push_back(
        InvalidValue("spec.leaseDurationSeconds", json::serialize(*seconds), "must be greater than 0"));
  }
}

void ValidatePriorityClass(const json::object& document, Causes& causes) {
  const json::value* value = Find(document, "value");
  const bool system = FindString(document, "metadata.name").starts_with("system-");
  if (value != nullptr && value->is_int64() && value->get_int64() > 1'000'000'000 && !system) {
    causes.push_back(
        FieldForbidden("value", "maximum allowed value of a user defined priority is 1000000000"));
  }
}

void ValidateNode(const json::object& node, Causes& causes) {
  const json::array* taints = FindArray(node, "spec.taints");
  for (std::size_t i = 0; taints != nullptr && i < taints->size(); ++i) {
    if (!(*taints)[i].is_object()) continue;
    const json::object& taint = (*taints)[i].get_object();
    // kube-apiserver's path, although the field is spec.taints.
    const std::string path = fmt::format("metadata.taints[{}]", i);
    CheckQualifiedName(path + ".key", FindString(taint, "key"), causes);
    CheckLabelValue(path + ".value", FindString(taint, "value"), causes);
    const auto effect = FindString(taint, "effect");
    if (effect.empty())
      causes.push_back(Required(path + ".effect"));
    else if (!IsTaintEffect(effect)) {
      causes.push_back(
          NotSupported(path + ".effect", effect, "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""));
    }
  }
}

// The selector of a workload must match its own template.
void ValidateSelector(const json::object& spec, Causes& causes) {
  const json::object* selector = FindObject(spec, "selector");
  if (selector == nullptr) {
    causes.push_back(Required("spec.selector"));
  } else if (selector->empty()) {
    causes.push_back(InvalidValue("spec.selector", "{}", "empty selector is invalid for deployment"));
  }
  const json::object* labels = FindObject(spec, "template.metadata.labels");
  Object pod;
  for (const auto& entry : labels != nullptr ? *labels : json::object()) {
    if (entry.value().is_string())
      pod.labels.emplace_back(entry.key(), std::string(entry.value().get_string()));
  }
  const auto parsed = selector != nullptr ? LabelSelector::FromObject(*selector) : LabelSelector();
  if (selector == nullptr || (parsed && !parsed->empty() && !parsed->Matches(pod))) {
    causes.push_back(InvalidValue("spec.template.metadata.labels",
                                  labels != nullptr ? json::serialize(*labels) : "null",
                                  "`selector` does not match template `labels`"));
  }
}

void ValidateWorkload(const ResourceType& type, const json::object& document, Causes& causes) {
  const json::object* spec = FindObject(document, "spec");
  if (spec == nullptr) return;
  const json::value* replicas = Find(*spec, "replicas");
  const bool job = type.group == "batch";
  if (replicas != nullptr && replicas->is_int64() && replicas->get_int64() < 0) {
    causes.push_back(
        InvalidValue("spec.replicas", json::serialize(*replicas), "must be greater than or equal to 0"));
  }
  if (type.group == "apps") ValidateSelector(*spec, causes);
  const std::string path = type.plural == "cronjobs" ? "spec.jobTemplate.spec.template" : "spec.template";
  const json::object* pods = FindObject(document, path + ".spec");
  if (pods == nullptr) return;
  ValidatePodSpec(*pods, path + ".spec", causes);
  const auto restart = FindString(*pods, "restartPolicy");
  if (job && restart == "Always") {
    causes.push_back({"FieldValueRequired", "Required value: valid values: \"OnFailure\", \"Never\"",
                      path + ".spec.restartPolicy"});
  } else if (!job && restart != "Always" && !restart.empty()) {
    causes.push_back(NotSupported(path + ".spec.restartPolicy", restart, "\"Always\""));
  }
}

// The names of its jobs have eleven characters more, and are labels of pods.
void ValidateCronJobName(std::string_view name, Causes& causes) {
  if (name.size() > 52)
    causes.push_back(InvalidValue("metadata.name", GoQuote(name), "must be no more than 52 characters"));
}

// With a podFailurePolicy, pods that are being deleted have not failed yet.
void ValidateReplacementPolicy(const json::object& document, const std::string& path, Causes& causes) {
  const auto policy = FindString(document, path + ".podReplacementPolicy");
  if (policy.empty() || policy == "Failed") return;
  if (FindObject(document, path + ".podFailurePolicy") != nullptr)
    causes.push_back(NotSupported(path + ".podReplacementPolicy", policy, "\"Failed\""));
  else if (policy != "TerminatingOrFailed")
    causes.push_back(
        NotSupported(path + ".podReplacementPolicy", policy, "\"Failed\", \"TerminatingOrFailed\""));
}

void ValidateSchedule(const json::object& document, const json::object* before, Causes& causes) {
  constexpr std::string_view kPath = "spec.schedule";
  const auto schedule = FindString(document, kPath);
  if (schedule.empty()) return causes.push_back(Required(std::string(kPath)));
  const auto invalid = [&](std::string_view why) {
    causes.push_back(InvalidValue(std::string(kPath), GoQuote(schedule), why));
  };
  const auto has_zone = [](std::string_view text) { return text.find("TZ") != std::string_view::npos; };
  const bool starts_with_zone = schedule.starts_with("TZ=") || schedule.starts_with("CRON_TZ=");
  if (!starts_with_zone) {
    if (const auto parsed = CronSchedule::Parse(schedule); !parsed) invalid(parsed.error().message);
  }
  // Schedules from the time before zones were forbidden can be updated.
  if (has_zone(schedule) && (before == nullptr || !has_zone(FindString(*before, kPath))))
    invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
}

}  // namespace

ApiResult<> Validate(const ResourceType& type, const json::object& document, const json::object* before) {
  Causes causes;
  ValidateMetadata(type, document, causes);
  if (&type == &Known().pods) {
    const json::object* spec = FindObject(document, "spec");
    ValidatePodSpec(spec != nullptr ? *spec : json::object(), "spec", causes);
  }
  if (&type == &Known().nodes) ValidateNode(document, causes);
  if (&type == &Known().leases) ValidateLease(document, causes);
  if (&type == &Known().priority_classes) ValidatePriorityClass(document, causes);
  if (type.group.empty() && (type.plural == "configmaps" || type.plural == "secrets")) {
    CheckConfigKeys("data", FindObject(document, "data"), causes);
    CheckConfigKeys("binaryData", FindObject(document, "binaryData"), causes);
  }
  if (type.group == "apps" || type.group == "batch" || type.plural == "replicationcontrollers")
    ValidateWorkload(type, document, causes);
  if (type.group == "batch") {
    const bool scheduled = type.plural == "cronjobs";
    if (scheduled) ValidateSchedule(document, before, causes);
    if (scheduled && before == nullptr) ValidateCronJobName(FindString(document, "metadata.name"), causes);
    ValidateReplacementPolicy(document, scheduled ? "spec.jobTemplate.spec" : "spec", causes);
  }
  if (type.group == "resource.k8s.io") ValidateDevices(type, document, before, causes);
  if (causes.empty()) return {};
  return InvalidObject(type.group, type.kind, FindString(document, "metadata.name"), std::move(causes));
}

}  // namespace berth::sandbox
