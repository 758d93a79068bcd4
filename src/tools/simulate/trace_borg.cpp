#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "tools/simulate/csv.hpp"
#include "tools/simulate/trace_formats.hpp"

namespace berth::simulate {
namespace {

constexpr double kMilliCpus = 64'000;           // of the largest machine
constexpr double kBytes = 512.0 * (1LL << 30);  // likewise

TraceShape BorgShape(double cpus, double memory) {
  return {.milli_cpu = std::llround(cpus * kMilliCpus), .memory = std::llround(memory * kBytes)};
}

Expected<void> ReadBorgMachines(const TraceText& input, TraceBuilder& builder) {
  constexpr double kAdd = 1;
  BERTH_TRY(CsvReader rows, CsvReader::Open(input.file, input.text,
                                            {"machine_id", "type", "capacity.cpus", "capacity.memory"}));
  std::set<std::string> known;
  while (rows.Next()) {
    BERTH_TRY(const double type, rows.Number(1));
    if (type != kAdd || !known.insert(rows.Field(0)).second) continue;
    BERTH_TRY(const double cpus, rows.Number(2));
    BERTH_TRY(const double memory, rows.Number(3));
    BERTH_RETURN_IF_ERROR(builder.AddNode(BorgShape(cpus, memory), "machine-" + rows.Field(0)));
  }
  return rows.Finish();
}

// An instance that waits or runs.
struct Instance {
  TraceShape shape;
  Duration arrival{};
  std::optional<Duration> scheduled = {};
};

}  // namespace

Expected<void> ReadBorg2019(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                            TraceBuilder& builder) {
  enum Type {
    kSubmit = 0,
    kQueue = 1,
    kEnable = 2,
    kSchedule = 3,
    kEvict = 4,
    kFail = 5,
    kFinish = 6,
    kKill = 7,
    kLost = 8
  };
  BERTH_RETURN_IF_ERROR(ReadBorgMachines(nodes, builder));
  BERTH_TRY(CsvReader rows, CsvReader::Open(pods.file, pods.text,
                                            {"time", "type", "collection_id", "instance_index", "priority",
                                             "resource_request.cpus", "resource_request.memory"}));
  std::map<std::string, Instance> instances;
  const auto add = [&](const Instance& instance, std::optional<Duration> end) {
    const auto lifetime =
        end ? std::optional(*end - instance.scheduled.value_or(instance.arrival)) : std::nullopt;
    return builder.AddPod(instance.shape, instance.arrival, lifetime);
  };
  constexpr std::string_view kAfterTrace = "9223372036854775807";  // no time, but: after the trace's end
  while (rows.Next()) {
    if (rows.Field(0) == kAfterTrace) continue;
    BERTH_TRY(const double micros, rows.Number(0));
    BERTH_TRY(const double type, rows.Number(1));
    BERTH_RETURN_IF_ERROR(CheckTraceTime(rows, 0, micros * 1000, "microseconds", source));
    const std::string key = rows.Field(2) + "/" + rows.Field(3);
    const Duration time(std::llround(micros * 1000));
    const auto known = instances.find(key);
    switch (static_cast<int>(type)) {
      case kSubmit:
      case kQueue:
      case kEnable: {
        if (known != instances.end()) break;
        BERTH_TRY(const double cpus, rows.Number(5, 0));
        BERTH_TRY(const double memory, rows.Number(6, 0));
        BERTH_TRY(const double priority, rows.Number(4, 0));
        Instance& instance = instances[key];
        instance.shape = BorgShape(cpus, memory);
        instance.shape.priority = static_cast<std::int32_t>(std::min(priority, 1e9));
        instance.arrival = time;
        break;
      }
      case kSchedule:
        if (known != instances.end()) known->second.scheduled = time;
        break;
      case kEvict:
      case kFail:
      case kFinish:
      case kKill:
      case kLost:
        if (known == instances.end()) break;
        BERTH_RETURN_IF_ERROR(add(known->second, time));
        if (static_cast<int>(type) == kEvict) {
          known->second.arrival = time;
          known->second.scheduled.reset();
        } else {
          instances.erase(known);
        }
        break;
      default:
        break;  // updates
    }
  }
  BERTH_RETURN_IF_ERROR(rows.Finish());
  for (const auto& [key, instance] : instances) BERTH_RETURN_IF_ERROR(add(instance, std::nullopt));
  return {};
}

}  // namespace berth::simulate
