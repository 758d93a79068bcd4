#include "scheduler/assembly/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/redact.hpp"

namespace berth::assembly {

namespace {

devices::Features DeviceFeatures(const config::FeatureGates& gates) {
  return {.admin_access = gates.Enabled("DRAAdminAccess"),
          .prioritized_list = gates.Enabled("DRAPrioritizedList"),
          .partitionable_devices = gates.Enabled("DRAPartitionableDevices"),
          .device_taints = gates.Enabled("DRADeviceTaints"),
          .device_taint_rules = gates.Enabled("DRADeviceTaintRules"),
          .binding_conditions =
              gates.Enabled("DRADeviceBindingConditions") && gates.Enabled("DRAResourceClaimDeviceStatus"),
          .consumable_capacity = gates.Enabled("DRAConsumableCapacity"),
          .fractional_capacity_range = gates.Enabled("DRAFractionalCapacityRange"),
          .extended_resources = gates.Enabled("DRAExtendedResource")};
}

std::unique_ptr<const cluster::PodGrouping> GroupingOf(const config::FeatureGates& gates) {
  if (gates.Enabled("CompositePodGroup")) return std::make_unique<cluster::NestedGroups>();
  if (gates.Enabled("GenericWorkload")) return std::make_unique<cluster::SchedulingGroups>();
  return std::make_unique<cluster::NoGrouping>();
}

}  // namespace

Engine::Engine(const EnginePorts& ports, const config::FeatureGates& gates)
    : cache_(symbols_),
      devices_(DeviceFeatures(gates), cache_.objects(), symbols_, cache_.nodes()),
      grouping_(GroupingOf(gates)),
      handle_{.symbols = symbols_,
              .reasons = reasons_,
              .nodes = cache_.nodes(),
              .objects = cache_.objects(),
              .counters = cache_.counters(),
              .volumes = cache_.volumes(),
              .devices = devices_,
              .groups = groups_,
              .signals = signals_,
              .api = ports.api,
              .events = ports.events,
              .loop = ports.loop,
              .scheduler = ports.scheduler,
              .gates = gates} {}

Expected<std::unique_ptr<Engine>> Engine::Build(const config::SchedulerConfig& config,
                                                const runtime::Registry& registry, const EnginePorts& ports,
                                                std::vector<std::string>& notes, const Measure& measure,
                                                const ExtenderAccess& access) {
  std::unique_ptr<Engine> engine(new Engine(ports, config.gates));
  if (!config.extenders.empty() && !access.make_transport) {
    return Invalid(
        fmt::format("extenders[0]: extender \"{}\" cannot be called by this command; remove "
                    "\"extenders\" from the configuration",
                    RedactUrl(config.extenders.front().url_prefix)));
  }
  BERTH_TRY(engine->extenders_,
            extenders::Extenders::Make(config.extenders, access.make_transport,
                                       {measure.registry, measure.clock, access.circuit}));
  if (!engine->extenders_->empty()) {
    engine->extenders_->ReviewOn(engine->cache_.nodes());
    engine->handle_.preemption_reviewers.push_back(engine->extenders_.get());
  }
  engine->handle_.metrics = measure.registry;
  engine->annotations_.assign(registry.annotations().begin(), registry.annotations().end());
  notes.insert(notes.end(), config.notes.begin(), config.notes.end());
  for (const auto& [plugin, note] : registry.notes()) {
    const bool enabled = std::ranges::any_of(
        config.profiles, [&](const config::Profile& profile) { return profile.Enables(plugin); });
    if (enabled) notes.push_back(note);
  }
  for (const config::Profile& profile : config.profiles) {
    std::unique_ptr<runtime::MetricsRecorder> metrics_recorder;
    if (measure.registry != nullptr) {
      metrics_recorder = std::make_unique<runtime::MetricsRecorder>(*measure.registry, *measure.clock,
                                                                    profile.scheduler_name, measure.options);
    }
    BERTH_TRY(engine->profiles_.emplace_back(),
              runtime::Profile::Build(profile, registry, engine->handle_, std::move(metrics_recorder)));
    engine->signals_of_profiles_.push_back(engine->signals_.TakeDeclared());
    if (!engine->extenders_->empty()) engine->profiles_.back()->RegisterForExtenders();
    const std::string_view sort = engine->profiles_.back()->queue_sort().Name();
    const std::string_view first = engine->profiles_.front()->queue_sort().Name();
    if (sort != first) {
      return Invalid(fmt::format(
          "initializing profiles: different queue sort plugins for profile \"{}\": \"{}\", first: \"{}\"",
          profile.scheduler_name, sort, first));
    }
  }
  return engine;
}

api::RetainedFields Engine::retained_fields() const {
  std::vector<std::string> annotations = annotations_;
  annotations.insert(annotations.end(), handle_.annotations.begin(), handle_.annotations.end());
  return {.annotations = std::move(annotations), .texts = extenders_->texts()};
}

bool Engine::IsMeasured(std::size_t profile) const {
  return std::ranges::all_of(signals_of_profiles_[profile], [this](load_metrics::SignalId id) {
    return load_metrics::HasValues(signals_.signal(id).state);
  });
}

const runtime::Profile* Engine::FindProfile(std::string_view scheduler_name) const {
  const auto found = std::ranges::find(profiles_, scheduler_name,
                                       [](const auto& profile) { return std::string_view(profile->name()); });
  return found == profiles_.end() ? nullptr : found->get();
}

}  // namespace berth::assembly
