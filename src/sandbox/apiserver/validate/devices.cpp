// Claims, templates, classes and taint rules; slices are in device_slices.cpp.
#include "sandbox/apiserver/validate/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kubernetes/cel/device_expression.hpp"
#include "sandbox/apiserver/validate/device_parts.hpp"
#include "sandbox/apiserver/validate/elements.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kRequestsMax = 32;  // also results, constraints, configurations, selectors
constexpr std::size_t kAlternativesMax = 8;
constexpr std::size_t kConsumersMax = 256;
constexpr std::size_t kExpressionMax = 10 * 1024;
constexpr std::size_t kParametersMax = 10 * 1024;

constexpr std::string_view kRequestReference =
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

// `compile`: the expression is new.
void CheckSelectors(const json::object& parent, const std::string& path, bool compile, Causes& causes) {
  if (!WithinSize(parent, "selectors", path, kRequestsMax, causes)) return;
  ForEachElement(parent, "selectors", path, [&](const json::object& selector, const std::string& at) {
    if (FindObject(selector, "cel") == nullptr) return causes.push_back(Required(at + ".cel"));
    const auto expression = FindString(selector, "cel.expression");
    const std::string field = at + ".cel.expression";
    if (expression.size() > kExpressionMax) return causes.push_back(TooLong(field, kExpressionMax));
    if (!compile) return;
    const auto compiled = cel::DeviceExpression::Compile(expression);
    if (!compiled) causes.push_back(InvalidValue(field, GoQuote(expression), compiled.error().message));
  });
}

void CheckOpaque(const json::object& parent, const std::string& path, Causes& causes) {
  const json::object* opaque = FindObject(parent, "opaque");
  if (opaque == nullptr) return causes.push_back(Required(path + ".opaque"));
  CheckDriver(path + ".opaque.driver", FindString(*opaque, "driver"), causes);
  const std::string field = path + ".opaque.parameters";
  const json::value* parameters = Find(*opaque, "parameters");
  if (parameters == nullptr)
    causes.push_back(Required(field));
  else if (!parameters->is_object())
    causes.push_back(InvalidValue(field, "\"<value omitted>\"", "must be a valid JSON object"));
  else if (json::serialize(*parameters).size() > kParametersMax)
    causes.push_back(TooLong(field, kParametersMax));
}

void CheckDeviceTolerations(const json::object& parent, const std::string& path, Causes& causes) {
  ForEachElement(parent, "tolerations", path, [&](const json::object& toleration, const std::string& at) {
    const auto key = FindString(toleration, "key");
    const auto op = FindString(toleration, "operator");
    const auto value = FindString(toleration, "value");
    const auto effect = FindString(toleration, "effect");
    if (!key.empty()) CheckQualifiedName(at + ".key", key, causes);
    if (op == "Equal") {
      CheckLabelValue(at + ".value", value, causes);
    } else if (op != "Exists") {
      causes.push_back(NotSupported(at + ".operator", op, R"("Equal", "Exists")"));
    } else if (!value.empty()) {
      causes.push_back(InvalidValue(at + ".value", GoQuote(value), "must be empty for operator `Exists`"));
    }
    if (!effect.empty() && !IsDeviceTaintEffect(effect))
      causes.push_back(NotSupported(at + ".effect", effect, kDeviceTaintEffects));
  });
}

// --- claims and templates ---

// The names of the requests of a claim, with the names of their alternatives.
using RequestNames = std::map<std::string, std::set<std::string>, std::less<>>;

RequestNames NamesOfRequests(const json::object& devices) {
  RequestNames names;
  ForEachElement(devices, "requests", "", [&](const json::object& request, const std::string&) {
    auto& alternatives = names[std::string(FindString(request, "name"))];
    ForEachElement(request, "firstAvailable", "", [&](const json::object& alternative, const std::string&) {
      alternatives.emplace(FindString(alternative, "name"));
    });
  });
  return names;
}

void CheckReference(const std::string& field, std::string_view name, const RequestNames& names,
                    Causes& causes) {
  const auto slash = name.find('/');
  const auto wrong = [&] { causes.push_back(InvalidValue(field, GoQuote(name), kRequestReference)); };
  if (slash != std::string_view::npos && name.find('/', slash + 1) != std::string_view::npos) return wrong();
  CheckLabel(field, name.substr(0, slash), causes);
  if (slash != std::string_view::npos) CheckLabel(field, name.substr(slash + 1), causes);
  const auto request = names.find(name.substr(0, slash));
  if (request == names.end() ||
      (slash != std::string_view::npos && !request->second.contains(std::string(name.substr(slash + 1)))))
    wrong();
}

void CheckReferences(const json::object& parent, const std::string& path, const RequestNames& names,
                     Causes& causes) {
  if (!WithinSize(parent, "requests", path, kRequestsMax, causes)) return;
  std::set<std::string> seen;
  ForEachText(parent, "requests", path, [&](std::string_view name, const std::string& field) {
    CheckReference(field, name, names, causes);
    if (!seen.emplace(name).second) causes.push_back(Duplicate(field, name));
  });
}

// `request`: exactly, or one of firstAvailable.
void CheckDeviceRequest(const json::object& request, const std::string& path, Causes& causes) {
  const auto class_name = FindString(request, "deviceClassName");
  if (class_name.empty())
    causes.push_back(Required(path + ".deviceClassName"));
  else
    CheckSubdomain(path + ".deviceClassName", class_name, causes);
  CheckSelectors(request, path, true, causes);
  const auto mode = FindString(request, "allocationMode");
  const json::value* value = Find(request, "count");
  const std::int64_t count = value != nullptr && value->is_int64() ? value->get_int64() : 0;
  if (mode == "All" && count != 0) {
    causes.push_back(InvalidValue(path + ".count", fmt::to_string(count),
                                  "must not be specified when allocationMode is 'All'"));
  } else if (mode == "ExactCount" && count <= 0) {
    causes.push_back(InvalidValue(path + ".count", fmt::to_string(count), "must be greater than zero"));
  } else if (mode != "All" && mode != "ExactCount") {
    causes.push_back(NotSupported(path + ".allocationMode", mode, R"("All", "ExactCount")"));
  }
  CheckDeviceTolerations(request, path, causes);
}

void CheckRequest(const json::object& request, const std::string& path, Causes& causes) {
  CheckLabel(path + ".name", FindString(request, "name"), causes);
  const json::object* exactly = FindObject(request, "exactly");
  const bool alternatives = SizeOf(request, "firstAvailable") > 0;
  constexpr std::string_view kOneOf = "exactly one of `exactly` or `firstAvailable` is required";
  if (exactly == nullptr && !alternatives) return causes.push_back(Required(path, kOneOf));
  if (exactly != nullptr && alternatives) {
    return causes.push_back(
        InvalidValue(path, "null", fmt::format("{}, but multiple fields are set", kOneOf)));
  }
  if (exactly != nullptr) return CheckDeviceRequest(*exactly, path + ".exactly", causes);
  if (!WithinSize(request, "firstAvailable", path, kAlternativesMax, causes)) return;
  std::set<std::string> names;
  ForEachElement(request, "firstAvailable", path,
                 [&](const json::object& alternative, const std::string& at) {
                   const auto name = FindString(alternative, "name");
                   CheckLabel(at + ".name", name, causes);
                   CheckDeviceRequest(alternative, at, causes);
                   if (!names.emplace(name).second) causes.push_back(DuplicateElement(at, alternative));
                 });
}

void CheckConstraint(const json::object& constraint, const std::string& path, const RequestNames& names,
                     Causes& causes) {
  CheckReferences(constraint, path, names, causes);
  for (const std::string_view key : {"matchAttribute", "distinctAttribute"}) {
    if (Find(constraint, key) == nullptr) continue;
    return CheckQualifiedProperty(fmt::format("{}.{}", path, key), FindString(constraint, key), causes);
  }
  causes.push_back(Required(path,
                            "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but "
                            "multiple fields are set"));
}

// `spec`: of a claim. `path`: "spec", or "spec.spec" in a template.
void CheckClaimSpec(const json::object& spec, const std::string& path, Causes& causes) {
  const json::object empty;
  const json::object* found = FindObject(spec, "devices");
  const json::object& devices = found != nullptr ? *found : empty;
  const std::string here = path + ".devices";
  const RequestNames names = NamesOfRequests(devices);
  if (WithinSize(devices, "requests", here, kRequestsMax, causes)) {
    std::set<std::string> seen;
    ForEachElement(devices, "requests", here, [&](const json::object& request, const std::string& at) {
      CheckRequest(request, at, causes);
      const auto name = FindString(request, "name");
      if (!seen.emplace(name).second) causes.push_back(DuplicateElement(at, request));
    });
  }
  if (WithinSize(devices, "constraints", here, kRequestsMax, causes)) {
    ForEachElement(devices, "constraints", here, [&](const json::object& constraint, const std::string& at) {
      CheckConstraint(constraint, at, names, causes);
    });
  }
  if (WithinSize(devices, "config", here, kRequestsMax, causes)) {
    ForEachElement(devices, "config", here, [&](const json::object& config, const std::string& at) {
      CheckReferences(config, at, names, causes);
      CheckOpaque(config, at, causes);
    });
  }
}

// --- classes and taint rules ---

void CheckDeviceClass(const json::object& spec, const json::object* before, Causes& causes) {
  const json::value* selectors = Find(spec, "selectors");
  const json::value* stored = before != nullptr ? FindPath(*before, "spec.selectors") : nullptr;
  CheckSelectors(spec, "spec", stored == nullptr || selectors == nullptr || *selectors != *stored, causes);
  if (WithinSize(spec, "config", "spec", kRequestsMax, causes)) {
    ForEachElement(spec, "config", "spec", [&](const json::object& config, const std::string& at) {
      CheckOpaque(config, at, causes);
    });
  }
  const json::value* name = Find(spec, "extendedResourceName");
  if (name == nullptr || !name->is_string()) return;
  const std::string_view text = name->get_string();
  const auto wrong = [&](std::string_view why) {
    causes.push_back(InvalidValue("spec.extendedResourceName", GoQuote(text), why));
  };
  if (text.find('/') == std::string_view::npos)
    wrong("a name must be a domain-prefixed path, such as 'example.com/my-prop'");
  else if (text.find("kubernetes.io/") != std::string_view::npos)
    wrong("must not have \"kubernetes.io/\" domain");
  if (text.starts_with("requests.")) wrong("must not have \"requests.\" prefix");
  // It must be the name of a quota, too.
  Causes quota;
  CheckQualifiedName("spec.extendedResourceName", fmt::format("requests.{}", text), quota);
  for (const auto& cause : quota) wrong(cause.message.substr(cause.message.find("\": ") + 3));
}

void CheckTaintRule(const json::object& spec, Causes& causes) {
  if (const json::object* selector = FindObject(spec, "deviceSelector")) {
    const auto present = [&](std::string_view key) { return Find(*selector, key) != nullptr; };
    if (present("driver")) CheckDriver("spec.deviceSelector.driver", FindString(*selector, "driver"), causes);
    if (present("pool")) CheckPool("spec.deviceSelector.pool", FindString(*selector, "pool"), causes);
    if (present("device")) CheckLabel("spec.deviceSelector.device", FindString(*selector, "device"), causes);
  }
  const json::object empty;
  const json::object* taint = FindObject(spec, "taint");
  CheckDeviceTaint(taint != nullptr ? *taint : empty, "spec.taint", causes);
}

// --- the status of claims ---

// Driver, pool, device and share.
using AllocatedDevice = std::tuple<std::string, std::string, std::string, std::string>;

AllocatedDevice IdentityOf(const json::object& device) {
  return {std::string(FindString(device, "driver")), std::string(FindString(device, "pool")),
          std::string(FindString(device, "device")), std::string(FindString(device, "shareID"))};
}

void CheckAllocation(const json::object& claim, const json::object& allocation, Causes& causes) {
  const json::object empty;
  const json::object* requested = FindObject(claim, "spec.devices");
  const RequestNames names = NamesOfRequests(requested != nullptr ? *requested : empty);
  const json::object* found = FindObject(allocation, "devices");
  const json::object& devices = found != nullptr ? *found : empty;
  const std::string path = "status.allocation.devices";
  if (WithinSize(devices, "results", path, kRequestsMax, causes)) {
    ForEachElement(devices, "results", path, [&](const json::object& result, const std::string& at) {
      CheckReference(at + ".request", FindString(result, "request"), names, causes);
      CheckDriver(at + ".driver", FindString(result, "driver"), causes);
      CheckPool(at + ".pool", FindString(result, "pool"), causes);
      CheckLabel(at + ".device", FindString(result, "device"), causes);
      CheckBindingConditions(result, at, causes);
    });
  }
  if (WithinSize(devices, "config", path, 2 * kRequestsMax, causes)) {
    ForEachElement(devices, "config", path, [&](const json::object& config, const std::string& at) {
      const auto source = FindString(config, "source");
      if (source.empty())
        causes.push_back(Required(at + ".source"));
      else if (source != "FromClass" && source != "FromClaim")
        causes.push_back(NotSupported(at + ".source", source, R"("FromClaim", "FromClass")"));
      CheckReferences(config, at, names, causes);
      CheckOpaque(config, at, causes);
    });
  }
}

void CheckReservations(const json::object& before, const json::object& after, bool allocated,
                       Causes& causes) {
  const json::object* status = FindObject(after, "status");
  if (status == nullptr || SizeOf(*status, "reservedFor") == 0) return;
  if (!WithinSize(*status, "reservedFor", "status", kConsumersMax, causes)) return;
  std::set<std::string> uids;
  ForEachElement(*status, "reservedFor", "status", [&](const json::object& consumer, const std::string& at) {
    for (const std::string_view key : {"resource", "name", "uid"}) {
      if (FindString(consumer, key).empty()) causes.push_back(Required(fmt::format("{}.{}", at, key)));
    }
    const auto uid = FindString(consumer, "uid");
    if (!uids.emplace(uid).second) causes.push_back(DuplicateElement(at, consumer));
  });
  if (!allocated) {
    return causes.push_back(
        FieldForbidden("status.reservedFor", "may not be specified when `allocated` is not set"));
  }
  if (FindString(before, "metadata.deletionTimestamp").empty()) return;
  const json::array* old_list = FindArray(before, "status.reservedFor");
  const bool added =
      std::ranges::any_of(*FindArray(*status, "reservedFor"), [&](const json::value& consumer) {
        return old_list == nullptr || std::ranges::find(*old_list, consumer) == old_list->end();
      });
  if (added) {
    causes.push_back(FieldForbidden("status.reservedFor",
                                    "new entries may not be added while `deallocationRequested` or "
                                    "`deletionTimestamp` are set"));
  }
}

}  // namespace

void ValidateDevices(const ResourceType& type, const json::object& document, const json::object* before,
                     Causes& causes) {
  const json::object empty;
  const json::object* found = FindObject(document, "spec");
  const json::object& spec = found != nullptr ? *found : empty;
  if (type.plural == "deviceclasses") return CheckDeviceClass(spec, before, causes);
  if (type.plural == "devicetaintrules") return CheckTaintRule(spec, causes);
  if (type.plural == "resourceslices") return ValidateSlice(spec, causes);
  if (before != nullptr) return;
  if (type.plural == "resourceclaims") return CheckClaimSpec(spec, "spec", causes);
  const json::object* claim = FindObject(spec, "spec");
  CheckLabels("spec.metadata.labels", FindObject(spec, "metadata.labels"), causes);
  CheckClaimSpec(claim != nullptr ? *claim : empty, "spec.spec", causes);
}

void ValidateClaimStatus(const json::object& before, const json::object& after, Causes& causes) {
  const json::object* allocation = FindObject(after, "status.allocation");
  const json::object* stored = FindObject(before, "status.allocation");
  CheckReservations(before, after, allocation != nullptr, causes);
  std::set<AllocatedDevice> devices;
  ForEachElement(after, "status.allocation.devices.results", "",
                 [&](const json::object& result, const std::string&) { devices.insert(IdentityOf(result)); });
  std::set<AllocatedDevice> reported;
  ForEachElement(after, "status.devices", "", [&](const json::object& device, const std::string& at) {
    const AllocatedDevice identity = IdentityOf(device);
    if (!devices.contains(identity)) {
      const auto& [driver, pool, name, share] = identity;
      const json::object shown{{"Driver", driver}, {"Pool", pool}, {"Device", name}, {"ShareID", share}};
      causes.push_back(
          InvalidValue(at.substr(1), json::serialize(shown), "must be an allocated device in the claim"));
    }
    if (!reported.insert(identity).second) causes.push_back(DuplicateElement(at.substr(1), device));
  });
  if (allocation == nullptr) return;
  if (stored == nullptr) {
    CheckAllocation(after, *allocation, causes);
  } else if (*stored != *allocation) {
    causes.push_back(InvalidValue("status.allocation", "null", "field cannot be modified once set"));
  }
}

}  // namespace berth::sandbox
