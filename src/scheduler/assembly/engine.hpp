// Assembles configuration, plugins and ports into an engine that schedules: for the scheduler, for
// explanations and for benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/scheduler_config.hpp"
#include "kubernetes/api/retained_fields.hpp"
#include "kubernetes/ports/dry_run_ports.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "scheduler/cluster/pending_pods.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "scheduler/framework/dry_run.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "scheduler/runtime/profile_list.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::assembly {

// Metrics of profiles; without a registry nothing is measured.
struct Measure {
  metrics::Registry* registry = nullptr;
  const Clock* clock = nullptr;
  runtime::InstrumentOptions options;
};

// Access to the extenders of the configuration.
struct ExtenderAccess {
  extenders::TransportMaker make_transport;  // empty: a configuration with extenders is rejected
  extenders::CircuitOptions circuit{};
};

// What the engine's plugins act on. All must outlive the engine.
struct EnginePorts {
  ports::ApiWriter& api;
  ports::EventSink& events;
  framework::LoopExecutor& loop;
  framework::SchedulerServices& scheduler;
};

// Ports without effects, for programs that only evaluate pods.
class DryRunPorts {
 public:
  // `now`: the time of day of all decisions.
  explicit DryRunPorts(WallTime now = SystemClock().WallNow()) : loop_(now) {}
  EnginePorts ports() { return {api_, events_, loop_, scheduler_}; }
  // The same, with work posted to `loop`.
  EnginePorts ports(framework::LoopExecutor& loop) { return {api_, events_, loop, scheduler_}; }

 private:
  ports::RejectingApiWriter api_{"writes are disabled in a dry run"};
  ports::DiscardingEventSink events_;
  framework::NoLoopAt loop_;
  framework::DryRunServices scheduler_;
};

// The profiles and extenders of one configuration, with what belongs to them.
struct ProfileSet {
  std::shared_ptr<extenders::Extenders> extenders;  // without extenders in the configuration it is empty
  std::vector<std::unique_ptr<runtime::Profile>> profiles;
  std::vector<std::vector<load_metrics::SignalId>> signals;  // by index of `profiles`
  // Owner of the profiles' listeners in the signal table: the first member to be destroyed.
  std::shared_ptr<const void> listeners;
};

// Owns the symbol table, the cluster and the profiles; members are declared in dependency order. Scheduler
// loop only.
class Engine {
 public:
  // Errors are user-readable start-up errors. `notes` receives texts for the log.
  static Expected<std::unique_ptr<Engine>> Build(const config::SchedulerConfig& config,
                                                 const runtime::Registry& registry, const EnginePorts& ports,
                                                 std::vector<std::string>& notes, const Measure& measure = {},
                                                 const ExtenderAccess& access = {});

  framework::Handle& handle() { return handle_; }
  cluster::SymbolTable& symbols() { return symbols_; }
  const cluster::SymbolTable& symbols() const { return symbols_; }
  const framework::Reasons& reasons() const { return reasons_; }
  cluster::ClusterState& cache() { return cache_; }
  cluster::PodGroups& groups() { return groups_; }
  cluster::PendingPods& pending() { return pending_; }
  const cluster::ClusterState& cache() const { return cache_; }
  const runtime::ProfileList& profiles() const { return profiles_; }
  // Those in use. Without extenders in the configuration it is empty.
  extenders::Extenders& extenders() const { return *set_->extenders; }
  std::shared_ptr<extenders::Extenders> shared_extenders() const { return set_->extenders; }
  // What decoders of this engine's objects must retain.
  api::RetainedFields retained_fields() const;
  // Whether every measurement that the profile's plugins use has had a result. True without such plugins.
  // `profile` is an index of profiles().
  bool IsMeasured(std::size_t profile) const;
  // Null if no profile in use has that name.
  const runtime::Profile* FindProfile(std::string_view scheduler_name) const;

  // --- reload ---
  // Whether this engine can use the configuration with which `other` was built: decoders retain what its
  // plugins read, every measurement is polled, and pods have the same groups. Errors name what needs a
  // restart.
  Expected<void> CheckReplacement(const Engine& other) const;
  // Builds profiles and extenders beside those in use, on the present cluster. Requires CheckReplacement.
  // Errors are those of Build; what is in use has not changed then.
  Expected<std::shared_ptr<ProfileSet>> Prepare(const config::SchedulerConfig& config,
                                                const runtime::Registry& registry,
                                                std::vector<std::string>& notes, const Measure& measure,
                                                const ExtenderAccess& access);
  // Replaces profiles and extenders. Must not be called during a decision. The former ones are kept until
  // ReleaseReplaced: attempts in progress finish with them.
  void Use(std::shared_ptr<ProfileSet> set, MonoTime now);
  // Destroys former profiles and extenders that were replaced before `before` and that no attempt uses.
  // Returns how many are left.
  std::size_t ReleaseReplaced(MonoTime before);

 private:
  Engine(const EnginePorts& ports, const config::FeatureGates& gates);
  Expected<std::shared_ptr<ProfileSet>> BuildSet(const config::SchedulerConfig& config,
                                                 const runtime::Registry& registry,
                                                 std::vector<std::string>& notes, const Measure& measure,
                                                 const ExtenderAccess& access);

  cluster::SymbolTable symbols_;
  framework::Reasons reasons_;
  cluster::ClusterState cache_;
  devices::ClusterDevices devices_;
  std::unique_ptr<const cluster::PodGrouping> grouping_;
  cluster::PodGroups groups_{*grouping_};
  cluster::PendingPods pending_;
  load_metrics::SignalTable signals_{cache_.nodes()};
  framework::Handle handle_;
  std::vector<std::string> annotations_;  // that foreign plugins read
  struct Replaced {
    std::shared_ptr<ProfileSet> set;
    MonoTime since;
  };
  std::vector<Replaced> replaced_;
  std::shared_ptr<ProfileSet> set_;
  runtime::ProfileList profiles_;
  std::vector<std::vector<load_metrics::SignalId>> signals_of_profiles_;  // by index of profiles_
};

}  // namespace berth::assembly
