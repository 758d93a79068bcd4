#include "scheduler/assembly/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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
              .pending = pending_,
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
  engine->handle_.metrics = measure.registry;
  engine->annotations_.assign(registry.annotations().begin(), registry.annotations().end());
  BERTH_TRY(auto set, engine->BuildSet(config, registry, notes, measure, access));
  engine->Use(std::move(set), MonoTime{});
  return engine;
}

// Keys, buffers and marks are numbered from zero again: states and buffers of attempts are not shared between
// sets, and marks are few.
Expected<std::shared_ptr<ProfileSet>> Engine::BuildSet(const config::SchedulerConfig& config,
                                                       const runtime::Registry& registry,
                                                       std::vector<std::string>& notes,
                                                       const Measure& measure, const ExtenderAccess& access) {
  // A default plugin of each profile takes one of the 64 marks of an attempt.
  constexpr std::size_t kMostProfiles = 60;
  if (config.profiles.size() > kMostProfiles)
    return Invalid(
        fmt::format("profiles: expected at most {}, got {}", kMostProfiles, config.profiles.size()));
  auto set = std::make_shared<ProfileSet>();
  set->listeners = std::make_shared<const char>();
  signals_.SetListenerOwner(set->listeners);
  handle_.next_state_slot = 0;
  handle_.next_buffer_slot = framework::kFirstPluginBuffer;
  // The handle's own mark is the first one.
  handle_.next_state_mark =
      static_cast<std::uint32_t>(std::bit_width(std::to_underlying(handle_.least_waste)));
  if (!config.extenders.empty() && !access.make_transport) {
    return Invalid(
        fmt::format("extenders[0]: extender \"{}\" cannot be called by this command; remove "
                    "\"extenders\" from the configuration",
                    RedactUrl(config.extenders.front().url_prefix)));
  }
  BERTH_TRY(set->extenders, extenders::Extenders::Make(config.extenders, access.make_transport,
                                                       {measure.registry, measure.clock, access.circuit}));
  set->extenders->ReviewOn(cache_.nodes());
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
    BERTH_TRY(set->profiles.emplace_back(),
              runtime::Profile::Build(profile, registry, handle_, std::move(metrics_recorder)));
    set->signals.push_back(signals_.TakeDeclared());
    if (!set->extenders->empty()) set->profiles.back()->RegisterForExtenders();
    const std::string_view sort = set->profiles.back()->queue_sort().Name();
    const std::string_view first = set->profiles.front()->queue_sort().Name();
    if (sort != first) {
      return Invalid(fmt::format(
          "initializing profiles: different queue sort plugins for profile \"{}\": \"{}\", first: \"{}\"",
          profile.scheduler_name, sort, first));
    }
  }
  return set;
}

Expected<void> Engine::CheckReplacement(const Engine& other) const {
  const api::RetainedFields retained = retained_fields(), wanted = other.retained_fields();
  for (const std::string& annotation : wanted.annotations) {
    if (std::ranges::find(retained.annotations, annotation) == retained.annotations.end())
      return Invalid(fmt::format("a plugin reads the annotation \"{}\" of pods, which is not kept in memory",
                                 annotation));
  }
  const auto missing = [](bool is_retained, bool is_wanted) { return is_wanted && !is_retained; };
  if (missing(retained.texts.nodes, wanted.texts.nodes) ||
      missing(retained.texts.waiting_pods, wanted.texts.waiting_pods) ||
      missing(retained.texts.placed_pods, wanted.texts.placed_pods))
    return Invalid("extenders receive whole pods or nodes, which are not kept in memory");
  if (groups_.HasExternal() || other.groups_.HasExternal())
    return Invalid("a profile enables Coscheduling or Gangs, whose arguments define the groups of all pods");
  for (const std::string& resource : other.handle_.requested_resources) {
    if (std::ranges::find(handle_.requested_resources, resource) == handle_.requested_resources.end())
      return Invalid(fmt::format("a plugin reads {}, which are not watched", resource));
  }
  for (std::size_t id = 0; id < other.signals_.size(); ++id) {
    const load_metrics::SignalSpec& spec =
        other.signals_.signal(static_cast<load_metrics::SignalId>(id)).spec;
    if (!signals_.Has(spec))
      return Invalid(fmt::format("the measurement \"{}\" of the source \"{}\" is not polled", spec.name,
                                 RedactUrl(spec.source)));
  }
  return {};
}

Expected<std::shared_ptr<ProfileSet>> Engine::Prepare(const config::SchedulerConfig& config,
                                                      const runtime::Registry& registry,
                                                      std::vector<std::string>& notes, const Measure& measure,
                                                      const ExtenderAccess& access) {
  std::size_t added = 0;
  for (const config::Profile& profile : config.profiles)
    added += profiles_.Knows(profile.scheduler_name) ? 0 : 1;
  if (profiles_.size() + added > runtime::ProfileList::kNamesMax)
    return Invalid(fmt::format("the profiles have had more than {} different names since the start",
                               runtime::ProfileList::kNamesMax));
  // Plugins append to these lists, which decoders and watches have read at the start.
  const std::vector<std::string> annotations = handle_.annotations;
  const std::vector<std::string> resources = handle_.requested_resources;
  auto set = BuildSet(config, registry, notes, measure, access);
  handle_.annotations = annotations;
  handle_.requested_resources = resources;
  return set;
}

void Engine::Use(std::shared_ptr<ProfileSet> set, MonoTime now) {
  if (set_ != nullptr) replaced_.push_back({std::move(set_), now});
  set_ = std::move(set);
  std::vector<runtime::ProfileList::Pointer> profiles;
  // Whoever has a profile keeps its whole set.
  for (const auto& profile : set_->profiles) profiles.emplace_back(set_, profile.get());
  profiles_.Replace(std::move(profiles));
  signals_of_profiles_.resize(profiles_.size());
  for (std::size_t i = 0; i < set_->profiles.size(); ++i)
    signals_of_profiles_[*profiles_.Find(set_->profiles[i]->name())] = set_->signals[i];
  handle_.preemption_reviewers.clear();
  if (!set_->extenders->empty()) handle_.preemption_reviewers.push_back(set_->extenders.get());
  signals_.DeliverKnownValues(set_->listeners);
}

std::size_t Engine::ReleaseReplaced(MonoTime before) {
  std::erase_if(replaced_,
                [&](const Replaced& one) { return one.since < before && one.set.use_count() == 1; });
  return replaced_.size();
}

api::RetainedFields Engine::retained_fields() const {
  std::vector<std::string> annotations = annotations_;
  annotations.insert(annotations.end(), handle_.annotations.begin(), handle_.annotations.end());
  return {.annotations = std::move(annotations), .texts = set_->extenders->texts()};
}

bool Engine::IsMeasured(std::size_t profile) const {
  return std::ranges::all_of(signals_of_profiles_[profile], [this](load_metrics::SignalId id) {
    return load_metrics::HasValues(signals_.signal(id).state);
  });
}

const runtime::Profile* Engine::FindProfile(std::string_view scheduler_name) const {
  const auto index = profiles_.Find(scheduler_name);
  return index ? profiles_[*index].get() : nullptr;
}

}  // namespace berth::assembly
