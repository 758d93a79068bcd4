// Until v1beta1 three plugins scored by resources; in v1 NodeResourcesFit does, with one of three strategies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "config/versions/version.hpp"

namespace berth::config {
namespace {

struct Strategy {
  std::string_view plugin;
  std::string_view type;
};
constexpr std::array<Strategy, 3> kStrategies{{{"NodeResourcesLeastAllocated", "LeastAllocated"},
                                               {"NodeResourcesMostAllocated", "MostAllocated"},
                                               {"RequestedToCapacityRatio", "RequestedToCapacityRatio"}}};
constexpr std::string_view kDefault = "NodeResourcesLeastAllocated";
constexpr std::string_view kFit = "NodeResourcesFit";

const Strategy* FindStrategy(std::string_view plugin) {
  const auto found = std::ranges::find(kStrategies, plugin, &Strategy::plugin);
  return found == kStrategies.end() ? nullptr : &*found;
}

// The enabled plugins that score by resources, including the default one; NodeResourcesFit itself can be one
// from 1.22 on.
std::vector<std::string> Scoring(const PluginSet& score) {
  std::vector<std::string> plugins;
  if (!score.DisablesAll() && !score.Disables(kDefault) && !score.Enables(kDefault))
    plugins.emplace_back(kDefault);
  for (const PluginRef& plugin : score.enabled) {
    if (FindStrategy(plugin.name) != nullptr || plugin.name == kFit) plugins.push_back(plugin.name);
  }
  return plugins;
}

// Converts the arguments of the old plugin to a scoringStrategy.
Value StrategyOf(const Strategy& strategy, const std::optional<Value>& args) {
  Value out = Value::Map();
  out.Set("type", Value::Text(std::string(strategy.type)));
  if (!args || args->kind != Value::Kind::kMap) return out;
  for (const auto& [name, member] : args->members) {
    if (name == "kind" || name == "apiVersion") continue;
    if (name == "shape") {
      out.Set("requestedToCapacityRatio", Value::Map()).Set("shape", member);
    } else {
      out.Set(name, member);  // resources; unknown members are reported when this is read
    }
  }
  return out;
}

// Removes the entries of the three plugins.
std::optional<Value> TakeStrategy(const Strategy& wanted, ProfileDocument& profile, Document& document) {
  std::optional<Value> found;
  std::erase_if(profile.plugin_config, [&](const PluginConfigEntry& entry) {
    if (FindStrategy(entry.name) == nullptr) return false;
    if (entry.name == wanted.plugin) {
      found = StrategyOf(wanted, entry.args);
    } else {
      document.Note(fmt::format("{} has no effect: {} does not score", entry.path, entry.name));
    }
    return true;
  });
  return found;
}

void UseStrategy(const Strategy& strategy, ProfileDocument& profile, Document& document) {
  std::optional<Value> given = TakeStrategy(strategy, profile, document);
  const PluginConfigEntry* fit = profile.FindConfig(kFit);
  if (fit != nullptr && fit->args && fit->args->Find("scoringStrategy") != nullptr)
    document.Note(
        fmt::format("{}.args.scoringStrategy has no effect: {} scores", fit->path, strategy.plugin));
  if (!given && strategy.plugin == kDefault && (fit == nullptr || !fit->args)) return;
  profile.ArgsOf(std::string(kFit))
      .Set("scoringStrategy", given ? std::move(*given) : StrategyOf(strategy, std::nullopt));
}

void RenameInScore(PluginSet& score, bool nothing_scores) {
  for (PluginRef& plugin : score.enabled) {
    if (FindStrategy(plugin.name) != nullptr) plugin.name = kFit;
  }
  std::erase_if(score.disabled, [](const std::string& name) { return FindStrategy(name) != nullptr; });
  if (nothing_scores && !score.DisablesAll() && !score.Disables(kFit)) score.disabled.emplace_back(kFit);
}

}  // namespace

void ReplaceStrategyPlugins(Version, ProfileDocument& profile, Document& document) {
  PluginSet& score = profile.at(Point::kScore);
  const std::vector<std::string> scoring = Scoring(score);
  if (scoring.size() > 1) {
    document.errors.push_back(fmt::format(
        "{}: {} score together; NodeResourcesFit replaces them and has one scoringStrategy: disable all but "
        "one",
        profile.PathOf(Point::kScore), fmt::join(scoring, " and ")));
    return;
  }
  const Strategy* strategy = scoring.empty() ? nullptr : FindStrategy(scoring.front());
  if (strategy != nullptr) {
    UseStrategy(*strategy, profile, document);
    if (strategy->plugin != kDefault || score.Enables(kDefault))
      document.Note(fmt::format("{}: {} is replaced by NodeResourcesFit with scoringStrategy {}",
                                profile.PathOf(Point::kScore), strategy->plugin, strategy->type));
  } else {
    TakeStrategy({}, profile, document);
  }
  RenameInScore(score, scoring.empty());
}

}  // namespace berth::config
