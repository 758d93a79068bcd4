#include "sandbox/kubelet/node_groups.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/invisible_characters.hpp"
#include "base/nearest.hpp"
#include "config/value.hpp"
#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/validate/names.hpp"
#include "sandbox/kubelet/devices/device_groups.hpp"
#include "sandbox/kubelet/numbered_name.hpp"
#include "sandbox/kubelet/run_plan.hpp"

namespace berth::sandbox {
namespace {

using config::Value;
constexpr std::int64_t kNodesMax = 1'000'000;

const std::vector<std::string>& Effects() {
  static const std::vector<std::string> effects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  return effects;
}

class Reader {
 public:
  Reader(const Value& value, const std::string& path, config::Problems& problems)
      : fields_(value, "NodeGroup", path, problems), path_(path), problems_(problems) {}

  NodeGroup Read() {
    NodeGroup group;
    fields_.Read("count", group.count);
    if (group.count < 1 || group.count > kNodesMax)
      Wrong("count", fmt::to_string(group.count), fmt::format("must be between 1 and {}", kNodesMax));
    fields_.Read("name", group.name);
    CheckName(group);
    Amount("cpu", group.cpu);
    Amount("memory", group.memory);
    Amount("ephemeralStorage", group.ephemeral_storage);
    fields_.Read("pods", group.pods);
    if (group.pods < 0) Wrong("pods", fmt::to_string(group.pods), "must not be negative");
    Amounts("resources", group.resources);
    Amounts("allocatable", group.allocatable);
    fields_.Read("instanceType", group.instance_type);
    fields_.Read("region", group.region);
    fields_.Read("zones", group.zones);
    Texts("labels", group.labels);
    Texts("annotations", group.annotations);
    Taints(group);
    Images(group);
    fields_.Read("features", group.features);
    if (const Value* devices = fields_.Take("devices")) {
      ReadDeviceGroups(fields_, "devices", path_ + ".devices", problems_);
      yaml::AppendJson(group.devices, *devices);
    }
    fields_.Read("unschedulable", group.unschedulable);
    fields_.With("failures",
                 [&](const Value& value, const std::string& path) { Failures(value, path, group.failures); });
    fields_.Finish();
    return group;
  }

 private:
  void Wrong(std::string_view field, std::string_view value, std::string_view why) {
    problems_.Other(fmt::format("{}.{}: Invalid value: \"{}\": {}", path_, field, value, why));
  }

  void CheckName(const NodeGroup& group) {
    if (const std::string problem = PatternProblem(group.name, group.count); !problem.empty()) {
      Wrong("name", group.name, problem);
    } else if (!IsDnsSubdomain(NodeName(group, 1))) {
      Wrong("name", group.name, "must be made of lower case letters, digits, '-' and '.'");
    }
  }

  static std::string TextOf(const Value& value) {
    return value.kind == Value::Kind::kString || value.kind == Value::Kind::kNumber ? value.text
                                                                                    : std::string();
  }
  bool IsAmount(const std::string& field, const Value& value) {
    const auto quantity = api::Quantity::Parse(TextOf(value));
    if (quantity && quantity->MilliValue() >= 0) return true;
    Wrong(field, value.text, "must be a quantity that is not negative, as in \"4\", \"500m\" or \"16Gi\"");
    return false;
  }
  void Amount(const std::string& field, std::string& out) {
    const Value* value = fields_.Take(field);
    if (value != nullptr && IsAmount(field, *value)) out = value->text;
  }
  void Amounts(const std::string& field, std::map<std::string, std::string>& out) {
    fields_.With(field, [&](const Value& map, const std::string&) {
      for (const auto& [name, value] : map.members) {
        if (IsAmount(fmt::format("{}[{}]", field, name), value)) out[name] = value.text;
      }
    });
  }
  void Texts(const std::string& field, std::map<std::string, std::string>& out) {
    fields_.With(field, [&](const Value& map, const std::string&) {
      for (const auto& [name, value] : map.members) {
        if (value.kind != Value::Kind::kString)
          Wrong(fmt::format("{}[{}]", field, name), value.text, "must be text; put it into quotes");
        out[name] = value.text;
      }
    });
  }

  // "key=value:Effect" or "key:Effect", the syntax of kubectl taint.
  void Taints(NodeGroup& group) {
    std::vector<std::string> texts;
    fields_.Read("taints", texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto colon = texts[i].rfind(':');
      const std::string effect = colon == std::string::npos ? "" : texts[i].substr(colon + 1);
      if (std::ranges::find(Effects(), effect) == Effects().end()) {
        const std::string nearest = Nearest(effect, Effects());
        Wrong(fmt::format("taints[{}]", i), texts[i],
              fmt::format("must be key=value:effect with one of the effects {}{}", fmt::join(Effects(), ", "),
                          nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
        continue;
      }
      const std::string left = texts[i].substr(0, colon);
      const auto equals = left.find('=');
      group.taints.push_back(
          {left.substr(0, equals), equals == std::string::npos ? "" : left.substr(equals + 1), effect});
    }
  }

  void Images(NodeGroup& group) {
    fields_.Each("images", [&](const Value& value, const std::string& path) {
      NodeImage image;
      if (value.kind == Value::Kind::kString) {
        image = {value.text, 100'000'000};
      } else {
        config::StructReader reader(value, "NodeImage", path, problems_);
        reader.Read("name", image.name);
        if (const Value* size = reader.Take("size")) {
          const auto quantity = api::Quantity::Parse(TextOf(*size));
          if (!quantity)
            problems_.Other(fmt::format("{}.size: Invalid value: \"{}\": must be a quantity, as in \"70Mi\"",
                                        path, size->text));
          if (quantity) image.bytes = quantity->Value();
        }
        reader.Finish();
      }
      if (image.name.empty()) problems_.Other(fmt::format("{}.name: Required value", path));
      group.images.push_back(std::move(image));
    });
  }

  void Failures(const Value& value, const std::string& path, FailurePlan& plan) {
    config::StructReader reader(value, "Failures", path, problems_);
    const auto duration = [&](std::string_view field, Duration& out) {
      const Value* text = reader.Take(field);
      if (text == nullptr) return;
      const auto parsed = ParseSpan(TextOf(*text));
      if (parsed && *parsed > Duration::zero())
        out = *parsed;
      else
        problems_.Other(
            fmt::format("{}.{}: Invalid value: \"{}\": must be a duration, as in \"90s\" or \"1h30m\"", path,
                        field, text->text));
    };
    duration("every", plan.between);
    duration("for", plan.lasts);
    reader.Read("kinds", plan.kinds);
    for (const auto& kind : plan.kinds) {
      NodeFailure failure;
      if (AddFailure(failure, kind)) continue;
      const std::string nearest = Nearest(kind, FailureKinds());
      problems_.Other(fmt::format("{}.kinds: Invalid value: \"{}\": must be one of {}{}", path, kind,
                                  fmt::join(FailureKinds(), ", "),
                                  nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
    }
    if (plan.between == Duration::zero()) problems_.Other(fmt::format("{}.every: Required value", path));
    reader.Finish();
  }

  config::StructReader fields_;
  std::string path_;
  config::Problems& problems_;
};

}  // namespace

Expected<std::vector<NodeGroup>> ParseNodeGroups(std::string_view text) {
  BERTH_TRY(const Value root, yaml::ParseValue(text));
  config::Problems problems;
  std::vector<NodeGroup> groups;
  config::StructReader file(root, "NodesFile", "", problems);
  file.Each("groups", [&](const Value& value, const std::string& path) {
    groups.push_back(Reader(value, path, problems).Read());
  });
  file.Finish();
  if (problems.empty() && groups.empty()) problems.Other("groups: Required value");
  std::set<std::string> names;
  for (std::size_t i = 0; problems.empty() && i < groups.size(); ++i) {
    for (std::int64_t number = 1; number <= groups[i].count; ++number) {
      const std::string name = NodeName(groups[i], number);
      if (names.insert(name).second) continue;
      problems.Other(fmt::format("groups[{}].name: Duplicate value: \"{}\"", i, name));
      break;
    }
  }
  if (!problems.empty())
    return WithInvisibleCharacter<std::vector<NodeGroup>>(Invalid(problems.Text()), text);
  return groups;
}

std::string NodeName(const NodeGroup& group, std::int64_t number) { return NumberedName(group.name, number); }

}  // namespace berth::sandbox
