// A small cluster to call a single plugin, with its results by node.
#pragma once

#include <concepts>
#include <deque>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pending_pods.hpp"
#include "scheduler/cluster/pod_counters.hpp"
#include "scheduler/cluster/pod_groups.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/plugin.hpp"
#include "scheduler/load_metrics/signal_table.hpp"
#include "testing/builders.hpp"
#include "testing/fakes.hpp"

namespace berth::testing {

// The result of a filter for one node.
struct Verdict {
  framework::Code code = framework::Code::kSuccess;
  std::vector<std::string> reasons;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};
std::ostream& operator<<(std::ostream& out, const Verdict& verdict);
// Expected results.
inline Verdict Fits() { return {}; }
Verdict Unschedulable(std::vector<std::string> reasons);
Verdict Unresolvable(std::vector<std::string> reasons);

using Verdicts = std::map<std::string, Verdict>;         // by node
using NodeScores = std::map<std::string, std::int64_t>;  // by node

// A small cluster with everything that a plugin's Handle refers to. Runs single extension points of a plugin.
class Cluster {
 public:
  Cluster() : table_(symbols_) {}

  Cluster& Add(const api::Node& node);
  // Adds an object of any other kind; replaces one of the same name.
  template <class T>
  Cluster& Put(T object) {
    const auto known = objects_.Of<T>().Find(object.metadata.ns, object.metadata.name);
    objects_.Apply(ports::Change<T>{known, std::make_shared<const T>(std::move(object))});
    return *this;
  }
  // Adds the pod to the node.
  Cluster& Run(const std::string& node, const api::Pod& pod);

  cluster::SymbolTable& symbols() { return symbols_; }
  framework::Reasons& reasons() { return reasons_; }
  cluster::NodeTable& nodes() { return table_; }
  cluster::ClusterObjects& objects() { return objects_; }
  cluster::PodGroups& groups() { return groups_; }
  cluster::PendingPods& pending() { return pending_; }
  FakeApiWriter& api() { return api_; }
  FakeLoop& loop() { return loop_; }
  FakeServices& services() { return services_; }
  framework::Handle& handle() { return handle_; }
  framework::CycleState& state() { return state_; }
  cluster::Row RowOf(const std::string& node) const { return table_.Find(symbols_.node_names.Find(node)); }

  cluster::PodInfo Prepare(const api::Pod& pod) {
    return cluster::PreparePod(std::make_shared<const api::Pod>(pod), symbols_);
  }

  // Builds a plugin like a profile; `args` is YAML, empty for none. The result contains the errors of the
  // arguments.
  template <class T>
  Expected<std::unique_ptr<T>> TryMake(const std::string& args = "") {
    if constexpr (requires { T::Create(framework::RawArgs{}, handle_); }) {
      config::Value value;
      if (!args.empty()) {
        BERTH_TRY(value, yaml::ParseValue(args));
      }
      BERTH_TRY(std::unique_ptr<framework::Plugin> plugin,
                T::Create({args.empty() ? nullptr : &value, "profiles[0].pluginConfig[0].args"}, handle_));
      return std::unique_ptr<T>(dynamic_cast<T*>(plugin.release()));
    } else {
      return std::make_unique<T>(handle_);
    }
  }
  // The same for valid arguments.
  template <class T>
  std::unique_ptr<T> Make(const std::string& args = "") {
    return std::move(TryMake<T>(args)).value();
  }

  framework::PreFilterResult PreFilter(const framework::PreFilterPlugin& plugin, const api::Pod& pod);
  // The results of Filter for all nodes in one call, like the runtime. Does not call PreFilter.
  Verdicts Filter(const framework::FilterPlugin& plugin, const api::Pod& pod);

  // Calls PreFilter and Filter in one attempt; all nodes fit if PreFilter skips. PreFilter must not fail.
  template <class T>
  Verdicts Evaluate(const T& plugin, const api::Pod& pod) {
    const cluster::PodInfo info = Prepare(pod);
    const framework::PreFilterResult answer =
        plugin.PreFilter(framework::Attempt(info, table_, state_, scratch_));
    return VerdictsOf(answer.status.skip() ? nullptr : &plugin, info);
  }
  // Calls PreScore, Score and Normalize in one attempt; empty if PreScore skips.
  template <class T>
  NodeScores Rate(const T& plugin, const api::Pod& pod) {
    const cluster::PodInfo info = Prepare(pod);
    if (plugin.PreScore(framework::Attempt(info, table_, state_, scratch_), table_.all()).skip()) return {};
    return ScoresOf(plugin, info, true);
  }

  framework::Status PreScore(const framework::PreScorePlugin& plugin, const api::Pod& pod);
  // The scores of all nodes before Normalize. Does not call PreScore.
  NodeScores RawScores(const framework::ScorePlugin& plugin, const api::Pod& pod);
  NodeScores Scores(const framework::ScorePlugin& plugin, const api::Pod& pod);

 private:
  NodeScores ScoresOf(const framework::ScorePlugin& plugin, const cluster::PodInfo& pod, bool normalize);
  // Null: no plugin rejects a node.
  Verdicts VerdictsOf(const framework::FilterPlugin* plugin, const cluster::PodInfo& pod);

  cluster::SymbolTable symbols_;
  framework::Reasons reasons_;
  FakeApiWriter api_;
  cluster::NodeTable table_;
  cluster::ClusterObjects objects_;
  cluster::PodCounters counters_{table_, objects_};
  cluster::VolumesInUse volumes_{table_, objects_};
  cluster::NestedGroups grouping_;
  cluster::PodGroups groups_{grouping_};
  cluster::PendingPods pending_;
  devices::ClusterDevices devices_{devices::Features{}, objects_, symbols_, table_};
  load_metrics::SignalTable signals_{table_};
  FakeEventSink events_;
  FakeLoop loop_;
  FakeServices services_;
  framework::Handle handle_{.symbols = symbols_,
                            .reasons = reasons_,
                            .nodes = table_,
                            .objects = objects_,
                            .counters = counters_,
                            .volumes = volumes_,
                            .devices = devices_,
                            .groups = groups_,
                            .pending = pending_,
                            .signals = signals_,
                            .api = api_,
                            .events = events_,
                            .loop = loop_,
                            .scheduler = services_};
  std::deque<cluster::PlacedPod> placed_;
  framework::CycleState state_;
  framework::ScratchPool scratch_;
};

}  // namespace berth::testing
