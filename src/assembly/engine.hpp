// Configuration, plugins and ports put together into what decides: for the scheduler, for explain, for
// benchmarks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cache/cluster_cache.hpp"
#include "config/scheduler_config.hpp"
#include "core/decider.hpp"
#include "extender/extenders.hpp"
#include "framework/ports.hpp"
#include "runtime/profile.hpp"
#include "runtime/registry.hpp"

namespace berth::assembly {

// What profiles measure themselves with; without a registry they do not.
struct Measure {
  metrics::Registry* registry = nullptr;
  const Clock* clock = nullptr;
  runtime::InstrumentOptions options;
};

// How extenders of the configuration are reached.
struct ExtenderAccess {
  extender::TransportMaker make_transport;  // empty: not at all, and a configuration that has some is refused
  extender::CircuitOptions circuit{};
};

// Owns the words, the cluster and the profiles; members in the order of their dependence. One thread.
class Engine {
 public:
  // Errors are start-up texts for people. `notes` receives what should be in the log.
  static Expected<std::unique_ptr<Engine>> Build(const config::SchedulerConfig& config,
                                                 const runtime::Registry& registry, framework::ApiWriter& api,
                                                 std::vector<std::string>& notes, const Measure& measure = {},
                                                 const ExtenderAccess& access = {});

  framework::Handle& handle() { return handle_; }
  framework::Vocabulary& vocabulary() { return vocabulary_; }
  const framework::Vocabulary& vocabulary() const { return vocabulary_; }
  const framework::Reasons& reasons() const { return reasons_; }
  cache::ClusterCache& cache() { return cache_; }
  const cache::ClusterCache& cache() const { return cache_; }
  std::span<const std::unique_ptr<runtime::Profile>> profiles() const { return profiles_; }
  // Null: there are none.
  extender::Extenders* extenders() const { return extenders_.get(); }
  // Null if no profile has that name.
  const runtime::Profile* FindProfile(std::string_view scheduler_name) const;

 private:
  explicit Engine(framework::ApiWriter& api)
      : cache_(vocabulary_),
        handle_{vocabulary_,       reasons_,        api, cache_.nodes(), cache_.objects(),
                cache_.counters(), cache_.volumes()} {}

  framework::Vocabulary vocabulary_;
  framework::Reasons reasons_;
  cache::ClusterCache cache_;
  framework::Handle handle_;
  std::unique_ptr<extender::Extenders> extenders_;
  std::vector<std::unique_ptr<runtime::Profile>> profiles_;
};

}  // namespace berth::assembly
