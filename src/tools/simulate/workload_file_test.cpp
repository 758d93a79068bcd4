#include "tools/simulate/workload_file.hpp"

#include <gtest/gtest.h>

namespace berth::simulate {
namespace {

constexpr std::string_view kFileHead = "apiVersion: simulation.berth.dev/v1alpha1\nkind: Workload\n";
constexpr std::string_view kFileNodes =
    "nodes:\n- {name: pool, count: 2, capacity: {cpu: \"4\", memory: 8Gi}}\n";
constexpr std::string_view kPods =
    "pods:\n- {name: p, arrivals: [{rate: 1/s}], template: {spec: {containers: [{name: c}]}}}\n";

struct Case {
  std::string sentence;
  std::string text;
  std::string error;  // a part
};

std::string Valid(std::string_view more) {
  return std::string(kFileHead) + "duration: 1h\n" + std::string(kFileNodes) + std::string(kPods) +
         std::string(more);
}

std::string WithPod(std::string_view pod) {
  return std::string(kFileHead) + "duration: 1h\n" + std::string(kFileNodes) + "pods:\n- {" +
         std::string(pod) + "}\n";
}

TEST(ParseWorkload, ErrorsNameFieldValueAndExpectation) {
  const Case cases[] = {
      {"another version", "apiVersion: v1\nkind: Workload\n",
       "apiVersion: expected simulation.berth.dev/v1alpha1, got \"v1\""},
      {"an unknown field has the nearest name", Valid("outage: []\n"), "outage: unknown field; expected"},
      {"the nearest name", Valid("outage: []\n"), "did you mean \"outages\"?"},
      {"no duration", std::string(kFileHead) + std::string(kFileNodes) + std::string(kPods),
       "duration: required"},
      {"a duration without unit", std::string(kFileHead) + "duration: 5\n",
       "duration: expected a duration such as \"90s\" or \"1h30m\" of at least 1s, got 5"},
      {"no times",
       std::string(kFileHead) + "duration: 1h\n" + std::string(kFileNodes) +
           "pods:\n- {name: p, arrivals: [{at: []}], template: {spec: {containers: [{name: c}]}}}\n",
       "pods[0].arrivals[0].at: expected at least one time"},
      {"a negative duration", std::string(kFileHead) + "duration: -5s\n", "duration: expected a duration"},
      {"no nodes", std::string(kFileHead) + "duration: 1h\n" + std::string(kPods), "nodes: required"},
      {"no pods", std::string(kFileHead) + "duration: 1h\n" + std::string(kFileNodes), "pods: required"},
      {"too many nodes", std::string(kFileHead) + "nodes:\n- {name: pool, count: 1000000}\n",
       "nodes[0].count: expected a whole number from 0 to 200000, got 1000000"},
      {"a wrong quantity",
       std::string(kFileHead) + "nodes:\n- {name: pool, capacity: {cpu: many, memory: 1Gi}}\n",
       "nodes[0]: status."},
      {"no memory", std::string(kFileHead) + "nodes:\n- {name: pool, capacity: {cpu: \"1\"}}\n",
       "nodes[0].capacity.memory: required"},
      {"equal names",
       Valid("- {name: p, arrivals: [{rate: 1/s}], template: {spec: {containers: [{name: c}]}}}\n"),
       "pods[1].name: \"p\" occurs twice"},
      {"a rate without unit", WithPod("name: p, arrivals: [{rate: 5}]"),
       "pods[0].arrivals[0].rate: expected a rate such as \"50/s\""},
      {"two forms of arrivals", WithPod("name: p, arrivals: [{rate: 1/s, every: 1m}]"),
       "pods[0].arrivals[0]: expected exactly one of at, rate, every"},
      {"no form of arrivals", WithPod("name: p, arrivals: [{count: 3}]"),
       "pods[0].arrivals[0]: expected exactly one of at, rate, every"},
      {"no template", WithPod("name: p, arrivals: [{rate: 1/s}]"), "pods[0].template: required"},
      {"a wrong spec", WithPod("name: p, arrivals: [{rate: 1/s}], template: {spec: {containers: 3}}"),
       "pods[0].template: spec.containers"},
      {"a distribution without its parameter",
       WithPod("name: p, lifetime: {distribution: exponential}, arrivals: [{rate: 1/s}]"),
       "pods[0].lifetime.mean: required with distribution exponential"},
      {"an unknown distribution", WithPod("name: p, lifetime: {distribution: exponentail}"),
       "did you mean \"exponential\"?"},
      {"uniform with its ends exchanged",
       WithPod("name: p, lifetime: {distribution: uniform, min: 2m, max: 1m}"),
       "pods[0].lifetime.max: expected at least min"},
      {"a claim of a volume",
       WithPod(
           "name: p, arrivals: [{rate: 1/s}], template: {spec: {containers: [{name: c}], volumes: [{name: v, "
           "persistentVolumeClaim: {claimName: c}}]}}"),
       "claims are not simulated"},
      {"groups without sizes", WithPod("name: p, group: {}"), "pods[0].group.sizes: required"},
      {"a group size without its number", WithPod("name: p, group: {sizes: [{weight: 2}]}"),
       "pods[0].group.sizes[0].members: required"},
      {"a group of no pods", WithPod("name: p, group: {sizes: [{members: 0}]}"),
       "pods[0].group.sizes[0].members:"},
      {"a group whose label has an invalid key",
       WithPod("name: p, group: {sizes: [{members: 2}], labels: {name: 'a b'}}"),
       "pods[0].group.labels.name: expected the key of a label, got \"a b\""},
      {"an unknown label of groups", WithPod("name: p, group: {sizes: [{members: 2}], labels: {sizes: n}}"),
       "pods[0].group.labels.sizes: unknown field; expected name, size; did you mean \"size\"?"},
      {"a template in another group",
       WithPod("name: p, group: {sizes: [{members: 2}]}, template: {spec: {containers: [{name: c}], "
               "schedulingGroup: "
               "{podGroupName: g}}}"),
       "pods[0].template.spec.schedulingGroup: the simulation sets it"},
      {"an outage of an unknown group", Valid("outages:\n- {group: m, at: 1m}\n"),
       "outages[0].group: expected the name of a node group (pool), got \"m\""},
      {"an object that the scheduler does not read",
       Valid("objects:\n- {kind: Secret, metadata: {name: s}}\n"),
       "objects[0].kind: expected a kind that the scheduler reads"},
      {"a claim without its template",
       WithPod("name: p, arrivals: [{rate: 1/s}], template: {spec: {containers: [{name: c}], resourceClaims: "
               "[{name: gpu, resourceClaimTemplateName: share}]}}"),
       "objects: pods \"p\" need the ResourceClaimTemplate \"default/share\"; there is none"},
      {"a template without claim",
       Valid("objects:\n- {kind: ResourceClaimTemplate, metadata: {name: t}, spec: {}}\n"),
       "objects[0].spec.spec: required: the spec of the claims"},
      {"devices without a driver",
       std::string(kFileHead) + "nodes:\n- {name: pool, devices: {list: [{name: gpu}]}}\n",
       "nodes[0].devices.driver: required"},
      {"a device without a name",
       std::string(kFileHead) + "nodes:\n- {name: pool, devices: {driver: d, list: [{count: 2}]}}\n",
       "nodes[0].devices.list[0].name: required"},
      {"too many devices",
       std::string(kFileHead) + "nodes:\n- {name: pool, devices: {driver: d, list: [{name: a, count: 100}, "
                                "{name: b, count: 29}]}}\n",
       "nodes[0].devices.list: expected 1 to 128 devices of a node, got 129"},
      {"a demand in the order of the trace", Valid("trace: {format: openb, demand: 1}\n"),
       "trace.demand: needs order: shuffled"},
      {"a trace without files", Valid("trace: {format: openb}\n"), "trace.nodes: required"},
      {"text that is not an object", "[]", "expected an object, got a list"},
  };
  for (const Case& c : cases) {
    const auto workload = ParseWorkload(c.text, "");
    ASSERT_FALSE(workload) << c.sentence;
    EXPECT_NE(workload.error().message.find(c.error), std::string::npos)
        << c.sentence << ": " << workload.error().message;
  }
}

TEST(ParseWorkload, AllErrorsAreReportedTogether) {
  const auto workload = ParseWorkload(std::string(kFileHead) + "duration: x\nevictionAfter: y\n", "");
  ASSERT_FALSE(workload);
  EXPECT_NE(workload.error().message.find("duration:"), std::string::npos);
  EXPECT_NE(workload.error().message.find("evictionAfter:"), std::string::npos);
}

TEST(ParseWorkload, FieldsReachTheWorkload) {
  const auto workload =
      ParseWorkload(Valid("latencies: {watch: 2ms, bind: 7ms, decision: 1ms}\nevictionAfter: 1m\n"
                          "objects:\n- {kind: Service, metadata: {name: s}, spec: {selector: {app: web}}}\n"
                          "outages:\n- {group: pool, count: 2, at: 3m, lasts: 4m}\n"),
                    "");
  ASSERT_TRUE(workload) << workload.error().message;
  using namespace std::chrono_literals;
  EXPECT_EQ(workload->duration, 1h);
  EXPECT_EQ(workload->latencies.watch, 2ms);
  EXPECT_EQ(workload->latencies.bind, 7ms);
  EXPECT_EQ(workload->decision, 1ms);
  EXPECT_EQ(workload->eviction_after, 1min);
  EXPECT_EQ(workload->objects.size(), 1u);
  ASSERT_EQ(workload->groups.size(), 1u);
  EXPECT_EQ(workload->groups[0].model.allocatable.at("pods").Value(), 110);
  ASSERT_EQ(workload->outages.size(), 1u);
  EXPECT_EQ(workload->outages[0].count, 2u);
  EXPECT_EQ(workload->outages[0].lasts, 4min);
  EXPECT_EQ(workload->kinds[0].model.metadata.ns, "default");
  EXPECT_DOUBLE_EQ(workload->kinds[0].arrivals[0].per_second, 1);
}

}  // namespace
}  // namespace berth::simulate
