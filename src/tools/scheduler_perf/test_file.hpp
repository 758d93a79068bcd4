// Reads performance-config.yaml, the files of kube-scheduler's performance tests.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/yaml.hpp"
#include "tools/scheduler_perf/operations.hpp"

namespace berth::scheduler_perf {

using Gates = std::vector<std::pair<std::string, bool>>;

struct TestWorkload {
  std::string name;
  std::vector<std::string> labels;
  Gates gates;
  yaml::Value parameters = yaml::Value::Map();
};

struct TestCase {
  std::string name;
  std::vector<std::string> labels;
  Gates gates;
  std::string scheduler_config, pod_template;  // paths; empty: none
  std::string path;                            // in the file: "[3]"
  std::vector<yaml::Value> operations;
  std::vector<TestWorkload> workloads;
};

struct TestFile {
  std::vector<TestCase> cases;
  // "Case/Workload" of all, in the order of the file.
  std::vector<std::string> Names() const;
};

// Whether the text is a list at the top level, as such a file is.
bool IsTestFile(const yaml::Value& root);

// Errors name the field, the value and the expectation; all are reported together as far as possible. The
// operations are read by ResolveTest. At most 1,000 cases with 1,000 workloads each.
Expected<TestFile> ParseTestFile(const yaml::Value& root);

// The test "Case/Workload" with its templates. An unknown name is an error with the nearest one. A parameter
// that no operation uses is a note.
Expected<PerformanceTest> ResolveTest(const TestFile& file, std::string_view name, TemplateFiles& templates);

}  // namespace berth::scheduler_perf
