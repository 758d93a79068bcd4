// FairOrder in a complete scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeGroup;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// With groups: the feature gate GenericWorkload.
config::SchedulerConfig FairConfig(const std::string& args = "{}") {
  std::vector<std::string> notes;
  const std::string on[] = {"GenericWorkload=true"};
  return config::ParseSchedulerConfig(
             "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
             "profiles:\n- plugins: {queueSort: {enabled: [{name: FairOrder}], disabled: [{name: '*'}]}}\n"
             "  pluginConfig: [{name: FairOrder, args: " +
                 args + "}]\n",
             config::FeatureGates::Parse(on, notes).value())
      .value();
}

struct FairCluster : SchedulerEnvironment {
  explicit FairCluster(const config::SchedulerConfig& config = FairConfig()) {
    Build(config, registry);
    loop.sink().OnSynced();
    Settle();
  }
  void AddNode(const std::string& name, const std::string& cpu) {
    loop.sink().On(ports::Change<api::Node>{
        nullptr, std::make_shared<const api::Node>(MakeNode(name).Cpu(cpu).Memory("400Gi").Pods("1000"))});
  }
  // All changes until Settle are applied before the first decision.
  void Add(const PodBuilder& pod) { loop.sink().On(ports::Change<api::Pod>{nullptr, pod.Share()}); }
  void Add(const std::string& tenant, int count, const std::string& cpu = "1") {
    for (int i = 0; i < count; ++i) Add(PodOf(tenant, std::to_string(i)).Cpu(cpu));
  }
  static PodBuilder PodOf(const std::string& tenant, const std::string& name) {
    return MakePod(name).Namespace(tenant).Uid(tenant + "/" + name);
  }
  // The namespaces of the bound pods, one letter each.
  std::string Bound() const {
    std::string bound;
    for (const ports::Binding& binding : api.bindings) bound += binding.ns;
    return bound;
  }

  runtime::Registry registry = assembly::InTreePlugins();
};

TEST(FairOrderScheduler, TheFirstPodOfATenantDoesNotWaitForThePodsOfAnother) {
  FairCluster cluster;
  cluster.AddNode("n", "400");
  cluster.Add("a", 300);
  cluster.Add("b", 1);
  cluster.Settle();
  EXPECT_THAT(cluster.Bound().substr(0, 2), ElementsAre('a', 'b'));
  EXPECT_EQ(cluster.Bound().size(), 301U);
}

TEST(FairOrderScheduler, PrioritySortTriesTheOlderPodsFirst) {
  FairCluster cluster(config::DefaultSchedulerConfig());
  cluster.AddNode("n", "400");
  cluster.Add("a", 300);
  cluster.Add("b", 1);
  cluster.Settle();
  EXPECT_EQ(cluster.Bound().find('b'), 300U);
}

TEST(FairOrderScheduler, TenantsShareAFullClusterByTheirWeights) {
  FairCluster cluster(FairConfig("{tenants: [{name: a, weight: 2}]}"));
  cluster.AddNode("n", "30");
  cluster.Add("a", 100);
  cluster.Add("b", 100);
  cluster.Settle();
  const std::string bound = cluster.Bound();
  EXPECT_EQ(std::ranges::count(bound, 'a'), 20);
  EXPECT_EQ(std::ranges::count(bound, 'b'), 10);
}

TEST(FairOrderScheduler, PodsThatDoNotFitDoNotDelayATenantThatUsesMuch) {
  FairCluster cluster;
  cluster.AddNode("n", "100");
  cluster.Add(FairCluster::PodOf("b", "running").Cpu("50"));
  cluster.Settle();
  cluster.Add("a", 300, "90");
  cluster.Add("b", 1);
  std::size_t failed = 0;
  while (cluster.Bound() != "bb") {
    ASSERT_TRUE(cluster.loop.RunOnce(*cluster.scheduler));
    failed = cluster.scheduler->queue().sizes().unschedulable;
  }
  EXPECT_LE(failed, 16U);
}

TEST(FairOrderScheduler, AGroupCountsForItsTenant) {
  FairCluster cluster;
  cluster.AddNode("n", "100");
  const auto group = [](const std::string& ns, const std::string& name) {
    api::PodGroup object = *MakeGroup(name, 2);
    object.metadata.ns = ns;
    return std::make_shared<const api::PodGroup>(std::move(object));
  };
  for (const auto* name : {"g1", "g2"}) {
    cluster.loop.sink().On(ports::Change<api::PodGroup>{nullptr, group("a", name)});
    for (const auto* member : {"x", "y"})
      cluster.Add(FairCluster::PodOf("a", std::string(name) + member).Cpu("1").Group(name));
  }
  cluster.Add("b", 3);
  cluster.Settle();
  // A group is one entry: two pods of a, then as many of b.
  EXPECT_EQ(cluster.Bound(), "aabbaab");
}

TEST(FairOrderScheduler, AReloadChangesTheOrderOfWaitingPods) {
  for (const bool to_fair : {true, false}) {
    SCOPED_TRACE(to_fair);
    FairCluster cluster(to_fair ? config::DefaultSchedulerConfig() : FairConfig());
    cluster.Add("a", 4);
    cluster.Add("b", 2);
    cluster.AddNode("n", "100");
    // Handled in the same iteration, before the first decision.
    cluster.loop.Post(
        [&] { cluster.Reload(to_fair ? FairConfig() : config::DefaultSchedulerConfig(), cluster.registry); });
    cluster.Settle();
    EXPECT_EQ(cluster.Bound(), to_fair ? "ababaa" : "aaaabb");
  }
}

TEST(FairOrderScheduler, AReloadKeepsWhatTenantsUse) {
  FairCluster cluster;
  cluster.AddNode("n", "100");
  cluster.Add("a", 3);
  cluster.Settle();
  cluster.loop.Post([&] { cluster.Reload(FairConfig("{ageing: 0s}"), cluster.registry); });
  cluster.Settle();
  EXPECT_THAT(cluster.metrics.Expose(), HasSubstr("berth_tenant_share{tenant=\"a\"} 0.03\n"));
}

TEST(FairOrderScheduler, ThePlaceOfAPodNamesItsTenantAndThoseBefore) {
  FairCluster cluster;
  cluster.AddNode("n", "100");
  cluster.Add("c", 50);
  cluster.Settle();
  cluster.Add("a", 2);
  cluster.Add("b", 1);
  cluster.Add(FairCluster::PodOf("c", "x").Cpu("1"));
  cluster.Add(FairCluster::PodOf("c", "y").Cpu("1"));
  std::optional<queue::TenantPlace> place;
  std::size_t ahead = 0;
  cluster.loop.Post([&] {
    place = cluster.scheduler->queue().TenantPlaceOf("c/y", 1);
    ahead = cluster.scheduler->queue().CountAhead("c/y", 10);
  });
  cluster.Settle();
  ASSERT_TRUE(place);
  EXPECT_EQ(place->own.name, "c");
  EXPECT_DOUBLE_EQ(place->own.share, 0.5);
  EXPECT_EQ(place->own.waiting, 2U);
  EXPECT_EQ(place->tenants_before, 2U);
  ASSERT_EQ(place->before.size(), 1U);
  EXPECT_EQ(place->before[0].name, "a");
  EXPECT_EQ(ahead, 1U);
}

TEST(FairOrderScheduler, PodsInBackOffAreTakenEarlyInTheOrderOfTheirBackOffs) {
  FairCluster cluster;
  cluster.AddNode("n", "1");
  cluster.Add("a", 2, "8");
  cluster.Settle();
  ASSERT_EQ(cluster.scheduler->queue().sizes().unschedulable, 2U);
  cluster.AddNode("large", "64");
  cluster.Settle();
  EXPECT_EQ(cluster.Bound(), "aa") << "taken from backoffQ, because activeQ is empty";
  EXPECT_THAT(cluster.metrics.Expose(), HasSubstr("berth_tenant_waiting_entries{tenant=\"a\"} 0\n"));
}

}  // namespace
}  // namespace berth::cycle
