#include "tools/scheduler_perf/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/json_text.hpp"
#include "base/text_layout.hpp"

namespace berth::scheduler_perf {
namespace {

const TableStyle kTestTable{.indent = 2, .gap = 2, .right_aligned = true};

std::string ShowSeconds(double seconds) { return fmt::format("{:.3f}s", seconds); }
double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }
// "-" without a measurable time.
std::string ShowRate(std::uint64_t count, double seconds) {
  constexpr double kLeast = 1e-6;
  return seconds < kLeast ? "-" : WithCommas(static_cast<std::size_t>(static_cast<double>(count) / seconds));
}
double RateOf(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

template <class Item>
TableRow RowOf(std::string label, std::span<const Item> items,
               const std::function<std::string(const Item&)>& cell) {
  TableRow row{"  " + std::move(label)};
  for (const Item& item : items) row.push_back(cell(item));
  return row;
}
template <class Item>
TableRow CountRow(std::string label, std::span<const Item> items, std::uint64_t Item::* member) {
  return RowOf<Item>(std::move(label), items,
                     [member](const Item& item) { return WithCommas(item.*member); });
}

void AddRun(std::vector<TableRow>& rows, std::span<const TestResult> results) {
  TableRow head{"Whole run"};
  for (const TestResult& result : results) head.push_back(result.configuration);
  rows.push_back(std::move(head));
  rows.push_back(CountRow("nodes", results, &TestResult::nodes));
  rows.push_back(CountRow("pods created", results, &TestResult::pods));
  rows.push_back(CountRow("bound", results, &TestResult::bound));
  rows.push_back(CountRow("preempted", results, &TestResult::preempted));
  rows.push_back(CountRow("attempts", results, &TestResult::attempts));
  rows.push_back(CountRow("failed attempts", results, &TestResult::failed_attempts));
  rows.push_back(RowOf<TestResult>("virtual time", results, [](const TestResult& result) {
    return ShowSeconds(Seconds(result.virtual_time));
  }));
  rows.push_back(RowOf<TestResult>("CPU time", results,
                                   [](const TestResult& result) { return ShowSeconds(result.cpu_seconds); }));
}

void AddMeasurements(std::vector<TableRow>& rows, std::span<const Measurement> items) {
  rows.push_back({"Measured: " + items.front().name});
  rows.push_back(CountRow("pods", items, &Measurement::pods));
  rows.push_back(CountRow("bound", items, &Measurement::bound));
  rows.push_back(CountRow("attempts", items, &Measurement::attempts));
  rows.push_back(CountRow("failed attempts", items, &Measurement::failed_attempts));
  rows.push_back(RowOf<Measurement>(
      "pods bound per second of virtual time", items,
      [](const Measurement& item) { return ShowRate(item.bound, Seconds(item.virtual_time)); }));
  rows.push_back(RowOf<Measurement>("CPU time", items,
                                    [](const Measurement& item) { return ShowSeconds(item.cpu_seconds); }));
  rows.push_back(RowOf<Measurement>("decisions per CPU second", items, [](const Measurement& item) {
    return ShowRate(item.attempts, item.cpu_seconds);
  }));
}

void AddTestCount(JsonObject& object, std::string_view key, std::uint64_t count) {
  object.AddNumber(key, static_cast<std::int64_t>(count));
}
void AddReal(JsonObject& object, std::string_view key, double value) {
  object.AddRaw(key, fmt::format("{:.6f}", value));
}

void AppendMeasurement(std::string& out, const Measurement& item) {
  JsonObject object(out);
  object.Add("name", item.name);
  AddTestCount(object, "pods", item.pods);
  AddTestCount(object, "bound", item.bound);
  AddTestCount(object, "attempts", item.attempts);
  AddTestCount(object, "failedAttempts", item.failed_attempts);
  AddReal(object, "virtualSeconds", Seconds(item.virtual_time));
  AddReal(object, "boundPerVirtualSecond", RateOf(item.bound, Seconds(item.virtual_time)));
  AddReal(object, "cpuSeconds", item.cpu_seconds);
  AddReal(object, "decisionsPerCpuSecond", RateOf(item.attempts, item.cpu_seconds));
}

void AppendTestResult(std::string& out, const TestResult& result) {
  JsonObject object(out);
  object.Add("configuration", result.configuration).AddRaw("complete", result.complete ? "true" : "false");
  AddTestCount(object, "nodes", result.nodes);
  AddTestCount(object, "pods", result.pods);
  AddTestCount(object, "bound", result.bound);
  AddTestCount(object, "preempted", result.preempted);
  AddTestCount(object, "attempts", result.attempts);
  AddTestCount(object, "failedAttempts", result.failed_attempts);
  AddReal(object, "virtualSeconds", Seconds(result.virtual_time));
  AddReal(object, "cpuSeconds", result.cpu_seconds);
  AppendJsonList(object.Key("measured"), result.measurements, AppendMeasurement);
}

}  // namespace

std::string ReportText(const TestReportHead& head, std::span<const TestResult> results) {
  std::string text = fmt::format("Test {} of {}, seed {}\n", head.test, head.file, head.seed);
  for (const std::string& note : head.notes) text += fmt::format("Note: {}\n", note);
  for (const TestResult& result : results) {
    if (!result.complete)
      text += fmt::format("Interrupted: {} ends at {}\n", result.configuration,
                          ShowSeconds(Seconds(result.virtual_time)));
  }
  std::vector<TableRow> rows;
  AddRun(rows, results);
  // An interrupted run has fewer measurements.
  std::size_t measurements = SIZE_MAX;
  for (const TestResult& result : results) measurements = std::min(measurements, result.measurements.size());
  for (std::size_t i = 0; i < measurements; ++i) {
    std::vector<Measurement> items;
    for (const TestResult& result : results) items.push_back(result.measurements[i]);
    AddMeasurements(rows, items);
  }
  text += "\n" + TextTable(rows, kTestTable);
  return text +
         "\nVirtual time follows from assumed latencies; only pods per second of equal tests can be "
         "compared.\n"
         "CPU time is that of scheduler and API server without the clients; it differs from run to run.\n";
}

std::string ReportJson(const TestReportHead& head, std::span<const TestResult> results) {
  std::string out;
  {
    JsonObject object(out);
    object.Add("file", head.file).Add("test", head.test).AddRaw("seed", std::to_string(head.seed));
    AppendJsonStrings(object.Key("notes"), head.notes);
    AppendJsonList(object.Key("runs"), results, AppendTestResult);
  }
  return out + "\n";
}

std::string ListText(const TestFile& file) {
  std::vector<TableRow> rows{{"TEST", "LABELS"}};
  for (const TestCase& test : file.cases) {
    for (const TestWorkload& workload : test.workloads) {
      std::vector<std::string> labels = test.labels;
      labels.insert(labels.end(), workload.labels.begin(), workload.labels.end());
      rows.push_back({test.name + "/" + workload.name, fmt::format("{}", fmt::join(labels, ", "))});
    }
  }
  return TextTable(rows);
}

std::string ListJson(const TestFile& file) {
  std::string out = "[";
  for (const TestCase& test : file.cases) {
    for (const TestWorkload& workload : test.workloads) {
      if (out.size() > 1) out += ",\n ";
      JsonObject object(out);
      object.Add("case", test.name).Add("workload", workload.name);
      AppendJsonStrings(object.Key("labels"), workload.labels);
      JsonObject parameters(object.Key("params"));
      for (const auto& [name, value] : workload.parameters.members) {
        if (value.kind == yaml::Value::Kind::kNumber) parameters.AddRaw(name, value.text);
      }
    }
  }
  return out + "]\n";
}

}  // namespace berth::scheduler_perf
