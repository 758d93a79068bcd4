#include "config/feature_gates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/go_scalars.hpp"
#include "base/trim.hpp"
#include "config/feature_gate_table.hpp"

namespace berth::config {
namespace {

// Gates that affect scheduling but that Berth does not implement: a value other than the default has no
// effect and adds a note.
constexpr std::string_view kWithoutEffect[] = {
    "DRADerivedAttributes",
    "DRADeviceCompatibilityGroups",
    "DRAListTypeAttributes",
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "DRAWorkloadResourceClaims",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScalingSchedulerPreemption",
    "InterPodAffinityHostnameFastPath",
    "NominatedNodeNameForExpectation",
    "OpportunisticBatching",
    "PodLevelResources",
    "SchedulerAsyncAPICalls",
    "SchedulerPopFromBackoffQ",
    "TaintTolerationComparisonOperators",
};

const Gate* Find(std::string_view name) {
  const auto all = AllGates();
  const auto found = std::ranges::lower_bound(all, name, {}, &Gate::name);
  return found == all.end() || found->name != name ? nullptr : &*found;
}

bool LosesEffect(const Gate& gate, bool on) {
  return on != gate.on && std::ranges::find(kWithoutEffect, gate.name) != std::end(kWithoutEffect);
}

struct Setting {
  std::string gate;
  bool on = false;
};

// Accepts "kube:A=true" or "A=true", but not both forms in one command line.
class SettingReader {
 public:
  Expected<Setting> Read(std::string_view text) {
    const std::size_t equals = text.find('=');
    std::string_view name = Trimmed(text.substr(0, equals));
    bool prefixed = false;
    if (const std::size_t colon = name.find(':'); colon != name.npos) {
      if (name.substr(0, colon) != "kube")
        return Invalid(fmt::format("component not registered: {}", name.substr(0, colon)));
      name.remove_prefix(colon + 1);
      prefixed = true;
    }
    if (prefixed_.value_or(prefixed) != prefixed) {
      return Invalid(
          "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use");
    }
    prefixed_ = prefixed;
    if (equals == text.npos) return Invalid(fmt::format("missing bool value for {}", name));
    const std::string_view value = Trimmed(text.substr(equals + 1));
    const auto on = ParseGoBool(value);
    if (!on) {
      return Invalid(
          fmt::format("invalid value of {}={}, err: strconv.ParseBool: parsing \"{}\": invalid syntax", name,
                      value, value));
    }
    return Setting{std::string(name), *on};
  }

 private:
  std::optional<bool> prefixed_;
};

}  // namespace

Expected<FeatureGates> FeatureGates::Parse(std::span<const std::string> values,
                                           std::vector<std::string>& notes) {
  SettingReader reader;
  std::map<std::string, bool> settings;
  for (std::string_view rest : values) {
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view one = Trimmed(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (one.empty()) continue;
      BERTH_TRY(const Setting setting, reader.Read(one));
      settings[setting.gate] = setting.on;
    }
  }
  FeatureGates gates;
  const auto whole_stage = [&](const char* name, GateStage stage, bool& on) {
    const auto setting = settings.find(name);
    if (setting == settings.end()) return;
    on = setting->second;
    std::vector<std::string_view> without_effect;
    for (const Gate& gate : AllGates()) {
      if (gate.stage != stage || gate.locked) continue;
      gates.set_.insert_or_assign(std::string(gate.name), on);
      if (LosesEffect(gate, on) && !settings.contains(std::string(gate.name)))
        without_effect.push_back(gate.name);
    }
    if (!without_effect.empty())
      notes.push_back(
          fmt::format("feature gate {}={} has no effect on {}: Berth works as with their defaults", name, on,
                      fmt::join(without_effect, ", ")));
    settings.erase(setting);
  };
  whole_stage("AllAlpha", GateStage::kAlpha, gates.all_alpha_);
  whole_stage("AllBeta", GateStage::kBeta, gates.all_beta_);
  for (const auto& [gate, on] : settings) BERTH_RETURN_IF_ERROR(gates.Set(gate, on, notes));
  if (std::string unmet = gates.UnmetNeeds(); !unmet.empty()) return Invalid(std::move(unmet));
  return gates;
}

Expected<void> FeatureGates::Set(const std::string& name, bool on, std::vector<std::string>& notes) {
  const Gate* gate = Find(name);
  if (gate == nullptr) return Invalid(fmt::format("unrecognized feature gate: {}", name));
  if (gate->locked && gate->on != on) {
    return Invalid(
        fmt::format("cannot set feature gate {} to {}, feature is locked to {}", name, on, gate->on));
  }
  if (gate->stage == GateStage::kGa) {
    notes.push_back(
        fmt::format("feature gate {}={}: it is GA and will be removed in a future release", name, on));
  } else if (gate->stage == GateStage::kDeprecated) {
    notes.push_back(fmt::format(
        "feature gate {}={}: it is deprecated and will be removed in a future release", name, on));
  }
  if (LosesEffect(*gate, on)) {
    notes.push_back(
        fmt::format("feature gate {}={} has no effect: Berth works as with {}={}", name, on, name, gate->on));
  }
  set_.insert_or_assign(name, on);
  return {};
}

// Errors have kube-scheduler's texts; the unmet dependencies of one gate are listed together.
std::string FeatureGates::UnmetNeeds() const {
  std::map<std::string_view, std::vector<std::string_view>> unmet;
  for (const GateNeed& need : AllGateNeeds()) {
    if (Enabled(need.gate) && !Enabled(need.needs)) unmet[need.gate].push_back(need.needs);
  }
  std::vector<std::string> texts;
  for (const auto& [gate, needs] : unmet) {
    texts.push_back(fmt::format("{} is enabled, but depends on features that are disabled: [{}]", gate,
                                fmt::join(needs, " ")));
  }
  return texts.size() == 1 ? texts.front() : texts.empty() ? "" : fmt::format("[{}]", fmt::join(texts, ", "));
}

void FeatureGates::ForEach(
    const std::function<void(std::string_view gate, std::string_view stage, bool on)>& visit) const {
  const auto stage = [](GateStage of) -> std::string_view {
    switch (of) {
      case GateStage::kAlpha:
        return "ALPHA";
      case GateStage::kBeta:
        return "BETA";
      case GateStage::kDeprecated:
        return "DEPRECATED";
      case GateStage::kGa:
        break;
    }
    return "";
  };
  visit("AllAlpha", "ALPHA", all_alpha_);
  visit("AllBeta", "BETA", all_beta_);
  for (const Gate& gate : AllGates()) visit(gate.name, stage(gate.stage), Enabled(gate.name));
}

bool FeatureGates::Enabled(std::string_view gate) const {
  if (const auto set = set_.find(gate); set != set_.end()) return set->second;
  const Gate* known = Find(gate);
  if (known == nullptr) throw std::logic_error("no feature gate " + std::string(gate));
  return known->on;
}

}  // namespace berth::config
