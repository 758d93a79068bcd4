#include "scheduler/plugins/node_cost/node_cost_args.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "config/name_errors.hpp"

namespace berth::plugins {
namespace {

using config::Problems;
using config::StructReader;
using config::Value;

using LabelPrices = NodeCostArgs::LabelPrices;

void ReadLabelPrices(const Value& value, const std::string& path, std::vector<LabelPrices>& out,
                     Problems& problems) {
  LabelPrices& prices = out.emplace_back();
  StructReader reader(value, "LabelPrices", path, problems);
  reader.Read("label", prices.label);
  reader.With("values", [&](const Value& map, const std::string& at) {
    for (const auto& [text, number] : map.members) {
      if (const auto price = ParsePrice(number.text)) {
        prices.values[text] = *price;
      } else {
        problems.Other(fmt::format("{}.{}: Invalid value: \"{}\": must be a decimal number from 0 to {}", at,
                                   text, number.text, kHighestPrice));
      }
    }
  });
  reader.Finish();
}

void ReadPer(StructReader& reader, NodeCostArgs& args, Problems& problems) {
  std::string per;
  reader.Read("per", per);
  if (per == "cpu") {
    args.per = NodeCostArgs::Per::kCpu;
  } else if (per == "memory") {
    args.per = NodeCostArgs::Per::kMemory;
  } else if (!per.empty() && per != "node") {
    problems.Other(
        fmt::format("per: Unsupported value: \"{}\": supported values: \"node\", \"cpu\", \"memory\"", per));
  }
}

void ReadAmount(StructReader& reader, NodeCostArgs& args, Problems& problems) {
  std::string amount;
  reader.Read("amount", amount);
  if (amount == "free") {
    args.amount = NodeCostArgs::Amount::kFree;
  } else if (!amount.empty() && amount != "allocatable") {
    problems.Other(fmt::format(
        "amount: Unsupported value: \"{}\": supported values: \"allocatable\", \"free\"", amount));
  }
}

NodeCostArgs DecodeNodeCostArgs(const Value& value, const config::FeatureGates&, Problems& problems) {
  NodeCostArgs args;
  StructReader reader(value, "NodeCostArgs", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("priceLabel", args.price_label);
  const auto read_lists = [&](std::string_view name, std::vector<LabelPrices>& out) {
    reader.Each(
        name, [&](const Value& item, const std::string& path) { ReadLabelPrices(item, path, out, problems); },
        "LabelPrices");
  };
  read_lists("prices", args.prices);
  read_lists("factors", args.factors);
  ReadPer(reader, args, problems);
  ReadAmount(reader, args, problems);
  reader.Finish();
  return args;
}

void CheckLabelPrices(const std::vector<LabelPrices>& lists, const std::string& path,
                      std::vector<std::string>& errors) {
  std::set<std::string> labels;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (config::CheckQualifiedName(at + ".label", lists[i].label, errors) &&
        !labels.insert(lists[i].label).second)
      errors.push_back(fmt::format("{}.label: Duplicate value: \"{}\"", at, lists[i].label));
    if (lists[i].values.empty())
      errors.push_back(at + ".values: Required value: at least one value of the label");
  }
}

std::vector<std::string> Check(const NodeCostArgs& args, const std::string& path,
                               const config::FeatureGates&) {
  std::vector<std::string> errors;
  if (!args.price_label.empty()) {
    config::CheckQualifiedName(path + ".priceLabel", args.price_label, errors);
  } else if (args.prices.empty()) {
    errors.push_back(path + ".priceLabel: Required value: priceLabel or prices must be given");
  }
  CheckLabelPrices(args.prices, path + ".prices", errors);
  CheckLabelPrices(args.factors, path + ".factors", errors);
  if (args.per == NodeCostArgs::Per::kNode && args.amount == NodeCostArgs::Amount::kFree)
    errors.push_back(path + ".amount: Forbidden: free needs per: cpu or per: memory");
  return errors;
}

Value WriteLabelPrices(const std::vector<LabelPrices>& lists) {
  Value out = Value::List();
  for (const LabelPrices& prices : lists) {
    Value values = Value::Map();
    for (const auto& [text, price] : prices.values) values.Set(text, Value::Text(fmt::format("{}", price)));
    Value item = Value::Map();
    item.Set("label", Value::Text(prices.label));
    item.Set("values", std::move(values));
    out.items.push_back(std::move(item));
  }
  return out;
}

Value Encode(const NodeCostArgs& args) {
  Value out = Value::Map();
  if (!args.price_label.empty()) out.Set("priceLabel", Value::Text(args.price_label));
  if (!args.prices.empty()) out.Set("prices", WriteLabelPrices(args.prices));
  if (!args.factors.empty()) out.Set("factors", WriteLabelPrices(args.factors));
  using Per = NodeCostArgs::Per;
  out.Set("per", Value::Text(args.per == Per::kNode ? "node" : args.per == Per::kCpu ? "cpu" : "memory"));
  const bool free = args.amount == NodeCostArgs::Amount::kFree;
  out.Set("amount", Value::Text(free ? "free" : "allocatable"));
  return out;
}

}  // namespace

std::optional<double> ParsePrice(std::string_view text) {
  double price = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), price);
  // from_chars accepts "nan" and "inf", which the comparison rejects.
  if (error != std::errc{} || end != text.data() + text.size() || !(price >= 0 && price <= kHighestPrice))
    return std::nullopt;
  return price;
}

Expected<NodeCostArgs> ParseNodeCostArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeNodeCostArgs, Check);
}

config::ArgsCodec NodeCostArgsCodec() {
  auto codec = config::MakeArgsCodec<NodeCostArgs>("NodeCostArgs", DecodeNodeCostArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

}  // namespace berth::plugins
