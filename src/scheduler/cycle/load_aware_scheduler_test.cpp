// The scheduler loop with load-aware profiles: retries of rejected pods, and the wait at the start.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <stdexcept>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"
#include "testing/repetitions.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using load_metrics::SignalId;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

config::SchedulerConfig LoadAwareConfig(const std::string& args) {
  static const runtime::Registry registry = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  auto config = config::ParseSchedulerConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\n"
      "kind: KubeSchedulerConfiguration\n"
      "profiles:\n"
      "- schedulerName: default-scheduler\n"
      "  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 5}]}}\n"
      "  pluginConfig: [{name: LoadAware, args: " +
          args +
          "}]\n"
          "- schedulerName: plain\n",
      options);
  if (!config) throw std::invalid_argument(config.error().message);
  return std::move(config).value();
}

// A scheduler with two profiles: one with LoadAware, and "plain". Bindings succeed at once, and the pod is
// then delivered as bound.
class LoadAwareCluster : public SchedulerEnvironment {
 public:
  explicit LoadAwareCluster(const std::string& args, const SchedulerOptions& options = {}) {
    Build(LoadAwareConfig(args), assembly::InTreePlugins(), options);
    signals().SetClock(clock);
    loop.sink().OnSynced();
    Settle();
  }

  load_metrics::SignalTable& signals() { return engine->handle().signals; }
  // Runs until there is nothing to do at the current time, except pods in back-off.
  void Settle() {
    while (loop.RunOnce(*scheduler)) {
    }
    for (; seen_bindings < api.bindings.size(); ++seen_bindings) {
      const ports::Binding& binding = api.bindings[seen_bindings];
      const auto pending = waiting.extract(binding.name);
      if (pending.empty()) continue;
      api::Pod pod = *pending.mapped();
      pod.spec.node_name = binding.node;
      running[binding.name] = std::make_shared<const api::Pod>(pod);
      loop.sink().On(ports::Change<api::Pod>{pending.mapped(), running[binding.name]});
    }
    while (loop.RunOnce(*scheduler)) {
    }
  }
  void Wait(Duration time) {
    clock.Advance(time);
    Settle();
  }
  void AddNode(const std::string& name) {
    nodes[name] = std::make_shared<const api::Node>(MakeNode(name).Cpu("10").Memory("10Gi"));
    loop.sink().On(ports::Change<api::Node>{nullptr, nodes[name]});
  }
  void RemoveNode(const std::string& name) {
    loop.sink().On(ports::Change<api::Node>{nodes[name], nullptr});
    nodes.erase(name);
  }
  void AddPod(const PodBuilder& pod) {
    const api::PodPtr shared = pod.Share();
    waiting[shared->metadata.name] = shared;
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
  }
  void Delete(std::map<std::string, api::PodPtr>& among, const std::string& name) {
    const auto pod = among.extract(name);
    loop.sink().On(ports::Change<api::Pod>{pod.mapped(), nullptr});
  }
  void Start(const std::string& name) {
    api::Pod pod = *running[name];
    pod.status.start_time =
        std::chrono::duration_cast<std::chrono::seconds>(clock.WallNow().time_since_epoch()).count();
    const api::PodPtr started = std::make_shared<const api::Pod>(pod);
    loop.sink().On(ports::Change<api::Pod>{std::exchange(running[name], started), started});
  }
  void Measure(SignalId id, const std::map<std::string, double>& values) {
    load_metrics::SignalAnswer answer{
        .signal = id, .polled_at = clock.Now(), .renumbered = true, .fresh = nullptr, .samples = {}};
    std::vector<load_metrics::SeriesName> names;
    for (const auto& [node, value] : values) {
      answer.samples.emplace_back(names.size(), value);
      names.push_back({{"node", node}});
    }
    answer.fresh = std::make_shared<const std::vector<load_metrics::SeriesName>>(std::move(names));
    loop.Post([this, answer = std::move(answer)] { signals().Take(answer); });
  }
  void Fail(SignalId id) {
    loop.Post([this, id] { signals().Failed(id, clock.Now(), "refused"); });
  }
  // The pods for which the queue has no reason to retry them.
  std::vector<api::PodPtr> Unschedulable() const {
    std::vector<api::PodPtr> pods;
    scheduler->queue().ForEach([&](const framework::QueuedPod& pod, std::string_view place) {
      if (place == "unschedulable") pods.push_back(pod.info.pod);
    });
    return pods;
  }
  // Whether a new pod with this spec would get a node now.
  bool WouldFit(const api::Pod& pod) {
    api::Pod copy = pod;
    copy.metadata.name += "-copy";
    copy.metadata.uid += "-copy";
    algorithm::SchedulingAlgorithm algorithm({}, engine->reasons(), engine->extenders());
    algorithm::CurrentView view;
    const cluster::PodInfo info =
        cluster::PreparePod(std::make_shared<const api::Pod>(copy), engine->symbols());
    return algorithm.Schedule(info, *engine->profiles().front(), view.Of(engine->cache()), {})
               .record->result == record::Result::kScheduled;
  }

  std::map<std::string, api::NodePtr> nodes;
  std::map<std::string, api::PodPtr> waiting, running;
  std::size_t seen_bindings = 0;
};

constexpr SignalId kFirst{0};

TEST(LoadAwareRetry, PodsOfABurstAreRetriedWhenTheLoadFalls) {
  LoadAwareCluster cluster(
      "{preset: none, signals: [{name: own, query: q, threshold: 55, estimate: {from: request, resource: "
      "cpu}}]}");
  std::map<std::string, double> busy, idle;
  for (int i = 0; i < 6; ++i) {
    const std::string node = fmt::format("n{}", i);
    cluster.AddNode(node);
    busy[node] = 0.5;
    idle[node] = 0.05;
  }
  cluster.Measure(kFirst, busy);
  cluster.Settle();
  for (int i = 0; i < 12; ++i) cluster.AddPod(MakePod(fmt::format("p{}", i)).Cpu("1"));
  cluster.Settle();
  EXPECT_EQ(cluster.running.size(), 6U);
  cluster.Wait(15s);
  cluster.Measure(kFirst, idle);
  cluster.Settle();
  cluster.Wait(11s);
  EXPECT_EQ(cluster.running.size(), 12U);
}

TEST(LoadAwareRetry, WithOnOutageRejectPodsAreRetriedWhenNodesAreMeasured) {
  LoadAwareCluster cluster(
      "{preset: none, onOutage: reject, signals: [{name: own, query: q, threshold: 55}]}");
  cluster.AddNode("n1");
  cluster.AddPod(MakePod("p").Cpu("1"));
  cluster.Wait(1s);
  EXPECT_THAT(cluster.running, IsEmpty());
  cluster.Measure(kFirst, {{"n1", 0.1}});
  cluster.Wait(1s);
  cluster.Wait(2s);
  EXPECT_EQ(cluster.running.size(), 1U);
}

// --- the wait at the start ---

const std::string kGuarded = "{preset: none, signals: [{name: cpu, threshold: 90}]}";  // two guards

// Five of six nodes are almost full; the source answers two seconds after the start.
void AddBusyCluster(LoadAwareCluster& cluster, int pods) {
  for (int i = 0; i < 6; ++i) cluster.AddNode(fmt::format("n{}", i));
  for (int i = 0; i < pods; ++i) cluster.AddPod(MakePod(fmt::format("p{}", i)).Cpu("100m"));
}
void Answer(LoadAwareCluster& cluster, std::uint32_t id) {
  std::map<std::string, double> values;
  for (int i = 0; i < 6; ++i) values[fmt::format("n{}", i)] = id < 2 ? 20 : i == 0 ? 0.1 : 0.95;
  cluster.Measure(SignalId{id}, values);
  cluster.Settle();
}
SchedulerOptions WithWait(Duration wait) {
  SchedulerOptions options;
  options.measurement_wait = wait;
  return options;
}

// The filters stop at the first plugin that rejects a node: LoadAware sees the node only without the victims.
TEST(LoadAwareRetry, APodThatCouldNotPreemptOnAHotNodeIsRetriedWhenTheLoadFalls) {
  LoadAwareCluster cluster(
      "{preset: none, signals: [{name: own, query: q, threshold: 55, estimate: {from: none}}]}");
  cluster.AddNode("n1");
  cluster.Measure(kFirst, {{"n1", 0.3}});
  cluster.AddPod(MakePod("low").Cpu("9"));
  cluster.Wait(1s);
  ASSERT_EQ(cluster.running.size(), 1U);
  cluster.Measure(kFirst, {{"n1", 0.9}});
  cluster.AddPod(MakePod("high").Cpu("9").Priority(10));
  cluster.Wait(1s);
  cluster.Wait(11s);
  EXPECT_THAT(cluster.api.deletions, IsEmpty());
  cluster.Measure(kFirst, {{"n1", 0.3}});
  cluster.Wait(1s);
  cluster.Wait(11s);
  EXPECT_EQ(cluster.api.deletions.size(), 1U);
}

TEST(LoadAwareStart, TheFirstDecisionsWaitForTheFirstCompleteMeasurements) {
  LoadAwareCluster cluster(kGuarded, WithWait(5s));
  AddBusyCluster(cluster, 30);
  cluster.AddPod(MakePod("plain").Scheduler("plain"));
  cluster.Wait(1s);
  EXPECT_EQ(cluster.running.size(), 1U);
  EXPECT_TRUE(cluster.running.contains("plain")) << "a profile without load-aware plugins does not wait";
  Answer(cluster, 2);
  Answer(cluster, 0);
  EXPECT_EQ(cluster.running.size(), 1U) << "one guard is missing";
  cluster.Wait(1s);
  Answer(cluster, 1);
  EXPECT_EQ(cluster.running.size(), 31U);
  for (const auto& [name, pod] : cluster.running) {
    if (name != "plain") {
      EXPECT_EQ(pod->spec.node_name, "n0") << name;
    }
  }
}

TEST(LoadAwareStart, TheWaitIsLimitedAndThenTheOutagePolicyApplies) {
  LoadAwareCluster neutral(kGuarded, WithWait(5s));
  AddBusyCluster(neutral, 6);
  neutral.Wait(4s);
  EXPECT_THAT(neutral.running, IsEmpty());
  EXPECT_EQ(neutral.scheduler->NextDue() - neutral.clock.Now(), 1s);
  neutral.Wait(1s);
  EXPECT_EQ(neutral.running.size(), 6U);
  LoadAwareCluster rejecting("{preset: none, onOutage: reject, signals: [{name: cpu, threshold: 90}]}",
                             WithWait(5s));
  AddBusyCluster(rejecting, 6);
  rejecting.Wait(6s);
  EXPECT_THAT(rejecting.running, IsEmpty());
  EXPECT_EQ(rejecting.Unschedulable().size(), 6U);
}

TEST(LoadAwareStart, WithoutAWaitDecisionsBeginAtOnce) {
  LoadAwareCluster cluster(kGuarded, WithWait(0s));
  AddBusyCluster(cluster, 6);
  cluster.Settle();
  EXPECT_EQ(cluster.running.size(), 6U);
}

TEST(LoadAwareStart, ANewLeaderWaitsFromTheTimeAtWhichItLeads) {
  SchedulerOptions options = WithWait(5s);
  options.stand_by = true;
  LoadAwareCluster cluster(kGuarded, options);
  AddBusyCluster(cluster, 6);
  cluster.Wait(1min);
  cluster.scheduler->Lead();
  cluster.Wait(2s);
  EXPECT_THAT(cluster.running, IsEmpty());
  for (const std::uint32_t id : {0U, 1U, 2U}) Answer(cluster, id);
  EXPECT_EQ(cluster.running.size(), 6U);
}

// --- retries ---

// After any sequence of measurements and pod changes, no pod waits that an identical new pod would not have
// to wait for.
TEST(LoadAwareRetry, NoPodWaitsThatAnIdenticalNewPodWouldNotHaveToWaitFor) {
  const std::string configurations[] = {
      "{preset: none, holdFor: 60s, signals: [{name: a, query: a, threshold: 60, estimate: {from: request, "
      "resource: cpu}}, {name: b, query: b, threshold: 70}]}",
      "{preset: none, holdFor: 60s, onOutage: reject, maxEstimate: 40, signals: [{name: a, query: a, "
      "threshold: 60, estimate: {from: request, resource: cpu}}, {name: b, query: b, threshold: 70}]}",
      "{preset: none, holdFor: 60s, hysteresis: 20, signals: [{name: a, query: a, threshold: 60, estimate: "
      "{from: limit, resource: cpu, factor: 2}}, {name: b, query: b, weight: 0, estimate: {from: none}}]}",
  };
  for (unsigned seed = 1; seed <= 3; ++seed) {
    LoadAwareCluster cluster(configurations[seed - 1]);
    std::mt19937 random(seed);
    const auto up_to = [&](std::size_t most) { return static_cast<int>(random() % most); };
    const auto any_of = [&](const auto& map) { return std::next(map.begin(), up_to(map.size()))->first; };
    int pods = 0, nodes = 0;
    std::size_t waited = 0, retried = 0;
    for (std::size_t step = 0; step < testing::Repetitions(5000); ++step) {
      const int change = up_to(12);
      if (change <= 2) {
        const SignalId id{static_cast<std::uint32_t>(up_to(2))};
        std::map<std::string, double> values;
        const int level = up_to(60);
        for (const auto& [node, object] : cluster.nodes) {
          if (up_to(8) > 0) values[node] = (level + up_to(40)) / 100.0;
        }
        cluster.Measure(id, values);
      } else if (change == 3) {
        cluster.Fail(SignalId{static_cast<std::uint32_t>(up_to(2))});
      } else if (change <= 6) {
        if (cluster.waiting.size() < 20)
          cluster.AddPod(MakePod(fmt::format("p{}", ++pods)).Cpu(fmt::format("{}m", 100 * (1 + up_to(20)))));
      } else if (change == 7) {
        if (!cluster.running.empty()) cluster.Delete(cluster.running, any_of(cluster.running));
      } else if (change == 8) {
        if (cluster.waiting.size() > 10) cluster.Delete(cluster.waiting, any_of(cluster.waiting));
      } else if (change == 9) {
        if (!cluster.running.empty()) cluster.Start(any_of(cluster.running));
      } else if (change == 10) {
        if (cluster.nodes.size() < 4 || (cluster.nodes.size() < 8 && up_to(4) == 0)) {
          cluster.AddNode(fmt::format("n{}", ++nodes));
        } else if (up_to(8) == 0) {
          cluster.RemoveNode(any_of(cluster.nodes));
        }
      }
      while (cluster.running.size() > 40) cluster.Delete(cluster.running, any_of(cluster.running));
      const std::size_t bound = cluster.api.bindings.size();
      cluster.Settle();
      if (change > 6) retried += cluster.api.bindings.size() - bound;
      for (const api::PodPtr& pod : cluster.Unschedulable()) {
        ++waited;
        ASSERT_FALSE(cluster.WouldFit(*pod))
            << pod->metadata.name << " waits after step " << step << " with seed " << seed;
      }
      // Back-offs end, too: they are delays of a retry, not waits for an event.
      if (up_to(3) == 0) cluster.Wait(std::chrono::seconds(1 + up_to(20)));
    }
    EXPECT_GT(waited, testing::Repetitions(1000)) << "seed " << seed;
    EXPECT_GT(retried, 0U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::cycle
