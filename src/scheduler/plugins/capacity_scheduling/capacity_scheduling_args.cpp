#include "scheduler/plugins/capacity_scheduling/capacity_scheduling_args.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/nearest.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;
using Hierarchy = CapacitySchedulingArgs::Hierarchy;

const std::vector<std::string>& HierarchyNames() {
  static const std::vector<std::string> kNames = {"None", "Koordinator"};
  return kNames;
}

CapacitySchedulingArgs DecodeCapacityArgs(const Value& value, const config::FeatureGates&,
                                          Problems& problems) {
  CapacitySchedulingArgs args;
  StructReader reader(value, "CapacitySchedulingArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  std::string text;
  reader.Read("hierarchy", text);
  reader.Finish();
  if (text == "Koordinator") {
    args.hierarchy = Hierarchy::kKoordinator;
  } else if (!text.empty() && text != "None") {
    const std::string near = Nearest(text, HierarchyNames());
    problems.Other(
        fmt::format("hierarchy: Unsupported value: \"{}\": supported values: \"None\", \"Koordinator\"{}",
                    text, near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
  }
  return args;
}

std::vector<std::string> CheckCapacityArgs(const CapacitySchedulingArgs&, const std::string&,
                                           const config::FeatureGates&) {
  return {};
}

// Without a hierarchy there are no arguments, as in scheduler-plugins.
Value EncodeCapacityArgs(const CapacitySchedulingArgs& args) {
  Value out = Value::Map();
  if (args.hierarchy == Hierarchy::kKoordinator) out.Set("hierarchy", Value::Text("Koordinator"));
  return out;
}

}  // namespace

Expected<CapacitySchedulingArgs> ParseCapacitySchedulingArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeCapacityArgs, CheckCapacityArgs);
}

config::ArgsCodec CapacitySchedulingArgsCodec() {
  auto codec = config::MakeArgsCodec<CapacitySchedulingArgs>("CapacitySchedulingArgs", DecodeCapacityArgs,
                                                             CheckCapacityArgs, EncodeCapacityArgs);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
