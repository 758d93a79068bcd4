#include "sandbox/api_server/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace berth::sandbox {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsWordCharacter(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

constexpr std::string_view kSubdomainRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabelRule =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kLabelValueRule =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kQualifiedNameRule =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

bool IsQualifiedWord(std::string_view word) {
  if (word.empty() || word.size() > 63 || !IsWordCharacter(word.front()) || !IsWordCharacter(word.back()))
    return false;
  return std::ranges::all_of(word,
                             [](char c) { return IsWordCharacter(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsQualifiedName(std::string_view name) {
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return IsQualifiedWord(name);
  return IsDnsSubdomain(name.substr(0, slash)) && IsQualifiedWord(name.substr(slash + 1));
}

std::string Quoted(std::string_view text) { return json::serialize(json::value(text)); }

using Causes = std::vector<ErrorCause>;

void ValidateMetadata(const ResourceType& type, const json::object& document, Causes& causes) {
  const auto name = FindString(document, "metadata.name");
  if (type.group == "rbac.authorization.k8s.io") {
    if (name == "." || name == ".." || name.find_first_of("/%") != std::string_view::npos) {
      causes.push_back(InvalidValue("metadata.name", Quoted(name), "may not contain '/' or '%'"));
    }
  } else if (type.plural == "namespaces" || type.plural == "services") {
    if (!IsDnsLabel(name)) causes.push_back(InvalidValue("metadata.name", Quoted(name), kLabelRule));
  } else if (!IsDnsSubdomain(name)) {
    causes.push_back(InvalidValue("metadata.name", Quoted(name), kSubdomainRule));
  }
  const json::object* labels = FindObject(document, "metadata.labels");
  for (const auto& entry : labels != nullptr ? *labels : json::object()) {
    if (!IsQualifiedName(entry.key())) {
      causes.push_back(InvalidValue("metadata.labels", Quoted(entry.key()), kQualifiedNameRule));
    }
    const auto* value = entry.value().if_string();
    if (value != nullptr && !value->empty() && !IsQualifiedWord(*value)) {
      causes.push_back(InvalidValue("metadata.labels", Quoted(*value), kLabelValueRule));
    }
  }
}

void ValidateContainers(const json::object& spec, std::string_view list, Causes& causes,
                        std::set<std::string>& names) {
  const json::array* containers = FindArray(spec, list);
  if (containers == nullptr) return;
  for (std::size_t i = 0; i < containers->size(); ++i) {
    if (!(*containers)[i].is_object()) continue;
    const auto& container = (*containers)[i].get_object();
    const std::string path = fmt::format("spec.{}[{}]", list, i);
    const auto name = FindString(container, "name");
    if (name.empty()) {
      causes.push_back(Required(path + ".name"));
    } else if (!IsDnsLabel(name)) {
      causes.push_back(InvalidValue(path + ".name", Quoted(name), kLabelRule));
    } else if (!names.emplace(name).second) {
      causes.push_back(
          {"FieldValueDuplicate", fmt::format("Duplicate value: {}", Quoted(name)), path + ".name"});
    }
    if (FindString(container, "image").empty()) causes.push_back(Required(path + ".image"));
    for (const std::string_view which : {"requests", "limits"}) {
      const json::object* amounts = FindObject(container, fmt::format("resources.{}", which));
      for (const auto& entry : amounts != nullptr ? *amounts : json::object()) {
        if (entry.value().is_string() && std::string_view(entry.value().get_string()).starts_with('-')) {
          causes.push_back(
              InvalidValue(fmt::format("{}.resources.{}[{}]", path, which, std::string_view(entry.key())),
                           Quoted(entry.value().get_string()), "must be greater than or equal to 0"));
        }
      }
    }
  }
}

void ValidateTolerations(const json::object& spec, Causes& causes) {
  const json::array* tolerations = FindArray(spec, "tolerations");
  for (std::size_t i = 0; tolerations != nullptr && i < tolerations->size(); ++i) {
    if (!(*tolerations)[i].is_object()) continue;
    const auto& toleration = (*tolerations)[i].get_object();
    const std::string path = fmt::format("spec.tolerations[{}]", i);
    const auto op = FindString(toleration, "operator");
    const auto effect = FindString(toleration, "effect");
    if (FindString(toleration, "key").empty() && op != "Exists") {
      causes.push_back(
          InvalidValue(path + ".operator", Quoted(op),
                       "operator must be Exists when `key` is empty, which means \"match all values and "
                       "all keys\""));
    }
    if (!op.empty() && op != "Exists" && op != "Equal" && op != "Lt" && op != "Gt") {
      causes.push_back(NotSupported(path + ".operator", op, "\"Equal\", \"Exists\""));
    }
    if (!effect.empty() && effect != "NoSchedule" && effect != "PreferNoSchedule" && effect != "NoExecute") {
      causes.push_back(
          NotSupported(path + ".effect", effect, "\"NoExecute\", \"NoSchedule\", \"PreferNoSchedule\""));
    }
  }
}

void ValidatePod(const json::object& pod, Causes& causes) {
  const json::object* spec = FindObject(pod, "spec");
  const json::array* containers = spec != nullptr ? FindArray(*spec, "containers") : nullptr;
  if (containers == nullptr || containers->empty()) {
    causes.push_back(Required("spec.containers"));
    return;
  }
  std::set<std::string> names;
  ValidateContainers(*spec, "initContainers", causes, names);
  ValidateContainers(*spec, "containers", causes, names);
  ValidateTolerations(*spec, causes);
  const auto restart = FindString(*spec, "restartPolicy");
  if (restart != "Always" && restart != "OnFailure" && restart != "Never") {
    causes.push_back(NotSupported("spec.restartPolicy", restart, "\"Always\", \"OnFailure\", \"Never\""));
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

}  // namespace

bool IsDnsLabel(std::string_view name) {
  if (name.empty() || name.size() > 63 || !IsLowerOrDigit(name.front()) || !IsLowerOrDigit(name.back()))
    return false;
  return std::ranges::all_of(name, [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (;;) {
    const auto dot = name.find('.');
    const auto part = name.substr(0, dot);
    if (part.empty() || !IsLowerOrDigit(part.front()) || !IsLowerOrDigit(part.back())) return false;
    if (!std::ranges::all_of(part, [](char c) { return IsLowerOrDigit(c) || c == '-'; })) return false;
    if (dot == std::string_view::npos) return true;
    name.remove_prefix(dot + 1);
  }
}

ApiResult<> Validate(const ResourceType& type, const json::object& document) {
  Causes causes;
  ValidateMetadata(type, document, causes);
  if (&type == &Known().pods) ValidatePod(document, causes);
  if (&type == &Known().leases) ValidateLease(document, causes);
  if (&type == &Known().priority_classes) ValidatePriorityClass(document, causes);
  if (causes.empty()) return {};
  return InvalidObject(type.group, type.kind, FindString(document, "metadata.name"), std::move(causes));
}

namespace {

// Every element of `before`, in any order.
bool ContainsAll(const json::array* after, const json::array* before) {
  if (before == nullptr) return true;
  return std::ranges::all_of(*before, [&](const json::value& value) {
    return after != nullptr && std::ranges::find(*after, value) != after->end();
  });
}

void CopyMember(const json::object& from, json::object& to, std::string_view key) {
  if (const json::value* value = Find(from, key))
    to[key] = *value;
  else
    to.erase(key);
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

}  // namespace

ApiResult<> ValidatePodUpdate(const json::object& before, const json::object& after) {
  const json::object empty;
  const json::object& old_spec = FindObject(before, "spec") != nullptr ? *FindObject(before, "spec") : empty;
  const json::object& new_spec = FindObject(after, "spec") != nullptr ? *FindObject(after, "spec") : empty;
  // What may change is set back; then nothing may differ.
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
  if (frozen == old_spec) return {};
  return InvalidObject("", "Pod", FindString(before, "metadata.name"),
                       {FieldForbidden("spec",
                                       "pod updates may not change fields other than "
                                       "`spec.containers[*].image`,`spec.initContainers[*].image`,"
                                       "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
                                       "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it "
                                       "to be set to 1 if it was previously negative)")});
}

}  // namespace berth::sandbox
