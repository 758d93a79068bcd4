#include "tools/explain/explanation_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/assembly/in_tree_plugins.hpp"

namespace berth::explain {
namespace {

using testing::HasSubstr;

constexpr const char* kDump = R"(
{apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: low}, status: {allocatable: {cpu: "2", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: closed}, spec: {unschedulable: true}, status: {allocatable: {cpu: "9", memory: 9Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]}}
)";

TEST(ExplanationText, CountsTheNodesOfEachReason) {
  std::vector<std::string> notes, problems;
  const auto explainer =
      assembly::Explainer::Create(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), notes);
  ASSERT_TRUE(explainer) << explainer.error().message;
  ASSERT_TRUE((*explainer)->Load(kDump, "dump", problems));
  EXPECT_THAT(problems, testing::IsEmpty());
  std::string text;
  ASSERT_TRUE((*explainer)->Evaluate({}, [&](const assembly::Explainer::Evaluated& one) {
    text = ExplanationText(one, (*explainer)->engine(), {});
  }));
  EXPECT_THAT(text, HasSubstr("         2 nodes  Insufficient cpu [NodeResourcesFit]: low, small\n"
                              "         1 node   node(s) were unschedulable [NodeUnschedulable]: closed\n"));
}

TEST(ExplanationText, ShowsTheForecastOfLoadAware) {
  const runtime::Registry plugins = assembly::InTreePlugins();
  config::ParseOptions options;
  options.codecs = &plugins.codecs();
  const auto config = config::ParseSchedulerConfig(
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
      "profiles: [{plugins: {multiPoint: {enabled: [{name: LoadAware}]}}, pluginConfig: [{name: LoadAware, "
      "args: "
      "{forecast: {memoryWeight: 0}}}]}]\n",
      options);
  ASSERT_TRUE(config) << config.error().message;
  std::vector<std::string> notes, problems;
  const auto explainer = assembly::Explainer::Create(*config, plugins, notes);
  ASSERT_TRUE(explainer) << explainer.error().message;
  ASSERT_TRUE((*explainer)
                  ->Load(R"(
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}
)",
                         "dump", problems));
  std::string text;
  ASSERT_TRUE((*explainer)->Evaluate({}, [&](const assembly::Explainer::Evaluated& one) {
    text = ExplanationText(one, (*explainer)->engine(), {});
  }));
  EXPECT_THAT(text, HasSubstr("  LoadAware consists of\n"
                              "    node    cpu forecast\n"
                              "    n1     25.0% -> 75.0\n"
                              "    n2     50.0% -> 50.0\n"
                              "    cpu forecast: the pod counts with 2000m, its request: it belongs to no "
                              "workload\n"));
}

}  // namespace
}  // namespace berth::explain
