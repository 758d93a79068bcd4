// Random histories of large clusters: every decision with the equivalence cache equals the one without.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/assembly/engine.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/withdrawal.hpp"
#include "testing/builders.hpp"
#include "testing/storage.hpp"

namespace berth::algorithm {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using berth::testing::Term;

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kHost = "kubernetes.io/hostname";

api::PodAffinityTerm ToApp(const std::string& app, const char* topology) {
  api::PodAffinityTerm term;
  term.label_selector.emplace().match_labels.Set("app", app);
  term.topology_key = topology;
  return term;
}

api::TopologySpreadConstraint SpreadOver(const char* topology, const char* otherwise,
                                         const std::string& app) {
  api::TopologySpreadConstraint constraint;
  constraint.max_skew = 1;
  constraint.topology_key = topology;
  constraint.when_unsatisfiable = otherwise;
  constraint.label_selector.emplace().match_labels.Set("app", app);
  return constraint;
}

api::Volume Disk(const std::string& id) {
  api::Volume volume;
  volume.name = "disk";
  volume.source = api::Volume::Source::kGcePersistentDisk;
  volume.id = id;
  return volume;
}

// Sanitizer builds are slower by about this factor and live through fewer histories.
#ifdef BERTH_DEBUG_CHECKS
constexpr int kSlower = 10;
#else
constexpr int kSlower = 1;
#endif

// Pods of one shape differ only in name and UID.
using Shape = std::function<PodBuilder(const std::string& name)>;

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {
      [](const std::string& name) { return MakePod(name).Label("app", "plain").Cpu("500m").Memory("1Gi"); },
      [](const std::string& name) { return MakePod(name).Label("app", "best-effort"); },
      [](const std::string& name) { return MakePod(name).Label("app", "large").Cpu("3").Memory("6Gi"); },
      [](const std::string& name) { return MakePod(name).Label("app", "port").Cpu("100m").HostPort(8080); },
      [](const std::string& name) {
        return MakePod(name)
            .Label("app", "port")
            .Cpu("200m")
            .HostPort(8080, "TCP", "10.0.0.1")
            .HostPort(53, "UDP");
      },
      [](const std::string& name) {
        return MakePod(name).Label("app", "gpu").Request("example.com/gpu", "1");
      },
      [](const std::string& name) {
        return MakePod(name).Label("app", "gpus").Cpu("2").Memory("4Gi").Request("example.com/gpu", "2");
      },
      [](const std::string& name) {
        return MakePod(name)
            .Label("app", "ssd")
            .Selecting("disk", "ssd")
            .Cpu("250m")
            .Tolerating("dedicated", "Exists");
      },
      [](const std::string& name) {
        return MakePod(name)
            .Label("app", "soft")
            .Cpu("250m")
            .Preferring(50, Term({{"disk", "In", {"ssd"}}}))
            .Preferring(20, Term({{kZone, "In", {"a"}}}));
      },
      [](const std::string& name) {
        PodBuilder pod = MakePod(name).Label("app", "spread").Cpu("100m");
        pod.raw().spec.topology_spread_constraints = {SpreadOver(kZone, "DoNotSchedule", "spread"),
                                                      SpreadOver(kHost, "ScheduleAnyway", "spread")};
        return pod;
      },
      [](const std::string& name) {
        PodBuilder pod = MakePod(name).Label("app", "alone").Cpu("100m");
        pod.raw().spec.pod_anti_affinity.emplace().required = {ToApp("alone", kHost)};
        return pod;
      },
      [](const std::string& name) {
        PodBuilder pod = MakePod(name).Label("app", "together").Cpu("100m");
        pod.raw().spec.pod_affinity.emplace().required = {ToApp("together", kZone)};
        pod.raw().spec.pod_anti_affinity.emplace().preferred = {{10, ToApp("plain", kHost)}};
        return pod;
      },
      [](const std::string& name) {
        PodBuilder pod = MakePod(name).Label("app", "disk").Cpu("100m");
        pod.raw().spec.volumes = {Disk("shared")};
        return pod;
      },
      [](const std::string& name) {
        PodBuilder pod = MakePod(name).Label("app", "claim").Cpu("100m");
        pod.raw().spec.volumes = {berth::testing::ClaimVolume("data")};
        return pod;
      },
      [](const std::string& name) {
        return MakePod(name).Label("app", "urgent").Cpu("4").Memory("8Gi").Priority(1000);
      },
  };
  return shapes;
}

// How many decisions followed a number of changed rows; only decisions of known shapes, and only changes of
// pods.
struct Coverage {
  std::array<int, 4> by_changes{};  // 0, 1, 2 to 9, 10 and more changed rows
  int unschedulable = 0;

  void Count(std::size_t rows) { ++by_changes[rows == 0 ? 0 : rows == 1 ? 1 : rows < 10 ? 2 : 3]; }
};

constexpr const char* kPrice = "example.com/price";
constexpr const char* kHosts = "scheduling.berth.dev/preferred-hosts";

// The default plugins, and NodeCost with these arguments, DataLocality and GpuFragmentation. Empty: only the
// default plugins.
config::SchedulerConfig ConfigWith(const std::string& cost) {
  if (cost.empty()) return config::DefaultSchedulerConfig();
  const runtime::Registry registry = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  return std::move(
             config::ParseSchedulerConfig(
                 "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\n"
                 "profiles:\n"
                 "- plugins: {multiPoint: {enabled: [{name: NodeCost, weight: 3}, {name: DataLocality},\n"
                 "    {name: GpuFragmentation, weight: 2}]}}\n"
                 "  pluginConfig: [{name: GpuFragmentation, args: {resources: [example.com/gpu]}},\n"
                 "    {name: NodeCost, args: " +
                     cost + "}]\n",
                 options))
      .value();
}

class History {
 public:
  // `cost` as in ConfigWith.
  History(int nodes, std::uint64_t seed, Coverage& coverage, const std::string& cost = "")
      : random_(seed), node_count_(nodes), coverage_(coverage), scored_(!cost.empty()) {
    std::vector<std::string> notes;
    engine_ =
        std::move(assembly::Engine::Build(ConfigWith(cost), assembly::InTreePlugins(), ports_.ports(), notes))
            .value();
    cached_.emplace(AlgorithmOptions{.sample = false}, engine_->reasons(), engine_->extenders());
    uncached_.emplace(AlgorithmOptions{.sample = false, .equivalence_cache_bytes = 0}, engine_->reasons(),
                      engine_->extenders());
    Put<api::PersistentVolume>(
        berth::testing::MakeVolume("data").ReachedFrom(kZone, {"a", "b"}).ClaimedBy("data"));
    Put<api::PersistentVolumeClaim>(berth::testing::MakeClaim("data").BoundTo("data"));
    for (int i = 0; i < nodes; ++i) AddNode(i);
    // Few shapes at a time, so that each is decided often.
    for (int i = 0; i < 4; ++i) shapes_.push_back(random_.Below(Shapes().size()));
    changed_.resize(Shapes().size());
  }

  void Live(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      if (OneIn(25)) ChangeNode();
      const std::size_t usual = static_cast<std::size_t>(node_count_) * 8;
      for (std::size_t i = 0, n = Changes(); i < n; ++i) {
        random_.Below(2 * usual) < pods_.size() ? RemovePod() : AddPod();
      }
      for (std::size_t i = 0, n = 1 + random_.Below(4); i < n; ++i)
        Decide(shapes_[random_.Below(shapes_.size())]);
      if (OneIn(10)) engine_->cache().ReleaseUnused();
      if (OneIn(40)) shapes_[random_.Below(shapes_.size())] = random_.Below(Shapes().size());
    }
  }

 private:
  struct Placed {
    std::string uid;
    std::string node;
  };

  bool OneIn(std::size_t n) { return random_.Below(n) == 0; }
  std::size_t Changes() {
    constexpr std::array<std::size_t, 8> kChanges = {0, 0, 1, 1, 2, 4, 8, 24};
    return kChanges[random_.Below(kChanges.size())];
  }
  std::string NodeName(int number) const { return "n" + std::to_string(number); }
  std::string AnyNode() {
    return NodeName(static_cast<int>(random_.Below(static_cast<std::size_t>(node_count_))));
  }
  template <class T>
  void Put(T object) {
    engine_->cache().objects().Apply(ports::Change<T>{nullptr, std::make_shared<const T>(std::move(object))});
  }

  void AddNode(int number) {
    auto node =
        MakeNode(NodeName(number)).Label(kHost, NodeName(number)).Zone(std::string(1, "abc"[number % 3]));
    node.Cpu(OneIn(2) ? "4" : "8").Memory(OneIn(2) ? "8Gi" : "32Gi").Pods("30");
    if (OneIn(3)) node.Label("disk", "ssd");
    if (OneIn(5)) node.Allocatable("example.com/gpu", "2");
    if (OneIn(10)) node.Taint("dedicated", "x", "NoSchedule");
    if (OneIn(10)) node.Taint("flaky", "x", "PreferNoSchedule");
    if (OneIn(20)) node.Cordoned();
    if (scored_ && !OneIn(4)) node.Label(kPrice, std::to_string(random_.Below(20)));
    engine_->cache().AddNode(node.Share());
  }
  // After a change of nodes everything is evaluated again.
  void ChangeNode() {
    const int number = static_cast<int>(random_.Below(static_cast<std::size_t>(node_count_)));
    if (OneIn(3)) engine_->cache().RemoveNode(NodeName(number));
    if (OneIn(2)) AddNode(number);
    known_.clear();
  }
  void Note(const std::string& node) {
    for (std::set<std::string>& rows : changed_) rows.insert(node);
  }
  void AddPod() {
    const std::string node = AnyNode();
    PodBuilder pod = Shapes()[OneIn(2) ? shapes_[0] : random_.Below(Shapes().size())](NewName()).OnNode(node);
    if (OneIn(8)) pod.Deleting();
    if (OneIn(4)) AddOwnSymbols(pod);
    engine_->cache().AddPod(pod.Share());
    pods_.push_back({pod.raw().metadata.uid, node});
    Note(node);
  }
  // Symbols that only this pod and a few others use; their ids are assigned again after the pod's removal.
  void AddOwnSymbols(PodBuilder& pod) {
    const std::string own = std::to_string(random_.Below(1000));
    pod.Request("example.com/own-" + own, "1").HostPort(8080, "TCP", "10.1.0." + own);
    pod.raw().spec.pod_anti_affinity.emplace().required = {ToApp("plain", ("rack-" + own).c_str())};
  }
  void RemovePod() {
    const std::size_t which = random_.Below(pods_.size());
    engine_->cache().RemovePod(pods_[which].uid);
    Note(pods_[which].node);
    pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(which));
  }
  std::string NewName() { return "p" + std::to_string(++names_); }

  void Decide(std::size_t shape) {
    cluster::ClusterState& cache = engine_->cache();
    PodBuilder pod = Shapes()[shape](NewName());
    // The annotations that plugins read are a part of the shape.
    if (scored_ && OneIn(4)) pod.raw().metadata.annotations = api::Labels{{kHosts, "n1, n2"}};
    const cluster::PodInfo info = cluster::PreparePod(pod.Share(), engine_->symbols());
    const ClusterView view = view_.Of(cache);
    const runtime::Profile& profile = *engine_->profiles()[0];
    const ScheduleResult cached = cached_->Schedule(info, profile, view, {});
    const ScheduleResult uncached = uncached_->Schedule(info, profile, view, {});
    if (known_.contains(shape)) coverage_.Count(changed_[shape].size());
    known_.insert(shape);
    changed_[shape].clear();
    EXPECT_EQ(record::ToJson(*cached.record, engine_->reasons()),
              record::ToJson(*uncached.record, engine_->reasons()));
    EXPECT_EQ(cached.row, uncached.row);
    EXPECT_EQ(cached.rejectors, uncached.rejectors);
    if (cached.row == cluster::kNoRow) {
      ++coverage_.unschedulable;
      return;
    }
    if (OneIn(3)) return;  // only explained
    const std::string node = cache.nodes().name(cached.row);
    cache.Assume(info, cached.row);
    Note(node);
    if (OneIn(5)) {  // the binding fails
      cache.Forget(info.pod->metadata.uid);
    } else {
      pods_.push_back({info.pod->metadata.uid, node});
    }
  }

  Random random_;
  int node_count_;
  Coverage& coverage_;
  const bool scored_;  // with the plugins that are off by default
  assembly::DryRunPorts ports_;
  std::unique_ptr<assembly::Engine> engine_;
  std::optional<SchedulingAlgorithm> cached_, uncached_;
  CurrentView view_;
  std::vector<std::size_t> shapes_;  // indices in Shapes()
  std::deque<Placed> pods_;
  int names_ = 0;
  std::set<std::size_t> known_;                 // shapes that were decided since the last change of a node
  std::vector<std::set<std::string>> changed_;  // by shape: nodes whose pods changed since its last decision
};

TEST(CachedHistories, EveryDecisionEqualsTheOneWithoutTheCache) {
  struct Size {
    int nodes, histories, steps;
  };
  Coverage coverage;
  std::uint64_t seed = 0;
  for (const Size& size : {Size{64, 20, 300}, Size{200, 12, 300}, Size{1000, 3, 200}}) {
    for (int i = 0; i < std::max(1, size.histories / kSlower); ++i) {
      SCOPED_TRACE(std::to_string(size.nodes) + " nodes, seed " + std::to_string(++seed));
      History(size.nodes, seed, coverage).Live(size.nodes < 1000 ? size.steps : size.steps / kSlower);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GE(std::ranges::min(coverage.by_changes), 500 / kSlower)
      << coverage.by_changes[0] << ", " << coverage.by_changes[1] << ", " << coverage.by_changes[2] << ", "
      << coverage.by_changes[3] << " decisions after 0, 1, 2 to 9, 10 and more changed rows";
  EXPECT_GE(coverage.unschedulable, 100 / kSlower);
}

TEST(CachedHistories, ScoresOfImagesFollowAWithdrawal) {
  assembly::DryRunPorts ports;
  std::vector<std::string> notes;
  const auto engine =
      std::move(assembly::Engine::Build(ConfigWith(""), assembly::InTreePlugins(), ports.ports(), notes))
          .value();
  cluster::ClusterState& cache = engine->cache();
  cache.AddNode(MakeNode("with").Cpu("4").Memory("8Gi").Image("app:1", 500 << 20).Share());
  cache.AddNode(MakeNode("without").Cpu("4").Memory("8Gi").Share());
  SchedulingAlgorithm cached({.sample = false}, engine->reasons(), engine->extenders());
  SchedulingAlgorithm uncached({.sample = false, .equivalence_cache_bytes = 0}, engine->reasons(),
                               engine->extenders());
  CurrentView view;
  const auto decide = [&](SchedulingAlgorithm& algorithm) {
    const cluster::PodInfo pod = cluster::PreparePod(MakePod("p").Image("app:1").Share(), engine->symbols());
    const ScheduleResult result = algorithm.Schedule(pod, *engine->profiles()[0], view.Of(cache), {});
    return record::ToJson(*result.record, engine->reasons());
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(decide(cached), decide(uncached));  // the cache knows the shape
  {
    const cluster::NodeTable::Withdrawal withdrawal(cache.nodes());
    EXPECT_EQ(decide(cached), decide(uncached));
  }
  EXPECT_EQ(decide(cached), decide(uncached));
}

TEST(CachedHistories, PluginsThatAreOffByDefaultDeclareTheirDependencies) {
  Coverage coverage;
  std::uint64_t seed = 1000;
  for (const auto* cost :
       {"{priceLabel: example.com/price}", "{priceLabel: example.com/price, per: memory, amount: free}"}) {
    for (int i = 0; i < std::max(1, 10 / kSlower); ++i) {
      SCOPED_TRACE(std::string(cost) + ", seed " + std::to_string(++seed));
      History(64, seed, coverage, cost).Live(300);
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GE(std::ranges::min(coverage.by_changes), 100 / kSlower);
}

}  // namespace
}  // namespace berth::algorithm
