#include "scheduler/plugins/fair_order/fair_order.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <map>

#include "base/random.hpp"
#include "testing/cluster.hpp"
#include "testing/repetitions.hpp"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::TenantId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

PodBuilder TenantPod(const std::string& tenant, const std::string& name = "pod") {
  return MakePod(name).Namespace(tenant).Uid(tenant + "/" + name);
}

// A plugin, and pods that wait in activeQ.
class FairOrderTest : public ::testing::Test {
 protected:
  // The cluster has 100 CPUs, 1000 Gi of memory, 1000 pods and 10 GPUs.
  FairOrderTest() {
    cluster.handle().metrics = &registry;
    cluster.Add(MakeNode("n").Cpu("100").Memory("1000Gi").Pods("1000").Allocatable("nvidia.com/gpu", "10"));
  }
  void Use(const std::string& args = "") {
    plugin = cluster.Make<FairOrder>(args);
    plugin->Start();
  }
  void Run(const api::Pod& pod) { cluster.Run("n", pod); }
  // Only the first pod of a tenant is known to the plugin.
  void Wait(const api::Pod& pod) {
    auto queued = std::make_unique<framework::QueuedPod>();
    queued->info = cluster.Prepare(pod);
    queued->priority = pod.spec.priority;
    const TenantId tenant = plugin->TenantOf(*queued);
    auto& pods = waiting[tenant];
    pods.push_back(std::move(queued));
    plugin->OnWaiting(tenant, pods.front().get(), pods.size(), now);
  }
  std::vector<std::string> Order() {
    std::vector<std::string> names;
    plugin->ForEachWaiting([&](TenantId tenant) {
      names.push_back(plugin->StateOf(tenant).name);
      return true;
    });
    return names;
  }
  framework::TenantState First() {
    framework::TenantState state;
    plugin->ForEachWaiting([&](TenantId tenant) {
      state = plugin->StateOf(tenant);
      return false;
    });
    return state;
  }
  // Takes the first pod of the first tenant; the attempt places it or fails. Returns the tenant.
  std::string Attempt(bool placed) {
    TenantId first = 0;
    plugin->ForEachWaiting([&](TenantId tenant) {
      first = tenant;
      return false;
    });
    const std::string name = plugin->StateOf(first).name;
    auto& pods = waiting.at(first);
    const auto pod = std::move(pods.front());
    pods.pop_front();
    plugin->OnAttempt(*pod, now);
    plugin->OnWaiting(first, pods.empty() ? nullptr : pods.front().get(), pods.size(), now);
    if (pods.empty()) waiting.erase(first);
    if (placed) Run(*pod->info.pod);
    return name;
  }

  metrics::Registry registry;
  Cluster cluster;
  std::unique_ptr<FairOrder> plugin;
  std::map<TenantId, std::deque<std::unique_ptr<framework::QueuedPod>>> waiting;
  MonoTime now{1h};
};

// --- the order of tenants ---

struct TenantOrderCase {
  std::string name;
  std::string args;
  std::vector<api::Pod> running;
  std::vector<api::Pod> waiting;
  std::vector<std::string> order;
};

TEST(FairOrder, TenantsAreOrderedByTheirDominantShares) {
  const auto labelled = [](const std::string& value) {
    return MakePod("pod-" + value).Uid(value).Label("team", value);
  };
  const TenantOrderCase cases[] = {
      {"a tenant that uses nothing is first",
       "",
       {TenantPod("a").Cpu("1")},
       {TenantPod("a"), TenantPod("b")},
       {"b", "a"}},
      {"of equal tenants the one that waits longer is first",
       "",
       {},
       {TenantPod("b"), TenantPod("a")},
       {"b", "a"}},
      {"the largest share of any resource counts",
       "",
       {TenantPod("cpu").Cpu("20"), TenantPod("gpu").Cpu("1").Request("nvidia.com/gpu", "3")},
       {TenantPod("gpu"), TenantPod("cpu")},
       {"cpu", "gpu"}},
      {"pods without requests count as pods",
       "",
       {TenantPod("a", "1"), TenantPod("a", "2"), TenantPod("b", "1")},
       {TenantPod("a"), TenantPod("b")},
       {"b", "a"}},
      {"a resource that is not listed does not count",
       "{resources: [cpu]}",
       {TenantPod("cpu").Cpu("1"), TenantPod("gpu").Request("nvidia.com/gpu", "3")},
       {TenantPod("cpu"), TenantPod("gpu")},
       {"gpu", "cpu"}},
      {"a share is divided by the weight",
       "{tenants: [{name: a, weight: 3}]}",
       {TenantPod("a").Cpu("20"), TenantPod("b").Cpu("10")},
       {TenantPod("b"), TenantPod("a")},
       {"a", "b"}},
      {"the default weight is that of tenants that are not listed",
       "{defaultWeight: 3, tenants: [{name: b, weight: 1}]}",
       {TenantPod("a").Cpu("20"), TenantPod("b").Cpu("10")},
       {TenantPod("b"), TenantPod("a")},
       {"a", "b"}},
      {"the label is the tenant, and pods without it have one tenant",
       "{tenantLabel: team}",
       {labelled("x").Cpu("5"), MakePod("other").Cpu("3")},
       {labelled("x"), MakePod("another"), labelled("y")},
       {"y", "<none>", "x"}},
      {"priority does not matter between tenants",
       "",
       {TenantPod("a").Cpu("1")},
       {TenantPod("a").Priority(100), TenantPod("b")},
       {"b", "a"}},
      {"priority matters first where that is chosen",
       "{priority: BeforeTenant}",
       {TenantPod("a").Cpu("1"), TenantPod("c").Cpu("2")},
       {TenantPod("a").Priority(100), TenantPod("b"), TenantPod("c").Priority(100)},
       {"a", "c", "b"}},
      {"a group of tenants is compared with its siblings",
       "{tenants: [{name: org}, {name: x, parent: org}, {name: w, parent: org}]}",
       {TenantPod("x").Cpu("10"), TenantPod("z").Cpu("5")},
       {TenantPod("x"), TenantPod("w"), TenantPod("z")},
       {"z", "org/w", "org/x"}},
      {"pods of a parent compete with its children",
       "{tenants: [{name: org}, {name: x, parent: org}]}",
       {TenantPod("org").Cpu("10")},
       {TenantPod("org"), TenantPod("x")},
       {"org/x", "org"}},
      {"a label may be a path",
       "{tenantLabel: team, separator: '.', tenants: [{name: org, weight: 4}, {name: org.x, weight: 9}]}",
       {labelled("org.x").Cpu("20"), labelled("org.y").Cpu("10"), labelled("solo").Cpu("10")},
       {labelled("org.x"), labelled("org.y"), labelled("solo"), labelled("org")},
       {"org", "org/x", "org/y", "solo"}},
      {"empty names in a path are names",
       "{tenantLabel: team, separator: '.'}",
       {labelled("a..b").Cpu("1")},
       {labelled("a..b"), labelled("a")},
       {"a", "a//b"}},
  };
  for (const TenantOrderCase& row : cases) {
    SCOPED_TRACE(row.name);
    struct Instance : FairOrderTest {
      void TestBody() override {}
      using FairOrderTest::now;
      using FairOrderTest::Order;
      using FairOrderTest::Run;
      using FairOrderTest::Use;
      using FairOrderTest::Wait;
    } test;
    test.Use(row.args);
    for (const api::Pod& pod : row.running) test.Run(pod);
    for (const api::Pod& pod : row.waiting) {
      test.Wait(pod);
      test.now += 1ms;
    }
    EXPECT_EQ(test.Order(), row.order);
  }
}

TEST_F(FairOrderTest, WithinATenantPriorityAndThenTimeDecide) {
  Use();
  framework::QueuedPod low, high, later;
  high.priority = 5;
  later.timestamp = MonoTime(1s);
  EXPECT_TRUE(plugin->Less(high, low));
  EXPECT_FALSE(plugin->Less(low, high));
  EXPECT_TRUE(plugin->Less(low, later));
  EXPECT_FALSE(plugin->Less(later, low));
}

TEST_F(FairOrderTest, PodsThatRanBeforeTheStartCount) {
  Run(TenantPod("a").Cpu("1"));
  Use();
  Wait(TenantPod("a"));
  Wait(TenantPod("b"));
  EXPECT_THAT(Order(), ElementsAre("b", "a"));
}

// The sum is above 2^63.
TEST_F(FairOrderTest, APodWithImpossibleRequestsDoesNotLowerTheShareOfItsTenant) {
  Use();
  api::Container container;
  container.resources.requests["memory"] = api::Quantity::Parse("4Ei").value();
  Run(TenantPod("a").Container(container).Container(container));
  Run(TenantPod("b").Cpu("1"));
  Wait(TenantPod("a"));
  Wait(TenantPod("b"));
  EXPECT_THAT(Order(), ElementsAre("b", "a"));
}

TEST_F(FairOrderTest, SharesFollowTheNodes) {
  Use("{resources: [cpu, nvidia.com/gpu]}");
  Run(TenantPod("cpu").Cpu("30"));
  Run(TenantPod("gpu").Request("nvidia.com/gpu", "2"));
  Wait(TenantPod("cpu"));
  Wait(TenantPod("gpu"));
  EXPECT_THAT(Order(), ElementsAre("gpu", "cpu"));
  cluster.Add(MakeNode("more").Cpu("900"));  // 3 % of the CPUs, 20 % of the GPUs
  EXPECT_THAT(Order(), ElementsAre("cpu", "gpu"));
}

// --- attempts without a placement ---

TEST_F(FairOrderTest, PodsThatDoNotFitDelayOthersByAtMostSixteenAttempts) {
  Use();
  Run(TenantPod("b").Cpu("100"));  // the whole cluster
  for (int i = 0; i < 1000; ++i) Wait(TenantPod("a", std::to_string(i)).Cpu("200"));
  Wait(TenantPod("b", "next"));
  int before = 0;
  while (Attempt(false) == "a") ++before;
  EXPECT_EQ(before, 16) << "that many attempts count like the whole cluster";
  EXPECT_EQ(First().unsettled, 16U);
  now += FairOrder::kUnsettledPeriod;
  Attempt(false);
  EXPECT_EQ(First().unsettled, 1U) << "earlier attempts are forgotten";
}

TEST_F(FairOrderTest, AnAttemptThatPlacesAPodIsNotUnsettled) {
  Use();
  for (int i = 0; i < 3; ++i) Wait(TenantPod("a", std::to_string(i)).Cpu("1"));
  Attempt(true);
  Attempt(false);
  EXPECT_EQ(First().unsettled, 1U);
  EXPECT_DOUBLE_EQ(First().share, 0.01);
  EXPECT_EQ(First().resource, "cpu");
  EXPECT_EQ(First().waiting, 1U);
}

TEST_F(FairOrderTest, AGroupThatDoesNotFitLeavesItsMembersAttemptsUnsettled) {
  Use();
  for (int i = 0; i < 4; ++i) Wait(TenantPod("a", std::to_string(i)));
  for (int i = 0; i < 3; ++i) Attempt(false);
  ASSERT_EQ(First().unsettled, 3U);
  const api::PodPtr member = TenantPod("a", "member").Group("g").Share();
  cluster.groups().Put(member);
  cluster::PlacedPod placed;
  placed.pod = member;
  placed.takes = cluster::UseOf(*member, cluster.symbols());
  cluster.nodes().AddPod(cluster.RowOf("n"), placed);
  EXPECT_EQ(First().unsettled, 2U);
  cluster.nodes().RemovePod(cluster.RowOf("n"), placed);  // another member does not fit
  EXPECT_EQ(First().unsettled, 3U);
  cluster.nodes().AddPod(cluster.RowOf("n"), placed);
  cluster.groups().Assume(*member, "n");
  cluster.nodes().RemovePod(cluster.RowOf("n"), placed);  // it was placed
  EXPECT_EQ(First().unsettled, 2U);
}

// --- ageing ---

TEST_F(FairOrderTest, ATenantWithALargeShareIsTriedAfterItsLeadHasAged) {
  Use("{ageing: 10m, resources: [cpu]}");
  Run(TenantPod("large").Cpu("50"));
  Wait(TenantPod("large"));
  // Pods that use nothing arrive for ever.
  const auto begin = now;
  int number = 0;
  for (std::string tenant; tenant != "large"; now += 1s) {
    Wait(TenantPod("small", std::to_string(number++)));
    tenant = Attempt(true);
    ASSERT_LT(now - begin, 6min);
  }
  EXPECT_GT(now - begin, 4min) << "half of the cluster is the lead of five minutes";
}

TEST_F(FairOrderTest, WithoutAgeingAShareNeverGetsSmaller) {
  Use("{ageing: 0s}");
  Run(TenantPod("large").Cpu("50"));
  Wait(TenantPod("large"));
  now += 24h;
  Wait(TenantPod("small"));
  EXPECT_THAT(Order(), ElementsAre("small", "large"));
}

// --- bounds ---

TEST_F(FairOrderTest, TenantsWithoutPodsTakeNoMemoryAndNoSeries) {
  Use();
  for (int i = 0; i < 100; ++i) Wait(TenantPod(fmt::format("t{}", i)));
  EXPECT_EQ(plugin->tenants(), 100U);
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_tenant_waiting_entries{tenant=\"t42\"} 1\n"));
  for (int i = 0; i < 100; ++i) Attempt(false);
  now += FairOrder::kUnsettledPeriod;
  Wait(TenantPod("last"));
  Attempt(false);
  EXPECT_EQ(plugin->tenants(), 1U);
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("t42")));
}

TEST_F(FairOrderTest, FurtherTenantsShareOne) {
  Use("{maxTenants: 2, maxTenantSeries: 1}");
  for (const auto* tenant : {"a", "b", "c", "d"}) Wait(TenantPod(tenant));
  EXPECT_THAT(Order(), ElementsAre("a", "b", "<other>"));
  EXPECT_EQ(plugin->tenants(), 3U);
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("tenant=\"b\"")));
  Run(TenantPod("c", "running").Cpu("1"));
  EXPECT_THAT(registry.Expose(), HasSubstr("berth_tenant_share{tenant=\"a\"} 0\n"));
}

TEST_F(FairOrderTest, AStopForgetsEverything) {
  Use();
  Run(TenantPod("a").Cpu("1"));
  Wait(TenantPod("b"));
  Attempt(false);
  plugin->Stop();
  EXPECT_EQ(plugin->tenants(), 0U);
  EXPECT_THAT(registry.Expose(), Not(HasSubstr("berth_tenant")));
  plugin->Start();
  EXPECT_EQ(plugin->tenants(), 1U) << "a has a pod on a node";
}

// --- properties ---

// Each tenant always has pods that wait; the cluster is full, and a pod that ends makes room for one.
TEST(FairOrderProperty, SharesConvergeToTheWeights) {
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(20); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TenantTree tree({.priority_first = false, .ageing = 10min}, 2);
    tree.SetTotals({10'000, 10'000});
    struct Tenant {
      TenantTree::Node* node;
      double weight;
      std::vector<std::int64_t> demand;
      std::int64_t pods = 0;
    };
    std::vector<Tenant> tenants;
    const std::size_t count = 2 + random.Below(6);
    double weights = 0;
    MonoTime now(1h);
    for (std::size_t i = 0; i < count; ++i) {
      const double weight = static_cast<double>(1 + random.Below(4));
      const std::string name = std::to_string(i);
      const TenantTree::Step step{name, weight};
      // The same resource dominates, so that the shares add up to the cluster.
      tenants.push_back({&tree.Add({&step, 1}), weight, {10, static_cast<std::int64_t>(random.Below(10))}});
      tenants.back().node->id = static_cast<std::uint32_t>(i);
      tree.Wait(*tenants.back().node, 0, now);
      weights += weight;
    }
    std::vector<std::size_t> running;
    for (int step = 0; step < 20'000; ++step) {
      now += 1ms;
      if (running.size() == 1000) {
        std::swap(running[random.Below(running.size())], running.back());
        Tenant& ends = tenants[running.back()];
        running.pop_back();
        --ends.pods;
        tree.Use(*ends.node, std::vector{-ends.demand[0], -ends.demand[1]});
      }
      std::size_t first = 0;
      tree.ForEachWaiting([&](const TenantTree::Node& node) {
        first = node.id;
        return false;
      });
      Tenant& next = tenants[first];
      tree.Attempt(*next.node, now);
      tree.Use(*next.node, next.demand);
      tree.Settle(*next.node, 1);
      ++next.pods;
      running.push_back(first);
    }
    for (const Tenant& tenant : tenants)
      EXPECT_NEAR(static_cast<double>(tenant.pods) / 1000, tenant.weight / weights, 0.005);
  }
}

// The longest time between two attempts for a tenant, when others use anything and always have pods that
// wait. The first tenant keeps half of the cluster.
Duration LongestWait(std::uint64_t seed, std::uint32_t groups) {
  Random random(seed);
  TenantTree tree({.priority_first = false, .ageing = 10min}, 1);
  tree.SetTotals({1000});
  std::vector<TenantTree::Node*> nodes;
  std::vector<MonoTime> tried;
  std::vector<std::int64_t> used(12);
  MonoTime now(1h);
  for (std::uint32_t i = 0; i < used.size(); ++i) {
    const std::string group = std::to_string(i % groups), name = std::to_string(i);
    const TenantTree::Step path[] = {{group}, {name}};
    nodes.push_back(&tree.Add(path));
    nodes.back()->id = i;
    tree.Wait(*nodes.back(), 0, now);
    tried.push_back(now);
  }
  Duration longest{};
  tree.Use(*nodes[0], std::vector<std::int64_t>{500});
  for (int step = 0; step < 20'000; ++step) {
    now += 1s;
    const std::size_t changed = 1 + random.Below(nodes.size() - 1);
    const auto wanted = static_cast<std::int64_t>(random.Below(40));
    tree.Use(*nodes[changed], std::vector{wanted - used[changed]});
    used[changed] = wanted;
    std::uint32_t first = 0;
    tree.ForEachWaiting([&](const TenantTree::Node& node) {
      first = node.id;
      return false;
    });
    longest = std::max(longest, now - tried[first]);
    tried[first] = now;
    tree.Attempt(*nodes[first], now);
    tree.Settle(*nodes[first], 1);
  }
  for (const MonoTime last : tried) longest = std::max(longest, now - last);
  return longest;
}

TEST(FairOrderProperty, NoTenantWaitsLongerThanTheAgeingTime) {
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(20); ++seed)
    EXPECT_LT(LongestWait(seed, 1), 10min) << seed;
}

// The group waits as long, and in the group each of three siblings may be tried before.
TEST(FairOrderProperty, InATreeTheTimesOfTheLevelsMultiply) {
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(20); ++seed)
    EXPECT_LT(LongestWait(seed, 3), 4 * 10min) << seed;
}

// --- arguments ---

struct FairOrderArgsCase {
  std::string name, args, error;
};

TEST(FairOrderArgs, ErrorsNameFieldValueAndExpectation) {
  const std::string at = "profiles[0].pluginConfig[0].args";
  const FairOrderArgsCase cases[] = {
      {"unknown field", "{tenantLable: x}", "unknown field \"tenantLable\""},
      {"a label that is none", "{tenantLabel: 'a b'}", at + ".tenantLabel: Invalid value: \"a b\": "},
      {"an unknown separator", "{tenantLabel: x, separator: /}",
       at + ".separator: Unsupported value: \"/\": supported values: \".\", \"-\", \"_\""},
      {"a separator for namespaces", "{separator: '.'}",
       at + ".separator: Forbidden: only with a tenantLabel"},
      {"a weight of 0", "{tenants: [{name: a, weight: 0}]}",
       at + ".tenants[0].weight: Invalid value: 0: must be from 0.001 to 1000000"},
      {"a default weight that is too large", "{defaultWeight: 1e7}",
       at + ".defaultWeight: Invalid value: 10000000: must be from 0.001 to 1000000"},
      {"no name", "{tenants: [{weight: 1}]}", at + ".tenants[0].name: Required value"},
      {"a name twice", "{tenants: [{name: a}, {name: a}]}", at + ".tenants[1].name: Duplicate value: \"a\""},
      {"an unknown parent", "{tenants: [{name: research}, {name: a, parent: reserch}]}",
       at + ".tenants[1].parent: Not found: \"reserch\": must be the name of another tenant; did you mean "
            "\"research\"?"},
      {"a circle", "{tenants: [{name: a, parent: b}, {name: b, parent: a}]}",
       at + ".tenants[0].parent: Invalid value: \"b\": must not form a circle or more than 8 levels"},
      {"a parent beside a separator",
       "{tenantLabel: x, separator: '.', tenants: [{name: a}, {name: b, parent: a}]}",
       at + ".tenants[1].parent: Forbidden: with a separator, names are paths: write \"a.b\" as name"},
      {"no resources", "{resources: []}", at + ".resources: Required value: must name at least one resource"},
      {"a resource twice", "{resources: [cpu, cpu]}", at + ".resources[1]: Duplicate value: \"cpu\""},
      {"an unknown order", "{priority: BeforTenant}",
       "priority: Unsupported value: \"BeforTenant\": supported values: \"WithinTenant\", \"BeforeTenant\"; "
       "did you "
       "mean \"BeforeTenant\"?"},
      {"ageing that is too short", "{ageing: 5ms}",
       at + ".ageing: Invalid value: \"5ms\": must be 0 or from 1s to 8760h0m0s"},
      {"no tenants", "{maxTenants: 0}", at + ".maxTenants: Invalid value: 0: must be from 1 to 10000"},
      {"too many series", "{maxTenantSeries: 1001}",
       at + ".maxTenantSeries: Invalid value: 1001: must be from 0 to 1000"},
  };
  for (const FairOrderArgsCase& row : cases) {
    SCOPED_TRACE(row.name);
    Cluster cluster;
    const auto made = cluster.TryMake<FairOrder>(row.args);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr(row.error));
  }
}

TEST(FairOrderArgs, CompletedArgumentsAreReadBackUnchanged) {
  const config::ArgsCodec codec = FairOrderArgsCodec();
  const auto given = yaml::ParseValue(
      "{tenantLabel: team, separator: '.', tenants: [{name: a, weight: 2.5}, {name: b}], ageing: 90s, "
      "priority: "
      "BeforeTenant}");
  config::Problems problems;
  const config::Value once = codec.complete(*given, {}, problems);
  const config::Value twice = codec.complete(once, {}, problems);
  EXPECT_TRUE(problems.empty()) << problems.Text();
  EXPECT_THAT(codec.validate(twice, "args", {}), IsEmpty());
  EXPECT_EQ(once, twice);
  EXPECT_EQ(once.Find("ageing")->text, "1m30s");
}

}  // namespace
}  // namespace berth::plugins
