#include "tools/scheduler_perf/run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "tools/scheduler_perf/test_file.hpp"

namespace berth::scheduler_perf {
namespace {

using ::testing::HasSubstr;

const std::map<std::string, std::string>& TestTemplates() {
  static const std::map<std::string, std::string> kFiles{
      {"pod.yaml",
       "{kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: c, resources: {requests: {cpu: "
       "100m}}}]}}"},
      {"large.yaml",
       "{kind: Pod, metadata: {generateName: large-}, spec: {priority: 10, terminationGracePeriodSeconds: 0,"
       " containers: [{name: c, resources: {requests: {cpu: 3900m}}}]}}"},
      {"low.yaml",
       "{kind: Pod, metadata: {generateName: low-, labels: {type: low}}, spec: "
       "{terminationGracePeriodSeconds: 0,"
       " containers: [{name: c, resources: {requests: {cpu: 900m}}}]}}"},
      {"gated.yaml",
       "{kind: Pod, metadata: {name: 'gated-{{.Index}}'}, spec: {schedulingGates: [{name: x/y}], containers: "
       "[{name: c}]}}"},
      {"open.yaml", "{kind: Pod, metadata: {name: 'gated-{{.Index}}'}, spec: {containers: [{name: c}]}}"},
      {"finalizer.yaml",
       "{kind: Pod, metadata: {generateName: f-, finalizers: [x/y]}, spec: {schedulingGates: [{name: x/y}], "
       "containers: [{name: c}]}}"},
      {"service.yaml", "{kind: Service, metadata: {generateName: s-}, spec: {selector: {a: b}}}"},
      {"group.yaml",
       "{kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}"},
      {"member.yaml",
       "{kind: Pod, metadata: {generateName: m-}, spec: {schedulingGroup: {podGroupName: g}, containers: "
       "[{name: c}]}}"},
      {"unknown.yaml", "{kind: ConfigMap, metadata: {name: c}}"},
      {"node.yaml",
       "{kind: Node, metadata: {name: 'gpu-{{.Index}}'}, status: {capacity: {cpu: '4', memory: 8Gi, pods: "
       "'110'}}}"},
      {"slice.yaml",
       "{kind: ResourceSlice, metadata: {name: 's-{{.Index}}'}, spec: {driver: d, nodeName: 'gpu-{{.Index}}',"
       " pool: {name: 'p-{{.Index}}', generation: 1, resourceSliceCount: 1}, devices: [{name: a}, {name: "
       "b}]}}"},
      {"class.yaml", "{kind: DeviceClass, metadata: {name: c}, spec: {}}"},
      {"claim.yaml",
       "{kind: ResourceClaim, metadata: {generateName: claim-}, spec: {devices: {requests: [{name: r, "
       "exactly: {deviceClassName: c}}]}}}"},
      {"template.yaml",
       "{kind: ResourceClaimTemplate, metadata: {name: t}, spec: {spec: {devices: {requests: [{name: r, "
       "exactly: {deviceClassName: c}}]}}}}"},
      {"claiming.yaml",
       "{kind: Pod, metadata: {generateName: p-}, spec: {containers: [{name: c, resources: {claims: [{name: "
       "r}]}}],"
       " resourceClaims: [{name: r, resourceClaimTemplateName: t}]}}"},
      {"pv.yaml",
       "{kind: PersistentVolume, spec: {accessModes: [ReadOnlyMany], capacity: {storage: 1Gi}, csi: {driver: "
       "d}}}"},
      {"pvc.yaml",
       "{kind: PersistentVolumeClaim, metadata: {annotations: {pv.kubernetes.io/bind-completed: 'true'}},"
       " spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}}"},
  };
  return kFiles;
}

Expected<TestResult> Ran(const std::string& operations, const std::string& gates = "") {
  BERTH_TRY(const yaml::Value root,
            yaml::ParseValue("- {name: A, workloadTemplate: " + operations + ", workloads: [{name: w}]}"));
  BERTH_TRY(const TestFile file, ParseTestFile(root));
  TemplateFiles files(
      [](const std::string& path) -> Expected<std::string> { return TestTemplates().at(path); });
  BERTH_TRY(const PerformanceTest test, ResolveTest(file, "A/w", files));
  const auto registry = assembly::InTreePlugins();
  std::vector<std::string> notes;
  const std::vector<std::string> flags = gates.empty() ? std::vector<std::string>() : std::vector{gates};
  BERTH_TRY(const auto parsed, config::FeatureGates::Parse(flags, notes));
  const std::atomic<bool> stop{false};
  return RunTest(test, config::DefaultSchedulerConfig(parsed, &registry.codecs()), registry,
                 {.configuration = "default"}, stop);
}

struct RunCase {
  std::string sentence;
  std::string operations;
  std::uint64_t bound = 0;
  std::uint64_t preempted = 0;
  // Of the last measurement.
  std::uint64_t measured = 0, measured_bound = 0;
  std::string gates = {};
};

const std::string kNodes = "{opcode: createNodes, count: 2}";  // 4 CPUs each

TEST(RunTest, OperationsHaveTheEffectsOfSchedulerPerf) {
  const RunCase cases[] = {
      {"pods are bound and measured",
       "[" + kNodes +
           ", {opcode: createPods, count: 3}, {opcode: createPods, count: 4, collectMetrics: true}]",
       7, 0, 4, 4},
      {"a barrier waits for pods whose operation did not",
       "[" + kNodes +
           ", {opcode: createPods, count: 5, skipWaitToCompletion: true, namespace: a},"
           " {opcode: barrier, namespaces: [a]}]",
       5},
      {"a barrier for attempts does not wait for bindings",
       "[{opcode: createPods, count: 5, skipWaitToCompletion: true}, {opcode: barrier, stageRequirement: "
       "Attempted}]"},
      {"gated pods count as attempted",
       "[{opcode: createPods, count: 2, skipWaitToCompletion: true, podTemplatePath: gated.yaml}, {opcode: "
       "barrier,"
       " stageRequirement: Attempted}]"},
      {"an update removes gates",
       "[" + kNodes +
           ", {opcode: createPods, count: 2, namespace: ns, skipWaitToCompletion: true, podTemplatePath: "
           "gated.yaml},"
           " {opcode: updateAny, count: 2, namespace: ns, templatePath: open.yaml, updatePerSecond: 10}, "
           "{opcode: barrier}]",
       2},
      {"only selected pods are measured",
       "[" + kNodes +
           ", {opcode: startCollectingMetrics, namespaces: [a, b], labelSelector: {type: low}},"
           " {opcode: createPods, count: 2, namespace: a, podTemplatePath: low.yaml},"
           " {opcode: createPods, count: 2, namespace: a}, {opcode: createPods, count: 1, namespace: c, "
           "podTemplatePath: low.yaml},"
           " {opcode: stopCollectingMetrics}]",
       5, 0, 2, 2},
      {"preempted pods without grace period are removed",
       "[" + kNodes +
           ", {opcode: createPods, count: 8, podTemplatePath: low.yaml},"
           " {opcode: createPods, count: 2, podTemplatePath: large.yaml, collectMetrics: true}]",
       10, 8, 2, 2},
      {"preempted pods with a grace period stay and count as scheduled, as without kubelets",
       "[{opcode: createNodes, count: 1}, {opcode: churn, mode: create, number: 1, templatePaths: "
       "[large.yaml], intervalMilliseconds: 100},"
       " {opcode: createPods, count: 3, podTemplatePath: pod.yaml}, {opcode: sleep, duration: 1s},"
       " {opcode: barrier, namespaces: [namespace-2]}]",
       3, 2},
      {"deleted pods make room",
       "[{opcode: createNodes, count: 1}, {opcode: createPods, count: 4, namespace: a, podTemplatePath: "
       "low.yaml},"
       " {opcode: createPods, count: 4, namespace: b, podTemplatePath: low.yaml, skipWaitToCompletion: true},"
       " {opcode: deletePods, namespace: a, labelSelector: {type: low}, deletePodsPerSecond: 2, "
       "skipWaitToCompletion: true},"
       " {opcode: barrier}]",
       8},
      {"a pod with a finalizer stays when it is deleted",
       "[{opcode: createPods, count: 2, namespace: a, podTemplatePath: finalizer.yaml, skipWaitToCompletion: "
       "true},"
       " {opcode: deletePods, namespace: a}, {opcode: barrier, stageRequirement: Attempted}]"},
      {"churn creates and deletes",
       "[" + kNodes +
           ", {opcode: churn, mode: recreate, number: 1, templatePaths: [pod.yaml, service.yaml], "
           "intervalMilliseconds: 1000},"
           " {opcode: sleep, duration: 5500ms}]",
       3},
      {"a steady state replaces pods",
       "[" + kNodes +
           ", {opcode: createPods, count: 2, steadyState: true, duration: 100ms, collectMetrics: true}]",
       32, 0, 34, 32},
      {"pod sets have a namespace each",
       "[" + kNodes +
           ", {opcode: createNamespaces, count: 2, prefix: ns}, {opcode: createPodSets, count: 2,"
           " namespacePrefix: ns, createPodsOp: {opcode: createPods, count: 3, collectMetrics: true}}]",
       6, 0, 3, 3},
      {"volumes are bound",
       "[{opcode: createNodes, count: 2, nodeAllocatableStrategy: {csiNodeAllocatable: {d: {count: 2}}}},"
       " {opcode: createPods, count: 4, persistentVolumeTemplatePath: pv.yaml, "
       "persistentVolumeClaimTemplatePath: pvc.yaml}]",
       4},
      {"a group is scheduled as a whole",
       "[" + kNodes +
           ", {opcode: createPodGroups, count: 1, namespace: a, templatePath: group.yaml},"
           " {opcode: createPods, count: 2, namespace: a, podTemplatePath: member.yaml, collectMetrics: "
           "true}]",
       2, 0, 2, 2, "GenericWorkload=true"},
      {"claims are allocated beforehand, and pods get the only device that is left",
       "[{opcode: createNodes, count: 2, nodeTemplatePath: node.yaml}, {opcode: createAny, count: 2, "
       "templatePath: slice.yaml},"
       " {opcode: createAny, templatePath: class.yaml},"
       " {opcode: createAny, count: 3, namespace: init, templatePath: claim.yaml}, {opcode: "
       "allocResourceClaims, namespace: init},"
       " {opcode: createAny, namespace: a, templatePath: template.yaml}, {opcode: startCollectingMetrics, "
       "namespaces: [a]},"
       " {opcode: createPods, namespace: a, count: 2, podTemplatePath: claiming.yaml, skipWaitToCompletion: "
       "true},"
       " {opcode: sleep, duration: 1m}, {opcode: stopCollectingMetrics}]",
       4, 0, 2, 1},
  };
  for (const RunCase& c : cases) {
    const auto result = Ran(c.operations, c.gates);
    ASSERT_TRUE(result) << c.sentence << ": " << result.error().message;
    EXPECT_EQ(result->bound, c.bound) << c.sentence;
    EXPECT_EQ(result->preempted, c.preempted) << c.sentence;
    if (c.measured == 0) continue;
    ASSERT_FALSE(result->measurements.empty()) << c.sentence;
    EXPECT_EQ(result->measurements.back().pods, c.measured) << c.sentence;
    EXPECT_EQ(result->measurements.back().bound, c.measured_bound) << c.sentence;
  }
}

struct ErrorCase {
  std::string sentence;
  std::string operations;
  std::string error;  // a part
};

TEST(RunTest, ErrorsNameTheOperation) {
  const ErrorCase cases[] = {
      {"pods that do not fit",
       "[{opcode: createNodes, count: 1}, {opcode: createPods, count: 5, podTemplatePath: low.yaml}]",
       "operation 1 (createPods): 4 of 5 pods in namespace-1 are scheduled after ten minutes of virtual "
       "time; "
       "namespace-1/low-"},
      {"a kind that is not simulated", "[{opcode: createAny, namespace: a, templatePath: unknown.yaml}]",
       "operation 0 (createAny): kind: expected one of ResourceClaimTemplate, Node"},
      {"a namespaced object without namespace", "[{opcode: createAny, templatePath: claim.yaml}]",
       "operation 0 (createAny): namespace: ResourceClaim objects are namespaced; the field is required"},
      {"a cluster-scoped object with a namespace",
       "[{opcode: createAny, namespace: a, templatePath: class.yaml}]",
       "namespace: DeviceClass objects are cluster-scoped; remove \"a\""},
      {"an object twice", "[{opcode: createAny, count: 2, templatePath: class.yaml}]",
       "operation 0 (createAny): DeviceClass c exists"},
      {"a claim without its template",
       "[{opcode: createPods, namespace: a, count: 1, podTemplatePath: claiming.yaml}]",
       "needs the ResourceClaimTemplate \"a/t\"; there is none"},
      {"groups without the feature gate",
       "[{opcode: createPodGroups, count: 1, namespace: a, templatePath: group.yaml}]",
       "operation 0 (createPodGroups): PodGroup: needs the feature gate GenericWorkload"},
      {"an update of nothing", "[{opcode: updateAny, namespace: a, templatePath: open.yaml}]",
       "operation 0 (updateAny): Pod a/gated-0 does not exist"},
      {"an end without a start", "[{opcode: stopCollectingMetrics}]",
       "startCollectingMetrics is missing before"},
      {"a barrier for an unknown namespace", "[{opcode: barrier, namespaces: [x]}]",
       "operation 0 (barrier): namespaces: no operation has created pods in \"x\""},
      {"a steady state without a binding",
       "[{opcode: createPods, count: 2, steadyState: true, duration: 5s}]",
       "no pod was scheduled in the time of the steady state"},
  };
  for (const ErrorCase& c : cases) {
    const auto result = Ran(c.operations);
    ASSERT_FALSE(result) << c.sentence;
    EXPECT_THAT(result.error().message, HasSubstr(c.error)) << c.sentence;
  }
}

}  // namespace
}  // namespace berth::scheduler_perf
