// Configuration, plugins and ports put together into what decides: for the scheduler, for explain, for
// benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scheduler/cluster/cluster_state.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/extenders/extenders.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/runtime/profile.hpp"
#include "scheduler/runtime/registry.hpp"

namespace berth::assembly {

// What profiles measure themselves with; without a registry they do not.
struct Measure {
  metrics::Registry* registry = nullptr;
  const Clock* clock = nullptr;
  runtime::InstrumentOptions options;
};

// How extenders of the configuration are reached.
struct ExtenderAccess {
  extenders::TransportMaker make_transport;  // empty: not at all, and a configuration that has some is refused
  extenders::CircuitOptions circuit{};
};

// Owns the words, the cluster and the profiles; members in the order of their dependence. One thread.
class Engine {
 public:
  // Errors are start-up texts for people. `notes` receives what should be in the log.
  static Expected<std::unique_ptr<Engine>> Build(const config::SchedulerConfig& config,
                                                 const runtime::Registry& registry, ports::ApiWriter& api,
                                                 std::vector<std::string>& notes, const Measure& measure = {},
                                                 const ExtenderAccess& access = {});

  framework::Handle& handle() { return handle_; }
  cluster::SymbolTable& symbols() { return symbols_; }
  const cluster::SymbolTable& symbols() const { return symbols_; }
  const framework::Reasons& reasons() const { return reasons_; }
  cluster::ClusterState& cache() { return cache_; }
  const cluster::ClusterState& cache() const { return cache_; }
  std::span<const std::unique_ptr<runtime::Profile>> profiles() const { return profiles_; }
  // Null: there are none.
  extenders::Extenders* extenders() const { return extenders_.get(); }
  // Null if no profile has that name.
  const runtime::Profile* FindProfile(std::string_view scheduler_name) const;

 private:
  explicit Engine(ports::ApiWriter& api)
      : cache_(symbols_),
        handle_{symbols_,       reasons_,        api, cache_.nodes(), cache_.objects(),
                cache_.counters(), cache_.volumes()} {}

  cluster::SymbolTable symbols_;
  framework::Reasons reasons_;
  cluster::ClusterState cache_;
  framework::Handle handle_;
  std::unique_ptr<extenders::Extenders> extenders_;
  std::vector<std::unique_ptr<runtime::Profile>> profiles_;
};

}  // namespace berth::assembly
