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

}  // namespace
}  // namespace berth::explain
