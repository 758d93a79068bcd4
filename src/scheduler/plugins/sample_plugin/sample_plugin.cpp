#include "scheduler/plugins/sample_plugin/sample_plugin.hpp"

#include <fmt/format.h>

#include "observability/log/log.hpp"

namespace berth::plugins {
namespace {

using config::Value;

SamplePluginArgs DecodeSamplePluginArgs(const Value& value, const config::FeatureGates&,
                                        config::Problems& problems) {
  SamplePluginArgs args;
  config::StructReader reader(value, "Args", "", problems);
  framework::AcceptTypeMeta(reader);
  reader.Read("favorite_color", args.favorite_color);
  reader.Read("favorite_number", args.favorite_number, "int");
  reader.Read("thanks_to", args.thanks_to);
  reader.Finish();
  return args;
}

std::vector<std::string> Check(const SamplePluginArgs&, const std::string&, const config::FeatureGates&) {
  return {};
}

Value Encode(const SamplePluginArgs& args) {
  Value out = Value::Map();
  if (!args.favorite_color.empty()) out.Set("favorite_color", Value::Text(args.favorite_color));
  if (args.favorite_number != 0) out.Set("favorite_number", Value::Number(args.favorite_number));
  if (!args.thanks_to.empty()) out.Set("thanks_to", Value::Text(args.thanks_to));
  return out;
}

}  // namespace

Expected<SamplePluginArgs> ParseSamplePluginArgs(const framework::RawArgs& raw) {
  return framework::ParseArgs(raw, {}, DecodeSamplePluginArgs, Check);
}

config::ArgsCodec SamplePluginArgsCodec() {
  auto codec =
      config::MakeArgsCodec<SamplePluginArgs>("SamplePluginArgs", DecodeSamplePluginArgs, Check, Encode);
  codec.in_tree = false;
  return codec;
}

framework::PluginOrError SamplePlugin::Create(const framework::RawArgs& raw, framework::Handle&) {
  BERTH_TRY(const SamplePluginArgs args, ParseSamplePluginArgs(raw));
  if (log::V(3))
    log::Info(fmt::format("get plugin config args: &{{FavoriteColor:{} FavoriteNumber:{} ThanksTo:{}}}",
                          args.favorite_color, args.favorite_number, args.thanks_to));
  return std::make_unique<SamplePlugin>();
}

framework::PreFilterResult SamplePlugin::PreFilter(const framework::Attempt& attempt) const {
  if (const auto log = log::V(3))
    log.Info(fmt::format("prefilter pod: {}", attempt.pod().pod->metadata.name));
  return {};
}

void SamplePlugin::Filter(const framework::Attempt& attempt, const RowSet& candidates,
                          framework::Rejections&) const {
  if (!log::V(3)) return;
  candidates.ForEach([&](std::size_t row) {
    log::Info(fmt::format("filter pod: {}, node: {}", attempt.pod().pod->metadata.name,
                          attempt.nodes().name(static_cast<cluster::Row>(row))));
  });
}

void SamplePlugin::PreBind(const framework::Placement& placement, std::stop_token,
                           framework::StatusCallback answer) {
  if (const auto log = log::V(3)) log.Info(fmt::format("prebind node info: {}", placement.node));
  answer({});
}

}  // namespace berth::plugins
