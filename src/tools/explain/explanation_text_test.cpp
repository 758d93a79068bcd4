#include "tools/explain/explanation_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/assembly/explainer.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "scheduler/explanation/explain_pod.hpp"

namespace berth::explain {
namespace {

using testing::HasSubstr;

std::unique_ptr<assembly::Explainer> Load(const char* dump) {
  std::vector<std::string> notes, problems;
  auto explainer =
      assembly::Explainer::Create(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), notes);
  EXPECT_TRUE(explainer) << explainer.error().message;
  EXPECT_TRUE((*explainer)->Load(dump, "dump", problems));
  EXPECT_THAT(problems, testing::IsEmpty());
  (*explainer)->FillCluster();
  return std::move(*explainer);
}

PodsOfText Explained(assembly::Explainer& explainer, const std::string& key, const TextOptions& options) {
  PodsOfText pods{.example = explanation::ExplainPod(explainer.evaluator(), explainer.FindPod(key)),
                  .pods = {key}};
  pods.body = ExplanationBody(pods.example, explainer.engine().reasons(), options);
  return pods;
}

std::string TextOf(assembly::Explainer& explainer, const std::string& key, const TextOptions& options) {
  return ExplanationText(Explained(explainer, key, options), options);
}

constexpr const char* kDump = R"(
{apiVersion: v1, kind: Node, metadata: {name: small}, status: {allocatable: {cpu: "1", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: low}, status: {allocatable: {cpu: "2", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: closed}, spec: {unschedulable: true}, status: {allocatable: {cpu: "9", memory: 9Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: default},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: web-2, namespace: default},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "4"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: tiny, namespace: default},
 spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: runs, namespace: default},
 spec: {nodeName: low, containers: [{name: c, image: i}]}}
)";

TEST(ExplanationText, ShowsReasonsValuesAndAdvice) {
  const auto explainer = Load(kDump);
  EXPECT_EQ(TextOf(*explainer, "default/web", {}),
            "default/web waits: 0 of 3 nodes fit\n"
            "  1 node: closed\n"
            "    node(s) were unschedulable [NodeUnschedulable]\n"
            "  2 nodes: low, small\n"
            "    Insufficient cpu [NodeResourcesFit]\n"
            "      requests 4; low lacks 2 (2 of 2 free), small lacks 3 (1 of 1 free)\n"
            "  what would help, each evaluated\n"
            "    lower the cpu request from 4 to 2\n"
            "      1 node fits then: low\n"
            "    uncordon node closed (kubectl uncordon closed)\n"
            "      1 node fits then: closed\n"
            "    add a node like closed\n"
            "      1 node fits then: closed-new\n");
}

constexpr const char* kPreemption = R"(
{apiVersion: v1, kind: Node, metadata: {name: a}, status: {allocatable: {cpu: "2", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: b}, status: {allocatable: {cpu: "2", memory: 1Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: c}, status: {allocatable: {cpu: "2", memory: 1Gi, pods: "9"}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: keep, namespace: default},
 spec: {selector: {matchLabels: {app: kept}}}, status: {disruptionsAllowed: 0}}
---
{apiVersion: v1, kind: Pod, metadata: {name: kept, namespace: default, labels: {app: kept}},
 spec: {nodeName: a, priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]},
 status: {startTime: "2026-01-01T00:00:00Z"}}
---
{apiVersion: v1, kind: Pod, metadata: {name: free, namespace: default, ownerReferences: [
   {apiVersion: batch/v1, kind: Job, name: free, uid: u, controller: true}]},
 spec: {nodeName: b, priority: 2, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: higher, namespace: default},
 spec: {nodeName: c, priority: 200, containers: [{name: c, image: i, resources: {requests: {cpu: "2"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: urgent, namespace: default},
 spec: {priority: 100, containers: [{name: c, image: i, resources: {requests: {cpu: "1"}}}]}}
)";

TEST(ExplanationText, WideListsWhatPreemptionWouldEvict) {
  const auto explainer = Load(kPreemption);
  EXPECT_THAT(TextOf(*explainer, "default/urgent", {.wide = true}),
              HasSubstr("  preemption, node by node\n"
                        "    b: evicts 1 pod; selected\n"
                        "      default/free (Job default/free), priority 2, not started\n"
                        "    a: evicts 1 pod, 1 of them against a PodDisruptionBudget; not selected: more "
                        "victims violate a PodDisruptionBudget\n"
                        "      default/kept, priority 1, started 2026-01-01T00:00:00Z, PodDisruptionBudget "
                        "keep allows no disruption\n"
                        "    no candidate: 1 node: No preemption victims found for incoming pod\n"));
}

TEST(ExplanationText, HasAHeadlineForEachResult) {
  struct Case {
    const char* pod;
    const char* want;
  };
  const Case cases[] = {
      {"default/tiny", "default/tiny goes to low (total "},
      {"default/runs", "default/runs is on low; evaluated again, "},
  };
  const auto explainer = Load(kDump);
  for (const Case& c : cases) EXPECT_THAT(TextOf(*explainer, c.pod, {}), testing::StartsWith(c.want));
}

TEST(ExplanationText, WrapsToTheWidthAndColoursOnlyOnRequest) {
  const auto explainer = Load(kDump);
  const std::string narrow = TextOf(*explainer, "default/web", {.width = 40});
  for (std::size_t begin = 0; begin < narrow.size();) {
    const std::size_t end = narrow.find('\n', begin);
    EXPECT_LE(end - begin, 40u) << narrow.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_EQ(narrow.find('\x1b'), std::string::npos);
  EXPECT_THAT(TextOf(*explainer, "default/web", {.colour = true}), HasSubstr("\x1b[31mwaits\x1b[0m"));
}

TEST(ExplanationText, CombinesPodsWithEqualExplanations) {
  const auto explainer = Load(kDump);
  std::vector<PodsOfText> all;
  for (const char* pod : {"default/tiny", "default/web", "default/web-2"})
    all.push_back(Explained(*explainer, pod, {}));
  const std::vector<PodsOfText> groups = GroupByText(std::move(all));
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups[0].pods, testing::ElementsAre("default/web", "default/web-2"))
      << "waiting pods come first";
  EXPECT_THAT(ExplanationText(groups[0], {}),
              testing::StartsWith("no owner: 2 pods, for example default/web, waits: 0 of 3 nodes fit\n"));
  EXPECT_EQ(SummaryText(groups, {}),
            "2 pods wait because no node fits, for 1 reason; 1 pod would be placed\n");
  EXPECT_EQ(SummaryText({groups[1]}, {}), "") << "one pod needs no summary";
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
  (*explainer)->FillCluster();
  const std::string text = TextOf(**explainer, "default/web", {});
  EXPECT_THAT(text, HasSubstr("  LoadAware consists of\n"
                              "    node    cpu forecast\n"
                              "    n1     25.0% -> 75.0\n"
                              "    n2     50.0% -> 50.0\n"
                              "    cpu forecast: the pod counts with 2000m, its request: it belongs to no "
                              "workload\n"));
}

constexpr const char* kDevices = R"(
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "9"}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {zone: z2}}, status: {allocatable: {cpu: "8", memory: 8Gi, pods: "9"}}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu.example.com},
 spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s1},
 spec: {driver: gpu.example.com, nodeName: n1, pool: {name: n1, resourceSliceCount: 1}, devices: [
   {name: g0, attributes: {model: {string: a100}, driverVersion: {version: 1.2.3}},
    capacity: {memory: {value: 40Gi}}},
   {name: g1, attributes: {model: {string: h100}, driverVersion: {version: 1.2.3}},
    capacity: {memory: {value: 80Gi}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: used, namespace: default, uid: u1},
 spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com}}]}},
 status: {allocation: {devices: {results: [{request: gpu, driver: gpu.example.com, pool: n1, device: g1}]},
  nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: h100, namespace: default, uid: u2},
 spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.example.com, selectors: [
   {cel: {expression: 'device.attributes["gpu.example.com"].model == "h100" &&
     device.attributes["other.org"].?zone.orValue("") == "" &&
     device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'}}]}}]}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: new, namespace: default},
 spec: {containers: [{name: c, image: i}], resourceClaims: [{name: gpu, resourceClaimName: h100}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: shares, namespace: default},
 spec: {containers: [{name: c, image: i}], nodeSelector: {zone: z2},
        resourceClaims: [{name: gpu, resourceClaimName: used}]}}
)";

TEST(ExplanationText, NamesWhatExcludesTheDevicesOfANode) {
  const auto explainer = Load(kDevices);
  const std::string text = TextOf(*explainer, "default/new", {});
  EXPECT_THAT(
      text, HasSubstr("      claim default/h100, request gpu: 1 of class gpu.example.com requested, 0 of 2 "
                      "available: 1 in use, 1 rejected by selector `device.attributes[\"gpu.example.com\"]"
                      ".model == \"h100\" && device.attributes[\"other.org\"].?zone.orValue(\"\") == \"\" && "
                      "device.capacity[\"gpu.example.com\"].memory.comp...` (1 model \"a100\", no attribute "
                      "other.org/zone, memory 40Gi): n1\n"));
  EXPECT_THAT(text,
              HasSubstr("      claim default/h100, request gpu: 1 of class gpu.example.com requested, the "
                        "node has no devices: n2\n"));
  EXPECT_THAT(text, testing::Not(HasSubstr("metadata.name In"))) << "of another pod";
}

TEST(ExplanationText, WideListsEveryNodeWithItsDetails) {
  const auto explainer = Load(kDevices);
  const std::string text = TextOf(*explainer, "default/new", {.wide = true});
  EXPECT_THAT(text, HasSubstr("  message: 0/2 nodes are available: 2 cannot allocate all claims."));
  EXPECT_THAT(text, HasSubstr("    n2: cannot allocate all claims\n"
                              "      claim default/h100, request gpu: 1 of class gpu.example.com requested, "
                              "the node has no devices\n"));
}

}  // namespace
}  // namespace berth::explain
