// Validation of updates: immutable fields.
#include <fmt/format.h>

#include <algorithm>

#include "sandbox/apiserver/validate/devices.hpp"
#include "sandbox/apiserver/validate/names.hpp"
#include "sandbox/apiserver/validate/validate.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kImmutable = "field is immutable";

// True if `after` contains every element of `before`, in any order.
bool ContainsAll(const json::array* after, const json::array* before) {
  if (before == nullptr) return true;
  return std::ranges::all_of(*before, [&](const json::value& value) {
    return after != nullptr && std::ranges::find(*after, value) != after->end();
  });
}

void CopyImages(const json::object& from, json::object& to, std::string_view list) {
  const json::array* old = FindArray(from, list);
  json::value* changed = to.if_contains(list);
  if (old == nullptr || changed == nullptr || !changed->is_array()) return;
  auto& containers = changed->get_array();
  for (std::size_t i = 0; i < containers.size() && i < old->size(); ++i) {
    if (!containers[i].is_object() || !(*old)[i].is_object()) continue;
    CopyMember((*old)[i].get_object(), containers[i].get_object(), "image");
    CopyMember((*old)[i].get_object(), containers[i].get_object(), "imagePullPolicy");
  }
}

void CheckPodChange(const json::object& before, const json::object& after, Causes& causes) {
  const json::object empty;
  const json::object& old_spec = FindObject(before, "spec") != nullptr ? *FindObject(before, "spec") : empty;
  const json::object& new_spec = FindObject(after, "spec") != nullptr ? *FindObject(after, "spec") : empty;
  // Resets the mutable fields; then the specs must be equal.
  json::object frozen = new_spec;
  CopyImages(old_spec, frozen, "containers");
  CopyImages(old_spec, frozen, "initContainers");
  CopyMember(old_spec, frozen, "activeDeadlineSeconds");
  CopyMember(old_spec, frozen, "terminationGracePeriodSeconds");
  const json::array* gates = FindArray(old_spec, "schedulingGates");
  if (gates != nullptr && !gates->empty()) {
    CopyMember(old_spec, frozen, "nodeSelector");
    CopyMember(old_spec, frozen, "affinity");
  }
  if (ContainsAll(FindArray(new_spec, "tolerations"), FindArray(old_spec, "tolerations"))) {
    CopyMember(old_spec, frozen, "tolerations");
  }
  if (ContainsAll(gates, FindArray(new_spec, "schedulingGates")))
    CopyMember(old_spec, frozen, "schedulingGates");
  if (frozen == old_spec) return;
  causes.push_back(FieldForbidden("spec",
                                  "pod updates may not change fields other than "
                                  "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                                  "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
                                  "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it "
                                  "to be set to 1 if it was previously negative)"));
}

// An object under deletion must not get new finalizers.
void CheckFinalizers(const json::object& before, const json::object& after, Causes& causes) {
  if (FindString(before, "metadata.deletionTimestamp").empty()) return;
  const json::array* old_list = FindArray(before, "metadata.finalizers");
  const json::array* new_list = FindArray(after, "metadata.finalizers");
  std::string added;
  for (const auto& finalizer : new_list != nullptr ? *new_list : json::array()) {
    if (old_list != nullptr && std::ranges::find(*old_list, finalizer) != old_list->end()) continue;
    added += (added.empty() ? "" : ", ") + json::serialize(finalizer);
  }
  if (added.empty()) return;
  causes.push_back(FieldForbidden(
      "metadata.finalizers",
      fmt::format("no new finalizers can be added if the object is being deleted, found new finalizers "
                  "[]string{{{}}}",
                  added)));
}

bool Differ(const json::object& before, const json::object& after, std::string_view path) {
  const json::value* old_value = FindPath(before, path);
  const json::value* new_value = FindPath(after, path);
  if (old_value == nullptr || new_value == nullptr) return old_value != new_value;
  return *old_value != *new_value;
}

void CheckImmutable(const json::object& before, const json::object& after, std::string_view path,
                    Causes& causes) {
  if (!Differ(before, after, path)) return;
  const json::value* value = FindPath(after, path);
  causes.push_back(
      InvalidValue(std::string(path), value != nullptr ? json::serialize(*value) : "null", kImmutable));
}

// Config maps and secrets with immutable: true.
void CheckSealed(const json::object& before, const json::object& after, Causes& causes) {
  const json::value* sealed = Find(before, "immutable");
  if (sealed == nullptr || !sealed->is_bool() || !sealed->get_bool()) return;
  const json::value* still = Find(after, "immutable");
  constexpr std::string_view kSealed = "field is immutable when `immutable` is set";
  if (still == nullptr || !still->is_bool() || !still->get_bool())
    causes.push_back(FieldForbidden("immutable", kSealed));
  for (const std::string_view field : {"data", "binaryData"}) {
    if (Differ(before, after, field)) causes.push_back(FieldForbidden(std::string(field), kSealed));
  }
}

void CheckWorkloadChange(const ResourceType& type, const json::object& before, const json::object& after,
                         Causes& causes) {
  if (type.plural == "jobs") {
    for (const std::string_view path : {"spec.completions", "spec.selector", "spec.template"})
      CheckImmutable(before, after, path, causes);
  } else if (type.group == "apps") {
    CheckImmutable(before, after, "spec.selector", causes);
  }
}

}  // namespace

ApiResult<> ValidateChange(const ResourceType& type, Part part, const json::object& before,
                           const json::object& after) {
  Causes causes;
  CheckFinalizers(before, after, causes);
  if (part == Part::kMain) {
    if (&type == &Known().pods) CheckPodChange(before, after, causes);
    if (&type == &Known().priority_classes && Differ(before, after, "value"))
      causes.push_back(FieldForbidden("value", "may not be changed in an update."));
    if (type.group.empty() && (type.plural == "configmaps" || type.plural == "secrets"))
      CheckSealed(before, after, causes);
    if (type.group.empty() && type.plural == "secrets") CheckImmutable(before, after, "type", causes);
    if (type.plural == "storageclasses") {
      for (const std::string_view path : {"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"})
        CheckImmutable(before, after, path, causes);
    }
    if (type.group == "apps" || type.group == "batch") CheckWorkloadChange(type, before, after, causes);
    if (type.plural == "resourceclaimtemplates") CheckImmutable(before, after, "spec", causes);
    if (type.plural == "resourceclaims" && Differ(before, after, "spec"))
      causes.push_back(InvalidValue("spec", "null", kImmutable));  // kube-apiserver does not show the value
    if (type.plural == "resourceslices") {
      for (const std::string_view path : {"spec.pool.name", "spec.driver", "spec.nodeName"})
        CheckImmutable(before, after, path, causes);
    }
  }
  if (type.plural == "resourceclaims" && part == Part::kStatus) ValidateClaimStatus(before, after, causes);
  if (causes.empty()) return {};
  return InvalidObject(type.group, type.kind, FindString(after, "metadata.name"), std::move(causes));
}

}  // namespace berth::sandbox
