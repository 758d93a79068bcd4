#include "scheduler/cluster/recent_uses.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "scheduler/cluster/prepare_pod.hpp"
#include "testing/builders.hpp"

namespace berth::cluster {
namespace {

using testing::MakePod;

class RecentUsesTest : public ::testing::Test {
 protected:
  static api::Pod Pod() {
    api::Pod pod = MakePod("a").Label("app", "web").Cpu("100m").Memory("1Mi").OnNode("n1");
    return pod;
  }
  // Compares the cached result with a fresh one.
  void ExpectSameAsFresh(const api::Pod& pod) { EXPECT_EQ(*uses_.Of(pod), *UseOf(pod, words_)); }

  SymbolTable words_;
  PodUseCache uses_{words_};
};

TEST_F(RecentUsesTest, PodsThatDifferInNamesAndNodesShareOneResult) {
  const api::Pod first = Pod();
  api::Pod second = first;
  second.metadata.name = "b";
  second.metadata.uid = "b";
  second.spec.node_name = "n2";
  EXPECT_EQ(uses_.Of(first), uses_.Of(second));
  ExpectSameAsFresh(second);
}

TEST_F(RecentUsesTest, EveryFieldThatTheResultDependsOnIsCompared) {
  const std::vector<std::pair<const char*, std::function<void(api::Pod&)>>> changes = {
      {"requests", [](api::Pod& p) { p.spec.containers[0].resources.requests.erase("cpu"); }},
      {"overhead", [](api::Pod& p) { p.spec.overhead["cpu"] = api::Quantity::FromMilli(5); }},
      {"ports", [](api::Pod& p) { p.spec.containers[0].ports.push_back({80, 80, "TCP", ""}); }},
      {"labels", [](api::Pod& p) { p.metadata.labels.Set("app", "db"); }},
      {"namespace", [](api::Pod& p) { p.metadata.ns = "other"; }},
      {"deletion", [](api::Pod& p) { p.metadata.deletion_timestamp = "2026-01-01T00:00:00Z"; }},
      {"volumes", [](api::Pod& p) { p.spec.volumes.emplace_back().id = "claim"; }},
      {"what the kubelet allocated",
       [](api::Pod& p) {
         api::ContainerStatus status;
         status.name = p.spec.containers[0].name;
         status.allocated_resources = api::ResourceList{{"cpu", api::Quantity::FromMilli(900)}};
         p.status.container_statuses.push_back(status);
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    const api::Pod before = Pod();
    api::Pod after = before;
    change(after);
    const PodUsePtr use = uses_.Of(before);
    EXPECT_NE(*uses_.Of(after), *use);
    ExpectSameAsFresh(after);
    ExpectSameAsFresh(before);
  }
}

TEST_F(RecentUsesTest, AnInfeasibleResizeCountsLess) {
  api::Pod resizing = Pod();
  api::ContainerStatus status;
  status.name = resizing.spec.containers[0].name;
  status.allocated_resources = api::ResourceList{{"cpu", api::Quantity::FromMilli(50)}};
  resizing.status.container_statuses.push_back(status);
  api::Pod infeasible = resizing;
  api::PodCondition condition;
  condition.type = "PodResizePending";
  condition.reason = "Infeasible";
  infeasible.status.conditions.push_back(condition);
  const PodUsePtr use = uses_.Of(resizing);
  EXPECT_LT(uses_.Of(infeasible)->requested.milli_cpu, use->requested.milli_cpu);
  ExpectSameAsFresh(resizing);
  const PodInfo waiting = PreparePod(std::make_shared<const api::Pod>(resizing), words_);
  const PodInfo rejected = PreparePod(std::make_shared<const api::Pod>(infeasible), words_);
  EXPECT_EQ(waiting.use(), *use);
  EXPECT_EQ(rejected.use(), *uses_.Of(infeasible));
}

}  // namespace
}  // namespace berth::cluster
