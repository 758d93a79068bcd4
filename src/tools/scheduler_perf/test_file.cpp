#include "tools/scheduler_perf/test_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/yaml_fields.hpp"

namespace berth::scheduler_perf {
namespace {

using yaml::FieldErrors;
using yaml::Fields;
using yaml::Value;

constexpr std::size_t kMostCases = 1'000;

class TestFileReader {
 public:
  Expected<TestFile> Read(const Value& root) {
    if (!IsTestFile(root)) return Invalid("expected a list of test cases");
    if (root.items.size() > kMostCases)
      return Invalid(fmt::format("at most {} test cases, got {}", kMostCases, root.items.size()));
    for (std::size_t i = 0; i < root.items.size(); ++i) ReadCase(root.items[i], fmt::format("[{}]", i));
    if (!errors_.empty()) return std::unexpected(errors_.ToError());
    if (file_.cases.empty()) return Invalid("the file has no test cases");
    return std::move(file_);
  }

 private:
  void ReadCase(const Value& value, const std::string& path) {
    Fields fields(value, path, errors_);
    TestCase test;
    test.path = path;
    test.name = ReadTestName(fields, file_.cases);
    test.labels = fields.Texts("labels");
    test.gates = ReadGates(fields);
    test.scheduler_config = fields.Text("schedulerConfigPath");
    test.pod_template = fields.Text("defaultPodTemplatePath");
    for (const auto* unused : {"metricsCollectorConfig", "defaultThresholdMetricSelector"})
      fields.Take(unused);
    fields.ForEach("workloadTemplate",
                   [&](const Value& item, const std::string&) { test.operations.push_back(item); });
    fields.ForEach("workloads",
                   [&](const Value& item, const std::string& at) { ReadWorkload(item, at, test); });
    if (test.operations.empty()) fields.Add("workloadTemplate", "required: at least one operation");
    if (test.operations.size() > kMostOperations)
      fields.Add("workloadTemplate", fmt::format("at most {} operations", kMostOperations));
    if (test.workloads.empty()) fields.Add("workloads", "required: at least one workload");
    if (test.workloads.size() > kMostCases)
      fields.Add("workloads", fmt::format("at most {} workloads", kMostCases));
    fields.Finish();
    file_.cases.push_back(std::move(test));
  }
  void ReadWorkload(const Value& value, const std::string& path, TestCase& test) {
    Fields fields(value, path, errors_);
    TestWorkload workload;
    workload.name = ReadTestName(fields, test.workloads);
    workload.labels = fields.Texts("labels");
    workload.gates = ReadGates(fields);
    if (const Value* parameters = fields.Take("params")) {
      workload.parameters = *parameters;
      if (parameters->kind != Value::Kind::kMap) fields.Add("params", "expected an object");
    }
    for (const auto* unused : {"threshold", "thresholdMetricSelector"}) fields.Take(unused);
    fields.Finish();
    test.workloads.push_back(std::move(workload));
  }
  Gates ReadGates(Fields& fields) {
    Gates gates;
    const Value* value = fields.Take("featureGates");
    if (value == nullptr) return gates;
    Fields names(*value, fields.PathOf("featureGates"), errors_);
    for (const auto& [name, member] : value->members) gates.emplace_back(name, names.Bool(name, false));
    return gates;
  }
  template <class Item>
  static std::string ReadTestName(Fields& fields, const std::vector<Item>& others) {
    std::string name = fields.Text("name");
    if (name.empty()) fields.Add("name", "required");
    if (std::ranges::find(others, name, &Item::name) != others.end())
      fields.Add("name", fmt::format("\"{}\" occurs twice", name));
    return name;
  }

  FieldErrors errors_;
  TestFile file_;
};

}  // namespace

std::vector<std::string> TestFile::Names() const {
  std::vector<std::string> names;
  for (const TestCase& test : cases) {
    for (const TestWorkload& workload : test.workloads) names.push_back(test.name + "/" + workload.name);
  }
  return names;
}

bool IsTestFile(const Value& root) { return root.kind == Value::Kind::kList; }

Expected<TestFile> ParseTestFile(const Value& root) { return TestFileReader().Read(root); }

}  // namespace berth::scheduler_perf
