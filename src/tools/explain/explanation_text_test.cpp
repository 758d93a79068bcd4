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

// The text of each pod, and the records as JSON with details.
std::pair<std::string, std::string> ExplainDevices(const TextOptions& options) {
  std::vector<std::string> notes, problems;
  const auto explainer =
      assembly::Explainer::Create(config::DefaultSchedulerConfig(), assembly::InTreePlugins(), notes);
  EXPECT_TRUE((*explainer)->Load(kDevices, "dump", problems));
  EXPECT_THAT(problems, testing::IsEmpty());
  std::string text, json;
  EXPECT_TRUE((*explainer)->Evaluate({}, [&](const assembly::Explainer::Evaluated& one) {
    text += ExplanationText(one, (*explainer)->engine(), options);
    json += record::ToJson(*one.record, (*explainer)->engine().reasons(), true) + "\n";
    EXPECT_THAT(record::ToJson(*one.record, (*explainer)->engine().reasons()),
                testing::Not(HasSubstr("details")))
        << "the plain record is kube-scheduler's";
  }));
  return {text, json};
}

TEST(ExplanationText, NamesWhatExcludesTheDevicesOfANode) {
  const auto [text, json] = ExplainDevices({});
  EXPECT_THAT(
      text, HasSubstr("  details\n"
                      "    n1\n"
                      "      claim default/h100, request gpu: 1 of class gpu.example.com requested, 0 of 2 "
                      "available: 1 in use, 1 rejected by selector `device.attributes[\"gpu.example.com\"]"
                      ".model == \"h100\" && device.attributes[\"other.org\"].?zone.orValue(\"\") == \"\" && "
                      "device.capacity[\"gpu.example.com\"].memory.comp...` (1 model \"a100\", no attribute "
                      "other.org/zone, memory 40Gi)\n"
                      "    n2\n"
                      "      claim default/h100, request gpu: 1 of class gpu.example.com requested, the "
                      "node has no devices\n"));
  EXPECT_THAT(text, HasSubstr("    n2\n"
                              "      claim default/used: its devices are allocated and usable only on nodes "
                              "with metadata.name In [n1]\n"));
  EXPECT_THAT(json,
              HasSubstr(R"({"name":"n2","code":"UnschedulableAndUnresolvable","plugin":"DynamicResources",)"
                        R"("reasons":["cannot allocate all claims"],"details":["claim default/h100, )"
                        R"(request gpu: 1 of class gpu.example.com requested, the node has no devices"]})"));
}

TEST(ExplanationText, ShowsDetailsBesideEachNode) {
  const auto [text, json] = ExplainDevices({.all_nodes = true});
  EXPECT_THAT(text, HasSubstr("    n2: cannot allocate all claims\n"
                              "      claim default/h100, request gpu: 1 of class gpu.example.com requested, "
                              "the node has no devices\n"));
}

}  // namespace
}  // namespace berth::explain
