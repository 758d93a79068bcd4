#include "scheduler/plugins/gpu_fragmentation/gpu_fragmentation_args.hpp"

#include <fmt/format.h>

#include <set>

#include "config/name_errors.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;
using TypicalPod = GpuFragmentationArgs::TypicalPod;

constexpr double kHighestWeight = 1e9;

constexpr std::pair<std::string_view, GpuChoice> kChoices[] = {{"Listed", GpuChoice::kListed},
                                                               {"LeastWaste", GpuChoice::kLeastWaste}};
constexpr std::pair<std::string_view, GpuFormula> kFormulas[] = {{"Balanced", GpuFormula::kBalanced},
                                                                 {"Published", GpuFormula::kPublished}};

template <class T, std::size_t N>
void ReadName(StructReader& reader, std::string_view field, const std::pair<std::string_view, T> (&names)[N],
              T& out, Problems& problems) {
  std::string text;
  reader.Read(field, text);
  if (text.empty()) return;
  std::string supported;
  for (const auto& [name, value] : names) {
    if (name == text) {
      out = value;
      return;
    }
    supported += fmt::format("{}\"{}\"", supported.empty() ? "" : ", ", name);
  }
  problems.Other(fmt::format("{}: Unsupported value: \"{}\": supported values: {}", field, text, supported));
}

template <class T, std::size_t N>
Value NameOf(const std::pair<std::string_view, T> (&names)[N], T value) {
  for (const auto& [name, known] : names) {
    if (known == value) return Value::Text(std::string(name));
  }
  return Value::Null();
}

// Quantities may be written as numbers.
std::string ReadQuantity(StructReader& reader, std::string_view field, Problems& problems) {
  const Value* value = reader.Take(field);
  if (value == nullptr || value->kind == Value::Kind::kNull) return "";
  if (value->kind == Value::Kind::kString || value->kind == Value::Kind::kNumber) return value->text;
  problems.Other(
      fmt::format("{}: Invalid value: must be a quantity, for example 4 or 16Gi", reader.PathOf(field)));
  return "";
}

TypicalPod ReadTypicalPod(const Value& value, const std::string& path, Problems& problems) {
  TypicalPod pod;
  StructReader reader(value, "TypicalPod", path, problems);
  reader.Read("weight", pod.weight);
  pod.cpu = ReadQuantity(reader, "cpu", problems);
  pod.memory = ReadQuantity(reader, "memory", problems);
  reader.Read("gpus", pod.gpus);
  pod.capacity = ReadQuantity(reader, "capacity", problems);
  reader.Read("selectors", pod.selectors);
  reader.Finish();
  return pod;
}

GpuFragmentationArgs Decode(const Value& value, const config::FeatureGates&, Problems& problems) {
  GpuFragmentationArgs args;
  StructReader reader(value, "GpuFragmentationArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("resources", args.resources);
  reader.Read("deviceClasses", args.device_classes);
  reader.Read("capacity", args.capacity);
  ReadName(reader, "deviceChoice", kChoices, args.choice, problems);
  ReadName(reader, "formula", kFormulas, args.formula, problems);
  reader.Each(
      "mix",
      [&](const Value& item, const std::string& path) {
        args.mix.push_back(ReadTypicalPod(item, path, problems));
      },
      "TypicalPod");
  reader.Read("mostClasses", args.most_classes);
  reader.Finish();
  return args;
}

void CheckNames(const std::vector<std::string>& names, const std::string& path,
                std::vector<std::string>& errors) {
  if (names.size() > GpuFragmentationArgs::kMostNames) {
    errors.push_back(fmt::format("{}: Too many: {}: must have at most {} items", path, names.size(),
                                 GpuFragmentationArgs::kMostNames));
  }
  std::set<std::string> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (config::CheckQualifiedName(at, names[i], errors) && !known.insert(names[i]).second)
      errors.push_back(fmt::format("{}: Duplicate value: \"{}\"", at, names[i]));
  }
}

void CheckQuantity(const std::string& text, const std::string& path, std::vector<std::string>& errors) {
  if (text.empty()) return;
  const auto quantity = api::Quantity::Parse(text);
  if (!quantity) {
    errors.push_back(
        fmt::format("{}: Invalid value: \"{}\": must be a quantity, for example 4 or 16Gi", path, text));
  } else if (quantity->Compare({}) < 0) {
    errors.push_back(fmt::format("{}: Invalid value: \"{}\": must be at least 0", path, text));
  }
}

void CheckTypicalPod(const TypicalPod& pod, const std::string& path, std::vector<std::string>& errors) {
  if (!(pod.weight > 0 && pod.weight <= kHighestWeight)) {
    errors.push_back(fmt::format("{}.weight: Invalid value: {}: must be greater than 0 and at most {}", path,
                                 pod.weight, kHighestWeight));
  }
  CheckQuantity(pod.cpu, path + ".cpu", errors);
  CheckQuantity(pod.memory, path + ".memory", errors);
  if (pod.gpus < 1 || pod.gpus > GpuFragmentationArgs::kMostGpus) {
    errors.push_back(fmt::format("{}.gpus: Invalid value: {}: must be from 1 to {}", path, pod.gpus,
                                 GpuFragmentationArgs::kMostGpus));
  }
  CheckQuantity(pod.capacity, path + ".capacity", errors);
}

std::vector<std::string> Check(const GpuFragmentationArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  CheckNames(args.resources, path + ".resources", errors);
  CheckNames(args.device_classes, path + ".deviceClasses", errors);
  if (args.resources.empty() && args.device_classes.empty())
    errors.push_back(path + ".resources: Required value: resources or deviceClasses must be given");
  config::CheckQualifiedName(path + ".capacity", args.capacity, errors);
  const auto most = GpuFragmentationArgs::kMostClasses;
  if (args.most_classes < 1 || args.most_classes > most) {
    errors.push_back(fmt::format("{}.mostClasses: Invalid value: {}: must be from 1 to {}", path,
                                 args.most_classes, most));
  }
  if (args.mix.size() > static_cast<std::size_t>(most)) {
    errors.push_back(
        fmt::format("{}.mix: Too many: {}: must have at most {} items", path, args.mix.size(), most));
  }
  for (std::size_t i = 0; i < args.mix.size(); ++i)
    CheckTypicalPod(args.mix[i], fmt::format("{}.mix[{}]", path, i), errors);
  return errors;
}

Value TextList(const std::vector<std::string>& texts) {
  Value list = Value::List();
  for (const std::string& text : texts) list.items.push_back(Value::Text(text));
  return list;
}

Value Encode(const GpuFragmentationArgs& args) {
  Value out = Value::Map();
  out.Set("resources", TextList(args.resources));
  out.Set("deviceClasses", TextList(args.device_classes));
  out.Set("capacity", Value::Text(args.capacity));
  out.Set("deviceChoice", NameOf(kChoices, args.choice));
  out.Set("formula", NameOf(kFormulas, args.formula));
  if (!args.mix.empty()) {
    Value mix = Value::List();
    for (const TypicalPod& pod : args.mix) {
      Value item = Value::Map();
      item.Set("weight", Value::Float(pod.weight));
      if (!pod.cpu.empty()) item.Set("cpu", Value::Text(pod.cpu));
      if (!pod.memory.empty()) item.Set("memory", Value::Text(pod.memory));
      item.Set("gpus", Value::Number(pod.gpus));
      if (!pod.capacity.empty()) item.Set("capacity", Value::Text(pod.capacity));
      if (!pod.selectors.empty()) item.Set("selectors", TextList(pod.selectors));
      mix.items.push_back(std::move(item));
    }
    out.Set("mix", std::move(mix));
  }
  out.Set("mostClasses", Value::Number(args.most_classes));
  return out;
}

}  // namespace

Expected<GpuFragmentationArgs> ParseGpuFragmentationArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, Decode, Check);
}

config::ArgsCodec GpuFragmentationArgsCodec() {
  auto codec = config::MakeArgsCodec<GpuFragmentationArgs>("GpuFragmentationArgs", Decode, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
