// Validation of ResourceSlices.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/validate/device_parts.hpp"
#include "sandbox/apiserver/validate/devices.hpp"
#include "sandbox/apiserver/validate/elements.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kDevicesMax = 128, kSpecialDevicesMax = 64;  // special: with taints, counters or lists
constexpr std::size_t kCounterSetsMax = 8, kCountersMax = 32, kConsumedSetsMax = 2;
constexpr std::size_t kPropertiesMax = 32, kDeviceTaintsMax = 16, kValueMax = 64;

void CheckAttribute(const json::object& attribute, const std::string& path, Causes& causes) {
  static constexpr std::string_view kKinds[] = {"int",  "bool",  "string",  "version",
                                                "ints", "bools", "strings", "versions"};
  std::vector<std::string> all;
  std::vector<std::string_view> specified;
  for (const std::string_view kind : kKinds) {
    all.push_back(fmt::format("`{}`", kind));
    if (Find(attribute, kind) != nullptr) specified.push_back(kind);
  }
  if (specified.empty()) {
    causes.push_back(
        InvalidValue(path, "\"\"", fmt::format("must specify one of: {}", fmt::join(all, ", "))));
  } else if (specified.size() > 1) {
    causes.push_back(InvalidValue(path, fmt::format("\"{{{}}}\"", fmt::join(specified, ", ")),
                                  fmt::format("must specify exactly one of: {}", fmt::join(all, ", "))));
  }
  const auto check_text = [&](std::string_view text, const std::string& field, bool version) {
    if (version && !IsSemanticVersion(text))
      causes.push_back(
          InvalidValue(field, GoQuote(text), "must be a string compatible with semver.org spec 2.0.0"));
    if (text.size() > kValueMax) causes.push_back(TooLong(field, kValueMax));
  };
  for (const bool version : {false, true}) {
    const std::string_view one = version ? "version" : "string";
    if (Find(attribute, one) != nullptr)
      check_text(FindString(attribute, one), fmt::format("{}.{}", path, one), version);
    ForEachText(attribute, version ? "versions" : "strings", path,
                [&](std::string_view text, const std::string& field) { check_text(text, field, version); });
  }
}

std::optional<api::Quantity> QuantityOf(const json::object& object, std::string_view key) {
  const auto text = FindString(object, key);
  if (text.empty()) return std::nullopt;
  auto quantity = api::Quantity::Parse(text);
  return quantity ? std::optional(*quantity) : std::nullopt;
}

// The values of a request policy must be at most the capacity, and the default must be one of them.
void CheckValidValues(const json::object& policy, const api::Quantity& capacity, const std::string& path,
                      Causes& causes) {
  const auto standard = QuantityOf(policy, "default");
  if (!standard) return causes.push_back(Required(path + ".default", "required when validValues is defined"));
  bool found = false;
  std::optional<api::Quantity> last;
  ForEachText(policy, "validValues", path, [&](std::string_view text, const std::string& field) {
    const auto value = api::Quantity::Parse(text);
    if (!value) return;
    if (last && last->Compare(*value) > 0)
      causes.push_back(InvalidValue(field, GoQuote(text), "values must be sorted in ascending order"));
    if (last && last->Compare(*value) == 0) causes.push_back(Duplicate(field, text));
    if (value->Compare(capacity) > 0)
      causes.push_back(
          InvalidValue(field, GoQuote(text),
                       fmt::format("option is larger than capacity value: {}", capacity.Canonical())));
    found = found || value->Compare(*standard) == 0;
    last = *value;
  });
  if (!found)
    causes.push_back(InvalidValue(path + ".validValues", GoQuote(standard->Canonical()),
                                  "default value is not valid according to the requestPolicy"));
}

void CheckValidRange(const json::object& policy, const json::object& range, const api::Quantity& capacity,
                     const std::string& path, Causes& causes) {
  const auto standard = QuantityOf(policy, "default");
  if (!standard) return causes.push_back(Required(path + ".default", "required when validRange is defined"));
  const auto min = QuantityOf(range, "min"), max = QuantityOf(range, "max"), step = QuantityOf(range, "step");
  const std::string here = path + ".validRange";
  if (!min) return causes.push_back(Required(here + ".min", "required when validRange is defined"));
  const auto wrong = [&](std::string_view field, const api::Quantity& value, std::string_view why,
                         const api::Quantity& limit) {
    causes.push_back(InvalidValue(fmt::format("{}.{}", here, field), GoQuote(value.Canonical()),
                                  fmt::format("{}: {}", why, limit.Canonical())));
  };
  if (min->Compare(capacity) > 0) wrong("min", *min, "min is larger than capacity value", capacity);
  if (standard->Compare(*min) < 0) wrong("default", *standard, "default is less than min", *min);
  if (max && min->Compare(*max) > 0) wrong("max", *min, "min is larger than max", *max);
  if (max && max->Compare(capacity) > 0) wrong("max", *max, "max is larger than capacity value", capacity);
  if (max && standard->Compare(*max) > 0) wrong("default", *standard, "default is more than max", *max);
  if (!step) return;
  // Milli precision covers whole numbers, too.
  const std::int64_t width = step->MilliValue();
  if (width <= 0) {
    return causes.push_back(
        InvalidValue(here + ".step", GoQuote(step->Canonical()), "must be greater than zero"));
  }
  for (const auto& value : {standard, max}) {
    if (!value || (value->MilliValue() - min->MilliValue()) % width == 0) continue;
    causes.push_back(InvalidValue(here + ".step", GoQuote(value->Canonical()),
                                  fmt::format("value is not a multiple of a given step ({}) from ({})",
                                              step->Canonical(), min->Canonical())));
  }
}

void CheckCapacity(const json::object& capacity, bool shared, const std::string& path, Causes& causes) {
  const json::object* policy = FindObject(capacity, "requestPolicy");
  if (policy == nullptr) return;
  const std::string here = path + ".requestPolicy";
  if (!shared) return causes.push_back(FieldForbidden(here, "allowMultipleAllocations must be true"));
  const json::object* range = FindObject(*policy, "validRange");
  const bool values = SizeOf(*policy, "validValues") > 0;
  const auto amount = QuantityOf(capacity, "value").value_or(api::Quantity());
  if (range != nullptr && values) {
    causes.push_back(FieldForbidden(here,
                                    "exactly one policy can be specified, cannot specify \"validValues\" and "
                                    "\"validRange\" at the same time"));
  } else if (values) {
    CheckValidValues(*policy, amount, here, causes);
  } else if (range != nullptr) {
    CheckValidRange(*policy, *range, amount, here, causes);
  }
}

void CheckCounters(const json::object& parent, const std::string& path, Causes& causes) {
  if (SizeOf(parent, "counters") == 0) return causes.push_back(Required(path + ".counters"));
  if (!WithinSize(parent, "counters", path, kCountersMax, causes)) return;
  for (const auto& counter : *FindObject(parent, "counters"))
    CheckLabel(path + ".counters", counter.key(), causes);
}

void CheckNodeChoice(const json::object& device, bool per_device, const std::string& path, Causes& causes) {
  std::size_t chosen = 0;
  for (const std::string_view key : {"nodeName", "nodeSelector", "allNodes"})
    chosen += Find(device, key) != nullptr ? 1 : 0;
  if (!per_device) {
    if (chosen > 0) {
      causes.push_back(InvalidValue(path, "null",
                                    "`nodeName`, `nodeSelector` and `allNodes` can only be set if "
                                    "`perDeviceNodeSelection` is set to true in the ResourceSlice spec"));
    }
    return;
  }
  constexpr std::string_view kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is "
      "set to true in the ResourceSlice spec";
  if (chosen == 0) causes.push_back(Required(path, kOneOf));
  if (chosen > 1) causes.push_back(InvalidValue(path, "null", kOneOf));
}

void CheckDevice(const json::object& device, bool per_device, const std::string& path, Causes& causes) {
  CheckLabel(path + ".name", FindString(device, "name"), causes);
  const std::size_t properties = SizeOf(device, "attributes") + SizeOf(device, "capacity");
  if (properties > kPropertiesMax) {
    causes.push_back(InvalidValue(
        path, fmt::to_string(properties),
        fmt::format("the total number of attributes and capacities must not exceed {}", kPropertiesMax)));
  }
  const auto each_property = [&](std::string_view map, auto&& check) {
    const json::object* members = FindObject(device, map);
    for (const auto& member : members != nullptr ? *members : json::object()) {
      CheckProperty(fmt::format("{}.{}", path, map), member.key(), causes);
      if (member.value().is_object())
        check(member.value().get_object(),
              fmt::format("{}.{}[{}]", path, map, std::string_view(member.key())));
    }
  };
  each_property("attributes", [&](const json::object& attribute, const std::string& at) {
    CheckAttribute(attribute, at, causes);
  });
  const bool shared = BoolOf(device, "allowMultipleAllocations").value_or(false);
  each_property("capacity", [&](const json::object& capacity, const std::string& at) {
    CheckCapacity(capacity, shared, at, causes);
  });
  if (WithinSize(device, "taints", path, kDeviceTaintsMax, causes)) {
    ForEachElement(device, "taints", path, [&](const json::object& taint, const std::string& at) {
      CheckDeviceTaint(taint, at, causes);
    });
  }
  if (WithinSize(device, "consumesCounters", path, kConsumedSetsMax, causes)) {
    std::set<std::string> sets;
    ForEachElement(device, "consumesCounters", path, [&](const json::object& use, const std::string& at) {
      const auto set = FindString(use, "counterSet");
      if (set.empty())
        causes.push_back(Required(at + ".counterSet"));
      else
        CheckLabel(at + ".counterSet", set, causes);
      CheckCounters(use, at, causes);
      if (!sets.emplace(set).second) causes.push_back(DuplicateElement(at, use));
    });
  }
  CheckNodeChoice(device, per_device, path, causes);
  CheckBindingConditions(device, path, causes);
}

// Slices with these fields may have half as many devices.
bool IsSpecialDevice(const json::object& device) {
  if (SizeOf(device, "taints") > 0 || SizeOf(device, "consumesCounters") > 0) return true;
  const json::object* attributes = FindObject(device, "attributes");
  return attributes != nullptr && std::ranges::any_of(*attributes, [](const auto& attribute) {
           const json::object* values = attribute.value().if_object();
           if (values == nullptr) return false;
           for (const std::string_view list : {"ints", "bools", "strings", "versions"}) {
             if (Find(*values, list) != nullptr) return true;
           }
           return false;
         });
}

void CheckPlacement(const json::object& spec, Causes& causes) {
  std::string fields;
  const auto set = [&](std::string_view name) {
    fields += fmt::format("{}`{}`", fields.empty() ? "" : ", ", name);
  };
  if (Find(spec, "nodeName") != nullptr) {
    const auto name = FindString(spec, "nodeName");
    if (name.empty()) {
      causes.push_back(
          InvalidValue("spec.nodeName", "\"\"", "must be either unset or set to a non-empty string"));
    } else {
      set("nodeName");
      CheckSubdomain("spec.nodeName", name, causes);
    }
  }
  if (const json::object* selector = FindObject(spec, "nodeSelector")) {
    set("nodeSelector");
    if (SizeOf(*selector, "nodeSelectorTerms") != 1) {
      const json::value* terms = Find(*selector, "nodeSelectorTerms");
      causes.push_back(InvalidValue("spec.nodeSelector.nodeSelectorTerms",
                                    terms != nullptr ? json::serialize(*terms) : "null",
                                    "must have exactly one node selector term"));
    }
  }
  for (const std::string_view key : {"allNodes", "perDeviceNodeSelection"}) {
    const auto value = BoolOf(spec, key);
    if (value == true) set(key);
    if (value == false) {
      causes.push_back(
          InvalidValue(fmt::format("spec.{}", key), "false", "must be either unset or set to true"));
    }
  }
  constexpr std::string_view kOneOf =
      "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
  if (fields.empty()) causes.push_back(Required("spec", kOneOf));
  if (fields.find(',') != std::string::npos) {
    causes.push_back(InvalidValue("spec", GoQuote(fmt::format("{{{}}}", fields)),
                                  fmt::format("{}, but multiple fields are set", kOneOf)));
  }
}

}  // namespace

void ValidateSlice(const json::object& spec, Causes& causes) {
  CheckDriver("spec.driver", FindString(spec, "driver"), causes);
  CheckPool("spec.pool.name", FindString(spec, "pool.name"), causes);
  const auto number = [&](std::string_view path) {
    const json::value* value = FindPath(spec, path);
    return value != nullptr && value->is_int64() ? value->get_int64() : 0;
  };
  if (const auto count = number("pool.resourceSliceCount"); count <= 0)
    causes.push_back(
        InvalidValue("spec.pool.resourceSliceCount", fmt::to_string(count), "must be greater than zero"));
  if (const auto generation = number("pool.generation"); generation < 0)
    causes.push_back(InvalidValue("spec.pool.generation", fmt::to_string(generation),
                                  "must be greater than or equal to zero"));
  CheckPlacement(spec, causes);
  if (SizeOf(spec, "sharedCounters") > 0 && SizeOf(spec, "devices") > 0)
    causes.push_back(InvalidValue("spec", "\"\"", "only one of `sharedCounters` or `devices` is allowed"));
  const json::array* devices = FindArray(spec, "devices");
  const bool special = devices != nullptr && std::ranges::any_of(*devices, [](const json::value& device) {
                         return device.is_object() && IsSpecialDevice(device.get_object());
                       });
  if (WithinSize(spec, "devices", "spec", special ? kSpecialDevicesMax : kDevicesMax, causes)) {
    const bool per_device = BoolOf(spec, "perDeviceNodeSelection").value_or(false);
    std::set<std::string> names;
    ForEachElement(spec, "devices", "spec", [&](const json::object& device, const std::string& at) {
      CheckDevice(device, per_device, at, causes);
      const auto name = FindString(device, "name");
      if (!names.emplace(name).second) causes.push_back(Duplicate(at, name));
    });
  }
  if (WithinSize(spec, "sharedCounters", "spec", kCounterSetsMax, causes)) {
    std::set<std::string> names;
    ForEachElement(spec, "sharedCounters", "spec", [&](const json::object& set, const std::string& at) {
      const auto name = FindString(set, "name");
      if (name.empty())
        causes.push_back(Required(at + ".name"));
      else
        CheckLabel(at + ".name", name, causes);
      CheckCounters(set, at, causes);
      if (!names.emplace(name).second) causes.push_back(DuplicateElement(at, set));
    });
  }
}

}  // namespace berth::sandbox
