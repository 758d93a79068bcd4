#include "tools/scheduler_perf/test_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/scheduler_perf/report.hpp"

namespace berth::scheduler_perf {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TemplateFiles Files() {
  return TemplateFiles([](const std::string& path) -> Expected<std::string> {
    if (path == "pod.yaml") return "kind: Pod\nmetadata: {generateName: p-}\n";
    if (path == "wrong.yaml") return "{{if}}";
    return Fail(ErrorCode::kNotFound, "open " + path + ": no such file or directory");
  });
}

Expected<TestFile> FileOf(std::string_view text) {
  BERTH_TRY(const yaml::Value root, yaml::ParseValue(text));
  return ParseTestFile(root);
}

// The test A/small with these operations and parameters.
Expected<PerformanceTest> TestOf(const std::string& operations, const std::string& parameters = "{num: 3}") {
  BERTH_TRY(const TestFile file,
            FileOf("- name: A\n  defaultPodTemplatePath: pod.yaml\n  workloadTemplate: " + operations +
                   "\n  workloads:\n  - {name: small, params: " + parameters + "}\n"));
  TemplateFiles files = Files();
  return ResolveTest(file, "A/small", files);
}

struct FieldCase {
  std::string sentence;
  std::string operations;
  std::string error;  // a part
};

TEST(ResolveTest, ErrorsNameFieldValueAndExpectation) {
  const FieldCase cases[] = {
      {"an unknown operation has the nearest name", "[{opcode: createPod}]",
       "[0].workloadTemplate[0].opcode: expected one of allocResourceClaims, barrier"},
      {"the nearest name", "[{opcode: createPod}]", "got \"createPod\"; did you mean \"createPods\"?"},
      {"an unknown field", "[{opcode: createPods, count: 1, countParams: $num}]",
       "[0].workloadTemplate[0].countParams: unknown field; expected"},
      {"an undefined parameter", "[{opcode: createPods, countParam: $m}]",
       "[0].workloadTemplate[0].countParam: workload \"small\" does not define the parameter \"m\""},
      {"a parameter without the sign", "[{opcode: createPods, countParam: num}]",
       "countParam: expected a parameter such as \"$count\", got \"num\""},
      {"too many nodes", "[{opcode: createNodes, count: 200001}]",
       "count: expected a whole number from 0 to 200000, got 200001"},
      {"too many nodes together", "[{opcode: createNodes, count: 200000}, {opcode: createNodes, count: 1}]",
       "[0].workloadTemplate: expected at most 200000 nodes, got 200001"},
      {"a missing file", "[{opcode: createPods, count: 1, podTemplatePath: none.yaml}]",
       "podTemplatePath: open none.yaml: no such file or directory"},
      {"a wrong template", "[{opcode: createPods, count: 1, podTemplatePath: wrong.yaml}]",
       "podTemplatePath: wrong.yaml: line 1: a value is missing"},
      {"an unknown mode", "[{opcode: churn, mode: recreat, templatePaths: [pod.yaml]}]",
       "mode: expected one of create, recreate, got \"recreat\"; did you mean \"recreate\"?"},
      {"churn without a number", "[{opcode: churn, mode: recreate, templatePaths: [pod.yaml]}]",
       "number: mode recreate needs at least 1"},
      {"an unknown stage", "[{opcode: barrier, stageRequirement: Done}]",
       "stageRequirement: expected one of Scheduled, Attempted, got \"Done\""},
      {"metrics of pods that are not waited for",
       "[{opcode: createPods, count: 1, collectMetrics: true, skipWaitToCompletion: true}]",
       "collectMetrics: excludes skipWaitToCompletion"},
      {"a steady state without a time", "[{opcode: createPods, count: 1, steadyState: true}]",
       "duration: steadyState needs more than 0s"},
      {"a namespace is missing", "[{opcode: deletePods}]", "namespace: required"},
      {"no namespaces to measure", "[{opcode: startCollectingMetrics}]", "namespaces: required"},
      {"a sleep of days", "[{opcode: sleep, duration: 48h}]", "duration: expected at most 24h"},
      {"a default that is not YAML",
       "[{opcode: createAny, templatePath: pod.yaml, templateParams: {a: '$x|[1'}}]", "templateParams.a: "},
  };
  for (const FieldCase& c : cases) {
    const auto test = TestOf(c.operations);
    ASSERT_FALSE(test) << c.sentence;
    EXPECT_THAT(test.error().message, HasSubstr(c.error)) << c.sentence;
  }
}

TEST(ResolveTest, ParametersOfTheWorkloadAreFilledIn) {
  const auto test = TestOf(
      "[{opcode: createPods, countParam: $num, countMultiplierParam: $m, steadyStateParam: $s, "
      "durationParam: "
      "$d},"
      " {opcode: createAny, templatePath: pod.yaml, countParam: $num, templateParams: {a: $num, b: '$x|[7]', "
      "c: "
      "'$y|', d: 5}},"
      " {opcode: createPodSets, countParam: $m, namespacePrefix: set, createPodsOp: {opcode: createPods, "
      "count: 4}}]",
      "{num: 3, m: 2, s: true, d: 5s, unused: 1}");
  ASSERT_TRUE(test) << test.error().message;
  ASSERT_EQ(test->operations.size(), 4U);
  const auto& pods = std::get<CreatePods>(test->operations[0].action);
  EXPECT_EQ(pods.count, 6U);
  EXPECT_EQ(pods.steady, std::chrono::seconds(5));
  EXPECT_EQ(pods.ns, "namespace-0");
  EXPECT_EQ(pods.model->path, "pod.yaml");
  const auto& any = std::get<CreateObjects>(test->operations[1].action);
  std::string parameters;
  yaml::AppendJson(parameters, any.model.parameters);
  EXPECT_EQ(parameters, R"({"a":3,"b":[7],"c":null,"d":5})");
  EXPECT_EQ(std::get<CreatePods>(test->operations[3].action).ns, "set-1");
  EXPECT_THAT(test->notes, ElementsAre("no operation uses the parameter unused"));
}

TEST(ResolveTest, GatesOfTheWorkloadOverrideThoseOfTheCase) {
  const auto file = FileOf(
      "- {name: A, featureGates: {X: true, Z: true}, workloadTemplate: [{opcode: barrier}],\n"
      "   workloads: [{name: w/1, featureGates: {Z: false}}]}");
  ASSERT_TRUE(file) << file.error().message;
  TemplateFiles files = Files();
  EXPECT_THAT(ResolveTest(*file, "A/w/1", files)->feature_gates, ElementsAre("X=true", "Z=false"));
}

TEST(ResolveTest, AnUnknownNameIsAnErrorWithTheNearestOne) {
  const auto file = FileOf(
      "- {name: Basic, workloadTemplate: [{opcode: barrier}], workloads: [{name: 5Nodes, labels: [short]}]}\n"
      "- {name: Other, workloadTemplate: [{opcode: barrier}], workloads: [{name: 5Nodes}]}\n");
  ASSERT_TRUE(file);
  TemplateFiles files = Files();
  EXPECT_THAT(ResolveTest(*file, "Basik/5Nodes", files).error().message,
              HasSubstr("expected the name of a test, got \"Basik/5Nodes\"; did you mean \"Basic/5Nodes\"?\n"
                        "Tests of the file:\n  Basic/5Nodes\n  Other/5Nodes"));
  EXPECT_THAT(ResolveTest(*file, "Other", files).error().message,
              HasSubstr("did you mean \"Other/5Nodes\"?"));
  EXPECT_EQ(ListText(*file), "TEST           LABELS\nBasic/5Nodes   short\nOther/5Nodes\n");
  EXPECT_EQ(ListJson(*file),
            "[{\"case\":\"Basic\",\"workload\":\"5Nodes\",\"labels\":[\"short\"],\"params\":{}},\n"
            " {\"case\":\"Other\",\"workload\":\"5Nodes\",\"labels\":[],\"params\":{}}]\n");
}

TEST(ParseTestFile, ErrorsNameFields) {
  const FieldCase cases[] = {
      {"an object", "{}", "expected a list of test cases"},
      {"no cases", "[]", "the file has no test cases"},
      {"no workloads", "[{name: A, workloadTemplate: [{opcode: barrier}]}]", "[0].workloads: required"},
      {"no operations", "[{name: A, workloads: [{name: w}]}]", "[0].workloadTemplate: required"},
      {"equal names", "[{name: A}, {name: A}]", "[1].name: \"A\" occurs twice"},
      {"an unknown field", "[{name: A, workload: []}]", "[0].workload: unknown field"},
      {"parameters that are a list", "[{name: A, workloads: [{name: w, params: []}]}]",
       "[0].workloads[0].params: expected an object"},
      {"a gate that is a text", "[{name: A, featureGates: {X: yes please}}]",
       "[0].featureGates.X: expected true or false, got \"yes please\""},
  };
  for (const FieldCase& c : cases) {
    const auto file = FileOf(c.operations);
    ASSERT_FALSE(file) << c.sentence;
    EXPECT_THAT(file.error().message, HasSubstr(c.error)) << c.sentence;
  }
}

}  // namespace
}  // namespace berth::scheduler_perf
