#include "tools/migrate/configuration_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "base/nearest.hpp"
#include "process/effective_config.hpp"
#include "process/load_config.hpp"
#include "process/scheduler_flags.hpp"
#include "tools/migrate/foreign_plugins.hpp"

namespace berth::migrate {
namespace {

class Check {
 public:
  Check(const SchedulerSetup& setup, const runtime::Registry& plugins) : setup_(setup), plugins_(plugins) {}

  CheckedConfiguration Make() {
    if (ReadFlags() && ReadConfig()) {
      if (CheckPluginNames()) BuildPlugins();
      ReportDifferences();
    }
    return std::move(checked_);
  }

 private:
  void AddFinding(Level level, std::string what, std::string remedy = {}) {
    checked_.findings.push_back({level, Topic::kConfiguration, std::move(what), std::move(remedy)});
  }

  bool Accept(const Expected<void>& outcome) {
    if (!outcome) AddFinding(Level::kBlocker, "its command line: " + outcome.error().message);
    return outcome.has_value();
  }

  bool ReadFlags() {
    if (!Accept(table_.Parse(setup_.args)) || !Accept(process::CheckNoArguments(table_))) return false;
    std::vector<std::string> notes;
    auto gates = config::FeatureGates::Parse(flags_.feature_gates, notes);
    if (!gates) return Accept(std::unexpected(std::move(gates).error()));
    gates_ = std::move(*gates);
    for (std::string& note : notes) {
      const bool decides = note.contains("has no effect");
      AddFinding(decides ? Level::kWarning : Level::kNote, std::move(note));
    }
    if (!Accept(process::CheckVersions(flags_)) || !Accept(process::ValidateLogging(flags_, gates_)) ||
        !Accept(process::Validate(flags_, gates_)))
      return false;
    flags_.config = setup_.config;
    for (std::string& note : process::NotesOn(flags_, table_)) AddFinding(Level::kNote, std::move(note));
    return true;
  }

  bool ReadConfig() {
    // This command's connection to the API server differs from the scheduler's.
    flags_.client.kubeconfig = setup_.kubeconfig;
    flags_.master.clear();
    auto config = process::EffectiveConfig(flags_, table_, plugins_, gates_, setup_.config_text);
    if (!config) {
      AddFinding(
          Level::kBlocker, "the configuration does not load: " + config.error().message,
          "kube-scheduler v1.37.1 reports the same text up to the semicolon; run berth config check FILE "
          "after a change");
      return false;
    }
    std::vector<std::string> names;
    for (const config::Profile& profile : config->profiles) names.push_back(profile.scheduler_name);
    AddFinding(Level::kOk,
               fmt::format("{} loads: profiles {}",
                           config->version.empty() ? "the default configuration" : config->version,
                           fmt::join(names, ", ")));
    for (const std::string& note : config->notes) AddFinding(Level::kNote, note);
    checked_.config = std::move(*config);
    return true;
  }

  // The profiles that enable each unknown plugin.
  std::map<std::string, std::set<std::string>> UnknownPlugins() const {
    std::map<std::string, std::set<std::string>> unknown;
    for (const config::Profile& profile : checked_.config->profiles) {
      for (const config::PluginSet& set : profile.plugins) {
        for (const config::PluginRef& plugin : set.enabled) {
          if (plugins_.Find(plugin.name) == nullptr) unknown[plugin.name].insert(profile.scheduler_name);
        }
      }
    }
    return unknown;
  }

  bool CheckPluginNames() {
    const auto unknown = UnknownPlugins();
    for (const auto& [name, profiles] : unknown) {
      const std::string near = Nearest(name, plugins_.Names());
      const ForeignPlugin* foreign = FindForeignPlugin(name);
      AddFinding(Level::kBlocker,
                 fmt::format("profile {}: Berth has no plugin {}{}", fmt::join(profiles, ", "), name,
                             foreign != nullptr ? fmt::format(" (of {})", foreign->home)
                             : near.empty()     ? ""
                                                : fmt::format("; did you mean {}?", near)),
                 foreign != nullptr
                     ? std::string(foreign->remedy)
                     : "rewrite it in C++ (docs/guide/plugins.md), serve it as an extender "
                       "(docs/guide/extenders.md), or keep its profile in the present scheduler");
    }
    return unknown.empty();
  }

  void BuildPlugins() {
    std::vector<std::string> notes;
    auto requested = process::TryPlugins(*checked_.config, plugins_, notes);
    if (!requested)
      AddFinding(Level::kBlocker, "the scheduler would not start: " + requested.error().message);
    checked_.requested_resources = std::move(requested).value_or(std::vector<std::string>());
    for (std::string& note : notes) AddFinding(Level::kNote, std::move(note));
  }

  bool Samples() const {
    const auto& profiles = checked_.config->profiles;
    const auto unset = [&](const config::Profile& profile) {
      return profile.percentage_of_nodes_to_score.value_or(checked_.config->percentage_of_nodes_to_score) ==
             0;
    };
    return std::ranges::any_of(profiles, unset);
  }

  void ReportDifferences() {
    const config::SchedulerConfig& config = *checked_.config;
    if (Samples() && !flags_.own.adaptive_sampling)
      AddFinding(
          Level::kNote,
          "percentageOfNodesToScore is not set: kube-scheduler samples nodes in large clusters, Berth "
          "evaluates all nodes",
          "--berth-adaptive-sampling restores the sampling; values from 1 to 100 mean the same to both");
    if (!config.client_connection.limits_given)
      AddFinding(
          Level::kNote,
          "clientConnection.qps and burst are not set: kube-scheduler sends at most 50 requests per second, "
          "Berth has no limit of its own (the API server's priority and fairness, 429)",
          "clientConnection: {qps: 50, burst: 100} restores the limit");
    AddFinding(
        Level::kNote,
        "Berth chooses randomly between nodes with equal scores; identical pods may spread differently",
        "--berth-seed=N makes the choices repeatable");
    AddFinding(
        Level::kNote,
        "metrics of Go's runtime (go_*) are missing, those of opportunistic batching stay at zero: check "
        "dashboards and alerts for them");
    AddFinding(Level::kNote,
               "besides --secure-port, Berth serves health checks in plain HTTP on 127.0.0.1:10251",
               "--berth-http-address=127.0.0.1:0 disables it");
  }

  const SchedulerSetup& setup_;
  const runtime::Registry& plugins_;
  process::SchedulerFlags flags_;
  command_line::FlagSet table_ = process::TableOf(flags_);
  config::FeatureGates gates_;
  CheckedConfiguration checked_;
};

}  // namespace

std::string ConfigNamedBy(const std::vector<std::string>& args) {
  process::SchedulerFlags flags;
  command_line::FlagSet table = process::TableOf(flags);
  return table.Parse(args) ? flags.config : "";
}

CheckedConfiguration CheckConfiguration(const SchedulerSetup& setup, const runtime::Registry& plugins) {
  return Check(setup, plugins).Make();
}

}  // namespace berth::migrate
