#include "sandbox/kubelet/devices/device_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/nearest.hpp"
#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/validate/devices.hpp"
#include "sandbox/apiserver/validate/names.hpp"
#include "sandbox/kubelet/numbered_name.hpp"
#include "sandbox/kubelet/run_plan.hpp"

namespace berth::sandbox {
namespace {

using config::Value;
constexpr std::int64_t kDevicesOfNodeMax = 4096;  // partitions included
constexpr std::size_t kTextMax = 64;

const std::vector<std::string>& DeviceEffects() {
  static const std::vector<std::string> effects = {"NoSchedule", "NoExecute", "None"};
  return effects;
}

std::string_view ScalarText(const Value& value) {
  return value.kind == Value::Kind::kString || value.kind == Value::Kind::kNumber
             ? std::string_view(value.text)
             : std::string_view();
}

class GroupReader {
 public:
  GroupReader(const Value& value, const std::string& path, config::Problems& problems)
      : fields_(value, "DeviceGroup", path, problems), path_(path), problems_(problems) {}

  DeviceGroup Read() {
    DeviceGroup group;
    Count(fields_, path_, group.count);
    fields_.Read("driver", group.driver);
    if (!IsDriverName(group.driver))
      Wrong(path_, "driver", group.driver, "must be a DNS name of at most 63 characters");
    fields_.Read("name", group.name);
    CheckPattern(path_, group.name, group.count);
    Attributes(fields_, group.attributes);
    fields_.Read("shared", group.shared);
    Capacity(fields_, group.shared, group.capacity);
    Taints(group.taints);
    fields_.Read("attach", group.attach);
    if (!group.attach.empty() && group.attach != "never" && group.attach != "fail" &&
        !ParseSpan(group.attach))
      Wrong(path_, "attach", group.attach, R"(must be a duration, as in "2s", "never" or "fail")");
    fields_.Each(
        "partitions",
        [&](const Value& value, const std::string& path) {
          group.partitions.push_back(Partition(value, path, group.capacity));
        },
        "Partition");
    CheckPartitions(group);
    fields_.Finish();
    return group;
  }

 private:
  void Wrong(const std::string& path, std::string_view field, std::string_view value, std::string_view why) {
    problems_.Other(fmt::format("{}.{}: Invalid value: \"{}\": {}", path, field, value, why));
  }

  void Count(config::StructReader& fields, const std::string& path, std::int64_t& count) {
    fields.Read("count", count);
    if (count < 1 || count > kDevicesOfNodeMax) {
      Wrong(path, "count", fmt::to_string(count), fmt::format("must be between 1 and {}", kDevicesOfNodeMax));
      count = 1;
    }
  }

  void CheckPattern(const std::string& path, const std::string& pattern, std::int64_t count) {
    if (const std::string problem = PatternProblem(pattern, count); !problem.empty())
      Wrong(path, "name", pattern, problem);
    else if (!IsDnsLabel(NumberedName(pattern, count)))
      Wrong(path, "name", pattern, "must be made of at most 63 lower case letters, digits and '-'");
  }

  // The members of a map whose names are those of attributes or capacities.
  template <class Visit>
  void Properties(config::StructReader& fields, std::string_view field, Visit&& visit) {
    fields.With(field, [&](const Value& map, const std::string& path) {
      for (const auto& [name, value] : map.members) {
        const std::string here = fmt::format("{}[{}]", path, name);
        if (!IsDeviceProperty(name)) {
          problems_.Other(fmt::format(
              "{}: Invalid value: \"{}\": must be an identifier of at most 32 characters, with or without a "
              "domain, as in \"model\" or \"example.com/model\"",
              path, name));
        } else {
          visit(name, value, here);
        }
      }
    });
  }

  // Text, a whole number, true or false, or {version: 1.2.3}.
  void Attributes(config::StructReader& fields, json::object& out) {
    Properties(fields, "attributes",
               [&](const std::string& name, const Value& value, const std::string& here) {
                 if (auto attribute = Attribute(value, here)) out[name] = std::move(*attribute);
               });
  }
  std::optional<json::object> Attribute(const Value& value, const std::string& here) {
    const auto wrong = [&](std::string_view text, std::string_view why) {
      problems_.Other(fmt::format("{}: Invalid value: \"{}\": {}", here, text, why));
      return std::nullopt;
    };
    if (value.kind == Value::Kind::kBool) return json::object{{"bool", value.text == "true"}};
    if (value.kind == Value::Kind::kString) {
      if (value.text.size() > kTextMax) return wrong(value.text, "must have at most 64 characters");
      return json::object{{"string", value.text}};
    }
    std::int64_t number = 0;
    const char* end = value.text.data() + value.text.size();
    if (value.kind == Value::Kind::kNumber && std::from_chars(value.text.data(), end, number).ptr == end) {
      return json::object{{"int", number}};
    }
    const Value* version = value.Find("version");
    if (version == nullptr || value.members.size() != 1)
      return wrong(value.text, "must be text, a whole number, true, false, or {version: 1.2.3}");
    if (!IsSemanticVersion(version->text) || version->text.size() > kTextMax)
      return wrong(version->text, "must be a semantic version, as in \"1.2.3\"");
    return json::object{{"version", version->text}};
  }

  // The canonical form.
  std::optional<std::string> Amount(const Value& value, const std::string& here) {
    const auto quantity = api::Quantity::Parse(ScalarText(value));
    if (quantity && quantity->Compare(api::Quantity()) >= 0) return quantity->Canonical();
    problems_.Other(fmt::format(
        "{}: Invalid value: \"{}\": must be a quantity that is not negative, as in \"80Gi\" or \"4\"", here,
        value.text));
    return std::nullopt;
  }

  // A quantity; for shared devices also {value, default, min, max, step} or {value, default, values}.
  void Capacity(config::StructReader& fields, bool shared, json::object& out) {
    Properties(fields, "capacity", [&](const std::string& name, const Value& value, const std::string& here) {
      if (value.kind == Value::Kind::kMap && shared) {
        out[name] = SharedCapacity(value, here);
      } else if (auto amount = Amount(value, here)) {
        out[name] = json::object{{"value", *amount}};
      }
    });
  }
  json::object SharedCapacity(const Value& value, const std::string& here) {
    config::StructReader fields(value, "Capacity", here, problems_);
    json::object capacity, policy, range;
    const auto amount = [&](std::string_view field, json::object& target, std::string_view key) {
      const Value* member = fields.Take(field);
      if (member == nullptr) return;
      if (auto text = Amount(*member, fmt::format("{}.{}", here, field))) target[key] = *text;
    };
    amount("value", capacity, "value");
    amount("default", policy, "default");
    for (const std::string_view key : {"min", "max", "step"}) amount(key, range, key);
    fields.Each("values", [&](const Value& item, const std::string& path) {
      if (auto text = Amount(item, path)) ArrayAt(policy, "validValues").push_back(json::value(*text));
    });
    fields.Finish();
    if (!capacity.contains("value")) problems_.Other(fmt::format("{}.value: Required value", here));
    if (!range.empty()) policy["validRange"] = std::move(range);
    if (!policy.empty()) capacity["requestPolicy"] = std::move(policy);
    return capacity;
  }

  // "key=value:Effect" or "key:Effect".
  void Taints(json::array& out) {
    std::vector<std::string> texts;
    fields_.Read("taints", texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto colon = texts[i].rfind(':');
      const std::string effect = colon == std::string::npos ? "" : texts[i].substr(colon + 1);
      if (std::ranges::find(DeviceEffects(), effect) == DeviceEffects().end()) {
        const std::string nearest = Nearest(effect, DeviceEffects());
        Wrong(path_, fmt::format("taints[{}]", i), texts[i],
              fmt::format("must be key=value:effect with one of the effects {}{}",
                          fmt::join(DeviceEffects(), ", "),
                          nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
        continue;
      }
      const std::string left = texts[i].substr(0, colon);
      const auto equals = left.find('=');
      json::object taint{{"key", left.substr(0, equals)}};
      if (equals != std::string::npos) taint["value"] = left.substr(equals + 1);
      taint["effect"] = effect;
      out.push_back(std::move(taint));
    }
  }

  DevicePartition Partition(const Value& value, const std::string& path, const json::object& whole) {
    config::StructReader fields(value, "Partition", path, problems_);
    DevicePartition partition;
    Count(fields, path, partition.count);
    fields.Read("name", partition.name);
    CheckPattern(path, partition.name, partition.count);
    Attributes(fields, partition.attributes);
    Capacity(fields, false, partition.capacity);
    fields.Finish();
    if (partition.capacity.empty()) problems_.Other(fmt::format("{}.capacity: Required value", path));
    for (const auto& part : partition.capacity) {
      const json::value* all = Find(whole, part.key());
      const std::string field = fmt::format("capacity[{}]", std::string_view(part.key()));
      const auto amount = FindString(part.value().get_object(), "value");
      if (all == nullptr) {
        Wrong(path, field, amount, "the device does not have this capacity");
        continue;
      }
      const auto total = FindString(all->get_object(), "value");
      const auto have = api::Quantity::Parse(total), wanted = api::Quantity::Parse(amount);
      if (have && wanted && wanted->Compare(*have) > 0)
        Wrong(path, field, amount, fmt::format("is more than the {} of the device", total));
    }
    return partition;
  }

  void CheckPartitions(const DeviceGroup& group) {
    if (group.partitions.empty()) return;
    if (group.shared) Wrong(path_, "partitions", "", "a shared device cannot have partitions");
    for (const auto& capacity : group.capacity) {
      if (IsDnsLabel(capacity.key())) continue;
      Wrong(path_, "capacity", std::string_view(capacity.key()),
            "the capacities of a device with partitions are counters: lower case letters, digits and '-'");
    }
  }

  config::StructReader fields_;
  std::string path_;
  config::Problems& problems_;
};

// --- slices ---

// The devices and counters of one pool, before they are divided into slices.
struct PoolContent {
  std::string driver;
  std::vector<json::object> devices, counter_sets;
  bool special = false;  // slices of devices with taints or counters have half the size
};

json::object CountersOf(const json::object& capacity) {
  json::object counters;
  for (const auto& entry : capacity)
    counters[entry.key()] = json::object{{"value", entry.value().get_object().at("value")}};
  return counters;
}

// A device, or a part of it, of the group.
json::object DeviceOf(const DeviceGroup& group, const std::string& name, json::object attributes,
                      const json::object& capacity) {
  json::object device{{"name", name}};
  if (!group.attach.empty()) attributes[kAttach] = json::object{{"string", group.attach}};
  if (!attributes.empty()) device["attributes"] = std::move(attributes);
  if (!capacity.empty()) device["capacity"] = capacity;
  if (!group.taints.empty()) device["taints"] = group.taints;
  if (!group.attach.empty()) {
    device["bindingConditions"] = json::array{json::value(kAttached)};
    device["bindingFailureConditions"] = json::array{json::value(kAttachFailed)};
  }
  return device;
}

void Consume(json::object& device, const std::string& set, const json::object& capacity) {
  device["consumesCounters"] =
      json::array{json::object{{"counterSet", set}, {"counters", CountersOf(capacity)}}};
}

void AddDevice(const DeviceGroup& group, const std::string& name, PoolContent& pool) {
  json::object device = DeviceOf(group, name, group.attributes, group.capacity);
  const bool partitioned = !group.partitions.empty();
  if (partitioned) {
    pool.counter_sets.push_back(json::object{{"name", name}, {"counters", CountersOf(group.capacity)}});
    Consume(device, name, group.capacity);
  }
  if (group.shared) device["allowMultipleAllocations"] = true;
  pool.special = pool.special || partitioned || !group.taints.empty();
  pool.devices.push_back(std::move(device));
  for (const auto& partition : group.partitions) {
    json::object attributes = group.attributes;
    for (const auto& entry : partition.attributes) attributes[entry.key()] = entry.value();
    for (std::int64_t i = 0; i < partition.count; ++i) {
      json::object part = DeviceOf(group, fmt::format("{}-{}", name, NumberedName(partition.name, i)),
                                   attributes, partition.capacity);
      Consume(part, name, partition.capacity);
      pool.devices.push_back(std::move(part));
    }
  }
}

void AddSlices(const std::vector<json::object>& all, std::string_view member, std::size_t most,
               std::vector<json::object>& slices) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i % most == 0) slices.emplace_back();
    ArrayAt(slices.back(), member).push_back(all[i]);
  }
}

// The rules of the API server that the reader does not check itself.
void CheckSlices(std::span<const DeviceGroup> groups, const std::string& path, config::Problems& problems) {
  for (const auto& pool : PoolsOf(groups)) {
    for (json::object spec : pool.slices) {
      spec["driver"] = pool.driver;
      spec["nodeName"] = "node";
      spec["pool"] = json::object{{"name", "node"}, {"generation", 1}, {"resourceSliceCount", 1}};
      Causes causes;
      ValidateSlice(spec, causes);
      if (causes.empty()) continue;
      return problems.Other(fmt::format("{}: Invalid value: driver \"{}\": {}: {}", path, pool.driver,
                                        causes.front().field, causes.front().message));
    }
  }
}

}  // namespace

std::vector<DeviceGroup> ReadDeviceGroups(config::StructReader& parent, std::string_view field,
                                          const std::string& path, config::Problems& problems) {
  std::vector<DeviceGroup> groups;
  const bool sound = problems.empty();
  parent.Each(
      field,
      [&](const Value& value, const std::string& at) {
        groups.push_back(GroupReader(value, at, problems).Read());
      },
      "DeviceGroup");
  std::int64_t devices = 0;
  for (const auto& group : groups) {
    std::int64_t each = 1;
    for (const auto& partition : group.partitions) each += partition.count;
    devices += group.count * each;
  }
  if (devices > kDevicesOfNodeMax) {
    problems.Other(fmt::format("{}: Invalid value: \"{}\": a node can have at most {} devices", path, devices,
                               kDevicesOfNodeMax));
  }
  if (sound && problems.empty()) CheckSlices(groups, path, problems);
  return groups;
}

Expected<std::vector<DeviceGroup>> ParseDevices(std::string_view json_list) {
  BERTH_TRY(Value list, yaml::ParseValue(json_list));
  Value root = Value::Map();
  root.Set("devices", std::move(list));
  config::Problems problems;
  config::StructReader reader(root, "Devices", "", problems);
  auto groups = ReadDeviceGroups(reader, "devices", "devices", problems);
  if (!problems.empty()) return Invalid(problems.Text());
  return groups;
}

std::vector<DevicePool> PoolsOf(std::span<const DeviceGroup> groups) {
  constexpr std::size_t kDevicesMax = 128, kSpecialDevicesMax = 64, kCounterSetsMax = 8;  // of the API
  std::vector<PoolContent> contents;
  std::map<std::pair<std::string, std::string>, std::int64_t> numbers;  // next one, by driver and pattern
  for (const auto& group : groups) {
    auto pool = std::ranges::find(contents, group.driver, &PoolContent::driver);
    if (pool == contents.end()) {
      contents.push_back({.driver = group.driver, .devices = {}, .counter_sets = {}});
      pool = std::prev(contents.end());
    }
    std::int64_t& number = numbers[{group.driver, group.name}];
    for (std::int64_t i = 0; i < group.count; ++i)
      AddDevice(group, NumberedName(group.name, number++), *pool);
  }
  std::vector<DevicePool> pools;
  for (const auto& content : contents) {
    DevicePool& pool = pools.emplace_back();
    pool.driver = content.driver;
    AddSlices(content.counter_sets, "sharedCounters", kCounterSetsMax, pool.slices);
    AddSlices(content.devices, "devices", content.special ? kSpecialDevicesMax : kDevicesMax, pool.slices);
  }
  return pools;
}

std::string GpuDevices(std::int64_t gpus) {
  std::string text = "[";
  for (const std::int64_t numa : {0, 1}) {
    const std::int64_t count = (gpus + 1 - numa) / 2;
    if (count == 0) continue;
    text += fmt::format(
        R"({}{{"count":{},"attributes":{{"model":"A100","driverVersion":{{"version":"1.0.0"}},"numa":{}}},)"
        R"("capacity":{{"memory":"80Gi"}}}})",
        numa > 0 ? "," : "", count, numa);
  }
  return text + "]";
}

}  // namespace berth::sandbox
