// Forms of the results of one performance test with one or more configurations.
#pragma once

#include <span>
#include <string>

#include "tools/scheduler_perf/result.hpp"
#include "tools/scheduler_perf/test_file.hpp"

namespace berth::scheduler_perf {

struct TestReportHead {
  std::string file;  // its name
  std::string test;
  std::uint64_t seed = 1;
  std::vector<std::string> notes;
};

// Configurations side by side. CPU times differ from run to run, all other values do not.
std::string ReportText(const TestReportHead& head, std::span<const TestResult> results);
// One JSON object with a newline.
std::string ReportJson(const TestReportHead& head, std::span<const TestResult> results);

// The tests of a file with their labels; JSON: also their parameters that are numbers.
std::string ListText(const TestFile& file);
std::string ListJson(const TestFile& file);

}  // namespace berth::scheduler_perf
