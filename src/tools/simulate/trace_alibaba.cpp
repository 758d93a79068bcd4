#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/simulate/csv.hpp"
#include "tools/simulate/trace_formats.hpp"

namespace berth::simulate {
namespace {

constexpr double kGibi = 1 << 30;

// A machine occurs once per change of its status.
Expected<void> ReadAlibabaNodes(const TraceText& input, TraceBuilder& builder) {
  CsvReader rows = CsvReader::OpenWithoutHeader(
      input.file, input.text,
      {"machine_id", "time_stamp", "failure_domain_1", "failure_domain_2", "cpu_num", "mem_size", "status"});
  std::vector<std::string> known;
  while (rows.Next()) {
    BERTH_TRY(const double cpus, rows.Number(4));
    BERTH_TRY(const double memory, rows.Number(5));
    const std::string& name = rows.Field(0);
    if (const auto place = std::ranges::lower_bound(known, name); place == known.end() || *place != name) {
      known.insert(place, name);
      const TraceShape shape{.milli_cpu = std::llround(cpus * 1000), .memory = std::llround(memory * kGibi)};
      BERTH_RETURN_IF_ERROR(builder.AddNode(shape, name));
    }
  }
  return rows.Finish();
}

}  // namespace

Expected<void> ReadAlibaba2018(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                               TraceBuilder& builder) {
  BERTH_RETURN_IF_ERROR(ReadAlibabaNodes(nodes, builder));
  CsvReader rows = CsvReader::OpenWithoutHeader(pods.file, pods.text,
                                                {"task_name", "instance_num", "job_name", "task_type",
                                                 "status", "start_time", "end_time", "plan_cpu", "plan_mem"});
  while (rows.Next()) {
    BERTH_TRY(const double instances, rows.Number(1, 1));
    BERTH_TRY(const double start, rows.Number(5, 0));
    BERTH_TRY(const double end, rows.Number(6, 0));
    BERTH_TRY(const double cpu, rows.Number(7, 0));
    BERTH_TRY(const double memory, rows.Number(8, 0));
    if (start <= 0 || end < start) continue;  // the task never ran, or its end is unknown
    BERTH_RETURN_IF_ERROR(CheckTraceTime(rows, 6, end * 1e9, "seconds", source));
    const TraceShape shape{.milli_cpu = std::llround(cpu * 10), .memory = std::llround(memory * kGibi)};
    const auto seconds = [](double time) { return Duration(std::llround(time * 1e9)); };
    for (double i = 0; i < instances; ++i)
      BERTH_RETURN_IF_ERROR(builder.AddPod(shape, seconds(start), seconds(end - start)));
  }
  return rows.Finish();
}

}  // namespace berth::simulate
