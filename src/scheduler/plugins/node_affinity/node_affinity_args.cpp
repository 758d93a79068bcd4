#include "scheduler/plugins/node_affinity/node_affinity_args.hpp"

#include <fmt/format.h>

#include "scheduler/cluster/pod_selectors.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/symbol_table.hpp"

namespace berth::plugins {
namespace {

using config::Value;

void ReadRequirement(const config::Value& value, const std::string& path, api::NodeSelectorRequirement& out,
                     config::Problems& problems) {
  config::StructReader reader(value, "NodeSelectorRequirement", path, problems);
  reader.Read("key", out.key);
  reader.Read("operator", out.op, "v1.NodeSelectorOperator");
  reader.Read("values", out.values);
  reader.Finish();
}

void ReadTerm(const config::Value& value, const std::string& path, api::NodeSelectorTerm& out,
              config::Problems& problems) {
  config::StructReader reader(value, "NodeSelectorTerm", path, problems);
  reader.Each(
      "matchExpressions",
      [&](const config::Value& item, const std::string& place) {
        ReadRequirement(item, place, out.match_expressions.emplace_back(), problems);
      },
      "v1.NodeSelectorRequirement");
  reader.Each(
      "matchFields",
      [&](const config::Value& item, const std::string& place) {
        ReadRequirement(item, place, out.match_fields.emplace_back(), problems);
      },
      "v1.NodeSelectorRequirement");
  reader.Finish();
}

void ReadAddedAffinity(const config::Value& value, const std::string& path, NodeAffinityArgs& out,
                       config::Problems& problems) {
  config::StructReader reader(value, "NodeAffinity", path, problems);
  reader.With(
      "requiredDuringSchedulingIgnoredDuringExecution",
      [&](const config::Value& selector, const std::string& place) {
        out.added_required.emplace();
        config::StructReader fields(selector, "NodeSelector", place, problems);
        fields.Each(
            "nodeSelectorTerms",
            [&](const config::Value& item, const std::string& item_place) {
              ReadTerm(item, item_place, out.added_required->terms.emplace_back(), problems);
            },
            "v1.NodeSelectorTerm");
        fields.Finish();
      },
      "v1.NodeSelector");
  reader.Each(
      "preferredDuringSchedulingIgnoredDuringExecution",
      [&](const config::Value& item, const std::string& place) {
        api::PreferredSchedulingTerm& term = out.added_preferred.emplace_back();
        std::int64_t weight = 0;
        config::StructReader fields(item, "PreferredSchedulingTerm", place, problems);
        fields.Read("weight", weight, "int32");
        fields.With(
            "preference",
            [&](const config::Value& preference, const std::string& preference_place) {
              ReadTerm(preference, preference_place, term.preference, problems);
            },
            "v1.NodeSelectorTerm");
        fields.Finish();
        term.weight = static_cast<std::int32_t>(weight);
      },
      "v1.PreferredSchedulingTerm");
  reader.Finish();
}

NodeAffinityArgs DecodeNodeAffinityArgs(const Value& value, const config::FeatureGates&,
                                        config::Problems& problems) {
  NodeAffinityArgs args;
  config::StructReader reader(value, "NodeAffinityArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.With(
      "addedAffinity",
      [&](const Value& affinity, const std::string& path) {
        args.has_added = true;
        ReadAddedAffinity(affinity, path, args, problems);
      },
      "v1.NodeAffinity");
  reader.Finish();
  return args;
}

// Compiling the terms reports errors in their expressions.
std::vector<std::string> Check(const NodeAffinityArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  cluster::SymbolTable symbols;
  cluster::SymbolScope scratch(symbols);
  std::vector<std::string> errors;
  const std::string place = path + ".addedAffinity.";
  if (args.added_required) {
    const std::string terms = place + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    for (std::size_t i = 0; i < args.added_required->terms.size(); ++i) {
      cluster::CompileTerm(args.added_required->terms[i], fmt::format("{}[{}]", terms, i), &errors, scratch);
    }
  }
  for (std::size_t i = 0; i < args.added_preferred.size(); ++i) {
    const std::string terms = place + "preferredDuringSchedulingIgnoredDuringExecution";
    cluster::CompileTerm(args.added_preferred[i].preference, fmt::format("{}[{}]", terms, i), &errors,
                         scratch);
  }
  return errors;
}

Value EncodeRequirements(const std::vector<api::NodeSelectorRequirement>& requirements) {
  Value list = Value::List();
  for (const api::NodeSelectorRequirement& requirement : requirements) {
    Value& item = list.items.emplace_back(Value::Map());
    item.Set("key", Value::Text(requirement.key));
    item.Set("operator", Value::Text(requirement.op));
    if (requirement.values.empty()) continue;
    Value& values = item.Set("values", Value::List());
    for (const std::string& value : requirement.values) values.items.push_back(Value::Text(value));
  }
  return list;
}

Value EncodeTerm(const api::NodeSelectorTerm& term) {
  Value out = Value::Map();
  if (!term.match_expressions.empty())
    out.Set("matchExpressions", EncodeRequirements(term.match_expressions));
  if (!term.match_fields.empty()) out.Set("matchFields", EncodeRequirements(term.match_fields));
  return out;
}

Value Encode(const NodeAffinityArgs& args) {
  Value out = Value::Map();
  if (!args.has_added) return out;
  Value& added = out.Set("addedAffinity", Value::Map());
  if (args.added_required) {
    Value terms = args.added_required->terms.empty() ? Value::Null() : Value::List();
    for (const auto& term : args.added_required->terms) terms.items.push_back(EncodeTerm(term));
    added.Set("requiredDuringSchedulingIgnoredDuringExecution", Value::Map())
        .Set("nodeSelectorTerms", std::move(terms));
  }
  if (args.added_preferred.empty()) return out;
  Value& preferred = added.Set("preferredDuringSchedulingIgnoredDuringExecution", Value::List());
  for (const auto& term : args.added_preferred) {
    Value& item = preferred.items.emplace_back(Value::Map());
    item.Set("weight", Value::Number(term.weight));
    item.Set("preference", EncodeTerm(term.preference));
  }
  return out;
}

}  // namespace

Expected<NodeAffinityArgs> ParseNodeAffinityArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeNodeAffinityArgs, Check);
}

config::ArgsCodec NodeAffinityArgsCodec() {
  return config::MakeArgsCodec<NodeAffinityArgs>("NodeAffinityArgs", DecodeNodeAffinityArgs, Check, Encode);
}

}  // namespace berth::plugins
