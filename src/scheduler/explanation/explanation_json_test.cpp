#include "scheduler/explanation/explanation_json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/explanation/fake_cluster.hpp"

namespace berth::explanation {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kNothing;

std::string JsonOf(const FakeCluster& cluster, const api::Pod& pod, JsonView view,
                   const std::vector<std::string>& left_out = kNothing) {
  const auto built = cluster.Build();
  const Explanation explanation = ExplainPod(*built->evaluator, std::make_shared<const api::Pod>(pod));
  return ExplanationJson(
      explanation, {WallTime(std::chrono::seconds(1)), WallTime(std::chrono::seconds(2)), true, left_out},
      view);
}

FakeCluster SecretCluster() {
  FakeCluster cluster;
  cluster.Add(MakeNode("secret-n1")
                  .Cpu("4")
                  .Memory("8Gi")
                  .Label("kubernetes.io/hostname", "secret-n1")
                  .Label("disk", "ssd"));
  cluster.Add(MakeNode("secret-n2")
                  .Cpu("8")
                  .Memory("8Gi")
                  .Label("kubernetes.io/hostname", "secret-n2")
                  .Taint("gpu", "true", "NoSchedule"));
  cluster.Add(
      MakeNode("secret-n3").Cpu("2").Memory("8Gi").Label("kubernetes.io/hostname", "secret-n3").Cordoned());
  cluster.Run("secret-n1", MakePod("secret-db").Cpu("3").HostPort(80));
  return cluster;
}

TEST(ExplanationJson, HasReasonsAdviceAndCircumstances) {
  const std::string json =
      JsonOf(SecretCluster(), MakePod("p").Cpu("2"), JsonView::kNodes, {"extender http://e"});
  for (
      const char* part :
      {R"("namespace":"default","name":"p")", R"("clusterAsOf":"1970-01-01T00:00:01.000000Z")",
       R"("evaluatedAt":"1970-01-01T00:00:02.000000Z","leading":true,"leftOut":["extender http://e"])",
       R"("result":"unschedulable","message":"0/3 nodes are available: )",
       R"("nodes":{"total":3,"feasible":0})",
       R"x({"nodes":1,"reasons":[{"plugin":"NodeResourcesFit","reason":"Insufficient cpu","values":["requests 2; secret-n1 lacks 1 (1 of 4 free)"]}],"shortfall":0.5,"names":["secret-n1"]})x",
       R"({"steps":["add a toleration for gpu=true:NoSchedule"],"nodes":1,"victimCount":0,"names":["secret-n2"]})",
       R"({"steps":["wait until default/secret-db has ended, or delete it"],"nodes":1,)"})
    EXPECT_THAT(json, HasSubstr(part));
  EXPECT_THAT(json, Not(HasSubstr("adviceWithheld")));
}

TEST(ExplanationJson, NamesTheBestNodesOfAPodThatFits) {
  FakeCluster cluster = SecretCluster();
  cluster.Add(MakeNode("large").Cpu("64").Memory("64Gi"));
  const std::string json = JsonOf(cluster, MakePod("p").Cpu("1"), JsonView::kNodes);
  EXPECT_THAT(json, HasSubstr(R"("result":"scheduled")"));
  EXPECT_THAT(json, HasSubstr(R"("node":"large")"));
  EXPECT_THAT(json, HasSubstr(R"("candidates":[{"node":"large","total":)"));
}

// Whatever the reason, a summary names no nodes and no other pods, and still gives the advice that changes
// only the pod.
TEST(ExplanationJson, ASummaryNamesNoNodeAndNoOtherPod) {
  struct Case {
    const char* what;
    api::Pod pod;
    const char* advice;  // empty: not checked
    bool withheld;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"a shortage", MakePod("p").Cpu("2"), "lower the cpu request from 2 to 1", true},
           {"a host port", MakePod("p").HostPort(80), "add a toleration", true},
           {"a taint", MakePod("p").Cpu("5"), "add a toleration for gpu=true:NoSchedule", true},
           {"a mistyped node", MakePod("p").Selecting("kubernetes.io/hostname", "secret-n4"), "", true},
           {"a mistyped label", MakePod("p").Selecting("disk", "sdd"), "require disk=ssd instead of disk=sdd",
            false},
           {"preemption", MakePod("p").Cpu("2").Priority(10), "", true},
           {"a pod that fits", MakePod("p").Cpu("1"), "", false},
           {"a gate", MakePod("p").Gate("quota"), "remove the scheduling gate quota", false},
       }) {
    const std::string complete = JsonOf(SecretCluster(), c.pod, JsonView::kNodes);
    std::string summary = JsonOf(SecretCluster(), c.pod, JsonView::kSummary);
    EXPECT_THAT(complete, HasSubstr("secret-")) << c.what;
    // What the user's own pod says is no secret.
    for (const char* own : {"secret-n4"}) {
      for (auto at = summary.find(own); at != std::string::npos; at = summary.find(own)) summary.erase(at, 9);
    }
    EXPECT_THAT(summary, Not(HasSubstr("secret-"))) << c.what;
    EXPECT_THAT(summary, HasSubstr(c.advice)) << c.what;
    EXPECT_EQ(summary.contains("adviceWithheld"), c.withheld) << c.what << ": " << summary;
  }
}

TEST(ExplanationJson, ASummaryHidesTheQuotaUseOfOtherNamespaces) {
  const runtime::Registry plugins = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &plugins.codecs();
  const auto config = config::ParseSchedulerConfig(
      R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: CapacityScheduling}]}}
)",
      options);
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("20"));
  cluster.Run("n1", MakePod("db").Namespace("secret").Cpu("8"));
  const auto built = cluster.Build(config.value());
  for (const char* ns : {"default", "secret"}) {
    api::ElasticQuota quota;
    quota.metadata.ns = ns;
    quota.metadata.name = "quota";
    quota.min.emplace()["cpu"] = api::Quantity::FromInteger(4);
    quota.max.emplace()["cpu"] = api::Quantity::FromInteger(12);
    built->engine->cache().objects().Apply(
        ports::Change<api::ElasticQuota>{nullptr, std::make_shared<const api::ElasticQuota>(quota)});
  }
  const Explanation explanation =
      ExplainPod(*built->evaluator, std::make_shared<const api::Pod>(MakePod("p").Cpu("2")));
  const JsonContext context{WallTime(std::chrono::seconds(1)), WallTime(std::chrono::seconds(2)), true,
                            kNothing};
  const std::string summary = ExplanationJson(explanation, context, JsonView::kSummary);
  EXPECT_THAT(summary, HasSubstr(R"("podReasons":[{"plugin":"CapacityScheduling","reason":"Pod default/p )"));
  EXPECT_THAT(summary, Not(HasSubstr("secret")));
  EXPECT_THAT(summary, Not(HasSubstr("8 of 8")));
  EXPECT_THAT(
      ExplanationJson(explanation, context, JsonView::kNodes),
      HasSubstr(R"("values":["namespaces with a quota use 8 of 8 cpu (sum of all minimums), default 0 )"
                R"(of its minimum of 4; the pod requests 2; beyond their minimum: secret 4"]})"));
}

TEST(ExplanationJson, ASummaryDoesNotNameANodeByItsHostname) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4").Label("kubernetes.io/hostname", "host-a"));
  const api::Pod pod = MakePod("p").Cpu("1").Selecting("kubernetes.io/hostname", "host-b");
  EXPECT_THAT(JsonOf(cluster, pod, JsonView::kNodes),
              HasSubstr("require kubernetes.io/hostname=host-a instead of kubernetes.io/hostname=host-b"));
  const std::string summary = JsonOf(cluster, pod, JsonView::kSummary);
  EXPECT_THAT(summary, Not(HasSubstr("host-a")));
  EXPECT_THAT(summary, HasSubstr("adviceWithheld"));
}

TEST(ExplanationJson, HasTheCandidatesOfPreemption) {
  FakeCluster cluster;
  cluster.Add(MakeNode("n1").Cpu("4")).Add(MakeNode("n2").Cpu("4"));
  berth::testing::PodBuilder low = MakePod("low").Cpu("4").Priority(5);
  low.raw().status.start_time = 60;
  cluster.Run("n1", low).Run("n2", MakePod("high").Cpu("4").Priority(500));
  const api::Pod pod = MakePod("p").Cpu("4").Priority(10);
  EXPECT_THAT(
      JsonOf(cluster, pod, JsonView::kNodes),
      HasSubstr(
          R"("preemption":{"victimCount":1,"node":"n1","victims":["default/low"],"candidates":[{"node":"n1","victimCount":1,"violations":0,)"
          R"("victims":[{"pod":"default/low","priority":5,"started":"1970-01-01T00:01:00.000000Z"}]}],"refusals":[{"nodes":1,)"));
  EXPECT_THAT(
      JsonOf(cluster, pod, JsonView::kSummary),
      HasSubstr(
          R"("preemption":{"victimCount":1,"refusals":[{"nodes":1,"reason":"No preemption victims found for incoming pod"}]})"));
}

TEST(ExplanationJson, AReasonOccursOnceInASummary) {
  FakeCluster cluster;
  cluster.Add(MakeNode("a").Cpu("1")).Add(MakeNode("b").Cpu("2"));
  EXPECT_THAT(
      JsonOf(cluster, MakePod("p").Cpu("4"), JsonView::kSummary),
      HasSubstr(
          R"("groups":[{"nodes":2,"reasons":[{"plugin":"NodeResourcesFit","reason":"Insufficient cpu"}]}])"));
}

TEST(ExplanationJson, OnlyTheFirstNamesAreShown) {
  FakeCluster cluster;
  for (int i = 0; i < 60; ++i) cluster.Add(MakeNode(fmt::format("n{:02}", i)).Cpu("1"));
  const std::string json = JsonOf(cluster, MakePod("p").Cpu("4"), JsonView::kNodes);
  EXPECT_THAT(json, HasSubstr(R"("groups":[{"nodes":60,)"));
  const auto from = json.find(R"("names":[)");
  ASSERT_NE(from, std::string::npos);
  const std::string names = json.substr(from, json.find(']', from) - from);
  EXPECT_EQ(std::ranges::count(names, ','), std::ptrdiff_t{kMostJsonNames} - 1) << names;
}

}  // namespace
}  // namespace berth::explanation
