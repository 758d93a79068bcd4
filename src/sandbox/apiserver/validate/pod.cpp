// Validation of pods and pod templates.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/validate/elements.hpp"
#include "sandbox/apiserver/validate/pod.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kEffects = "\"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"";

bool IsContainerResource(std::string_view name) {
  return name == "cpu" || name == "memory" || name == "ephemeral-storage" || name.starts_with("hugepages-");
}

void CheckAmounts(const json::object& container, const std::string& path, Causes& causes) {
  for (const std::string_view which : {"limits", "requests"}) {
    const json::object* amounts = FindObject(container, fmt::format("resources.{}", which));
    for (const auto& entry : amounts != nullptr ? *amounts : json::object()) {
      const std::string_view name = entry.key();
      const std::string field = fmt::format("{}.resources.{}[{}]", path, which, name);
      if (!IsQualifiedName(name)) {
        CheckQualifiedName(field, name, causes);
      } else if (name.find('/') == std::string_view::npos && !IsContainerResource(name)) {
        causes.push_back(
            InvalidValue(field, GoQuote(name), "must be a standard resource type or fully qualified"));
        causes.push_back(InvalidValue(field, GoQuote(name), "must be a standard resource for containers"));
      }
      const auto* text = entry.value().if_string();
      if (text != nullptr && std::string_view(*text).starts_with('-'))
        causes.push_back(InvalidValue(field, GoQuote(*text), "must be greater than or equal to 0"));
    }
  }
}

void CheckRequestsWithinLimits(const json::object& container, const std::string& path, Causes& causes) {
  const json::object* requests = FindObject(container, "resources.requests");
  const json::object* limits = FindObject(container, "resources.limits");
  if (requests == nullptr || limits == nullptr) return;
  for (const auto& entry : *requests) {
    const json::value* limit = Find(*limits, entry.key());
    if (limit == nullptr || !limit->is_string() || !entry.value().is_string()) continue;
    const auto requested = api::Quantity::Parse(entry.value().get_string());
    const auto most = api::Quantity::Parse(limit->get_string());
    if (!requested || !most || requested->Compare(*most) <= 0) continue;
    causes.push_back(
        InvalidValue(path + ".resources.requests", GoQuote(entry.value().get_string()),
                     fmt::format("must be less than or equal to {} limit of {}",
                                 std::string_view(entry.key()), std::string_view(limit->get_string()))));
  }
}

void CheckPorts(const json::object& container, const std::string& path, Causes& causes) {
  ForEachElement(container, "ports", path, [&](const json::object& port, const std::string& at) {
    const json::value* number = Find(port, "containerPort");
    if (number == nullptr || !number->is_int64() || number->get_int64() == 0) {
      causes.push_back(Required(at + ".containerPort"));
    } else if (number->get_int64() < 1 || number->get_int64() > 65535) {
      causes.push_back(InvalidValue(at + ".containerPort", json::serialize(*number),
                                    "must be between 1 and 65535, inclusive"));
    }
  });
}

// The claims that a container uses, with the names of spec.resourceClaims.
void CheckContainerClaims(const json::object& container, const std::string& path,
                          const std::set<std::string>& claims, Causes& causes) {
  std::set<std::string> used;
  ForEachElement(container, "resources.claims", path, [&](const json::object& claim, const std::string& at) {
    const std::string name(FindString(claim, "name"));
    if (name.empty()) return causes.push_back(Required(at));
    const auto request = FindString(claim, "request");
    const std::string key = request.empty() ? name : fmt::format("{}/{}", name, request);
    if (!request.empty()) CheckLabel(at + ".request", request, causes);
    if (used.contains(name) || !used.insert(key).second)
      causes.push_back({"FieldValueDuplicate", fmt::format("Duplicate value: {}", GoQuote(key)), at});
    if (claims.contains(name)) return;
    causes.push_back(
        {"FieldValueNotFound",
         fmt::format("Not found: {}: must be one of the names in pod.spec.resourceClaims{}", GoQuote(name),
                     claims.empty() ? " which is empty" : fmt::format(": {}", fmt::join(claims, ", "))),
         at});
  });
}

// A claim as Go prints its struct in an error.
std::string PodClaimText(const json::object& claim) {
  json::object text{{"Name", FindString(claim, "name")},
                    {"ResourceClaimName", nullptr},
                    {"ResourceClaimTemplateName", nullptr}};
  if (const json::value* name = Find(claim, "resourceClaimName")) text["ResourceClaimName"] = *name;
  if (const json::value* name = Find(claim, "resourceClaimTemplateName"))
    text["ResourceClaimTemplateName"] = *name;
  return json::serialize(text);
}

// Returns the names of the claims.
std::set<std::string> CheckPodClaims(const json::object& spec, const std::string& path, Causes& causes) {
  std::set<std::string> names;
  ForEachElement(spec, "resourceClaims", path, [&](const json::object& claim, const std::string& at) {
    const auto name = FindString(claim, "name");
    if (name.empty())
      causes.push_back(Required(at + ".name"));
    else if (!names.emplace(name).second)
      causes.push_back(
          {"FieldValueDuplicate", fmt::format("Duplicate value: {}", GoQuote(name)), at + ".name"});
    else
      CheckLabel(at + ".name", name, causes);
    const bool own = Find(claim, "resourceClaimName") != nullptr;
    const bool from_template = Find(claim, "resourceClaimTemplateName") != nullptr;
    if (own && from_template) {
      causes.push_back(
          InvalidValue(at, PodClaimText(claim),
                       "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"));
    } else if (!own && !from_template) {
      causes.push_back(InvalidValue(at, PodClaimText(claim),
                                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
    }
    for (const std::string_view key : {"resourceClaimName", "resourceClaimTemplateName"}) {
      if (Find(claim, key) != nullptr)
        CheckSubdomain(fmt::format("{}.{}", at, key), FindString(claim, key), causes);
    }
  });
  return names;
}

void CheckContainers(const json::object& spec, std::string_view list, const std::string& path,
                     const std::set<std::string>& claims, Causes& causes, std::set<std::string>& names) {
  ForEachElement(spec, list, path, [&](const json::object& container, const std::string& at) {
    const auto name = FindString(container, "name");
    if (name.empty()) {
      causes.push_back(Required(at + ".name"));
    } else if (!IsDnsLabel(name)) {
      CheckLabel(at + ".name", name, causes);
    } else if (!names.emplace(name).second) {
      causes.push_back(
          {"FieldValueDuplicate", fmt::format("Duplicate value: {}", GoQuote(name)), at + ".name"});
    }
    if (FindString(container, "image").empty()) causes.push_back(Required(at + ".image"));
    CheckPorts(container, at, causes);
    CheckAmounts(container, at, causes);
    CheckRequestsWithinLimits(container, at, causes);
    CheckContainerClaims(container, at, claims, causes);
  });
}

void CheckTolerations(const json::object& spec, const std::string& path, Causes& causes) {
  ForEachElement(spec, "tolerations", path, [&](const json::object& toleration, const std::string& at) {
    const auto op = FindString(toleration, "operator");
    const auto effect = FindString(toleration, "effect");
    const auto key = FindString(toleration, "key");
    if (!key.empty()) CheckQualifiedName(at + ".key", key, causes);
    if (key.empty() && op != "Exists") {
      causes.push_back(InvalidValue(
          at + ".operator", GoQuote(op),
          "operator must be Exists when `key` is empty, which means \"match all values and all keys\""));
    }
    if (!op.empty() && op != "Exists" && op != "Equal" && op != "Lt" && op != "Gt")
      causes.push_back(NotSupported(at + ".operator", op, "\"Equal\", \"Exists\""));
    if (op == "Exists" && !FindString(toleration, "value").empty()) {
      causes.push_back(InvalidValue(at + ".operator", GoQuote(FindString(toleration, "value")),
                                    "value must be empty when `operator` is 'Exists'"));
    }
    if (!effect.empty() && !IsTaintEffect(effect))
      causes.push_back(NotSupported(at + ".effect", effect, kEffects));
    if (toleration.contains("tolerationSeconds") && effect != "NoExecute") {
      causes.push_back(InvalidValue(at + ".effect", GoQuote(effect),
                                    "effect must be 'NoExecute' when `tolerationSeconds` is set"));
    }
  });
}

void CheckSpreading(const json::object& spec, const std::string& path, Causes& causes) {
  ForEachElement(
      spec, "topologySpreadConstraints", path, [&](const json::object& constraint, const std::string& at) {
        const json::value* skew = Find(constraint, "maxSkew");
        if (skew == nullptr || !skew->is_int64() || skew->get_int64() <= 0) {
          causes.push_back(InvalidValue(at + ".maxSkew", skew != nullptr ? json::serialize(*skew) : "0",
                                        "must be greater than zero"));
        }
        const auto key = FindString(constraint, "topologyKey");
        if (key.empty())
          causes.push_back(Required(at + ".topologyKey", "can not be empty"));
        else
          CheckQualifiedName(at + ".topologyKey", key, causes);
        const auto what = FindString(constraint, "whenUnsatisfiable");
        if (what != "DoNotSchedule" && what != "ScheduleAnyway") {
          causes.push_back(
              NotSupported(at + ".whenUnsatisfiable", what, "\"DoNotSchedule\", \"ScheduleAnyway\""));
        }
      });
}

}  // namespace

bool IsTaintEffect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

void ValidatePodSpec(const json::object& spec, const std::string& path, Causes& causes) {
  const json::array* containers = FindArray(spec, "containers");
  std::set<std::string> names;
  const std::set<std::string> claims = CheckPodClaims(spec, path, causes);
  CheckContainers(spec, "initContainers", path, claims, causes, names);
  if (containers == nullptr || containers->empty()) causes.push_back(Required(path + ".containers"));
  CheckContainers(spec, "containers", path, claims, causes, names);
  const auto restart = FindString(spec, "restartPolicy");
  if (restart != "Always" && restart != "OnFailure" && restart != "Never") {
    causes.push_back(NotSupported(path + ".restartPolicy", restart, "\"Always\", \"OnFailure\", \"Never\""));
  }
  CheckLabels(path + ".nodeSelector", FindObject(spec, "nodeSelector"), causes);
  CheckTolerations(spec, path, causes);
  CheckSpreading(spec, path, causes);
}

}  // namespace berth::sandbox
