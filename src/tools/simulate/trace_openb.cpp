#include <fmt/format.h>

#include <algorithm>

#include "tools/simulate/csv.hpp"
#include "tools/simulate/trace_formats.hpp"

namespace berth::simulate {
namespace {

constexpr const char* kGpu = "nvidia.com/gpu";
constexpr const char* kGpuMilli = "simulation.berth.dev/gpu-milli";
constexpr const char* kModelLabel = "simulation.berth.dev/gpu-model";
constexpr std::int64_t kMebi = 1 << 20;
constexpr std::int64_t kWholeGpu = 1000;

Duration OpenbSeconds(double seconds) { return Duration(static_cast<std::int64_t>(seconds * 1e9)); }

// GPUs as TraceSource::gpus says: of a node, or `gpus` parts of `part` thousandths that a pod requests.
void SetGpus(const TraceSource& source, std::int64_t gpus, std::int64_t part, TraceShape& shape) {
  if (gpus <= 0) return;
  if (source.gpus == "devices") {
    shape.devices = gpus;
    shape.device_milli = part;
  }
  // With devices it rejects no node; NodeResourcesFit, which does not see devices of claims, can score it.
  if (source.gpus == "whole") {
    shape.extended[kGpu] = gpus;
  } else {
    shape.extended[kGpuMilli] = gpus * part;
  }
}

Expected<void> ReadOpenbNodes(const TraceText& input, const TraceSource& source, TraceBuilder& builder) {
  BERTH_TRY(CsvReader rows,
            CsvReader::Open(input.file, input.text, {"sn", "cpu_milli", "memory_mib", "gpu", "model"}));
  while (rows.Next()) {
    BERTH_TRY(const double cpu, rows.Number(1));
    BERTH_TRY(const double memory, rows.Number(2));
    BERTH_TRY(const double gpus, rows.Number(3));
    TraceShape shape{.milli_cpu = static_cast<std::int64_t>(cpu),
                     .memory = static_cast<std::int64_t>(memory) * kMebi,
                     .label = kModelLabel,
                     .value = rows.Field(4)};
    SetGpus(source, static_cast<std::int64_t>(gpus), kWholeGpu, shape);
    if (auto added = builder.AddNode(shape, rows.Field(0), static_cast<std::int64_t>(gpus) * kWholeGpu);
        !added)
      return Invalid(rows.Place(0) + added.error().message);
  }
  return rows.Finish();
}

std::vector<std::string> SplitModels(const std::string& text) {
  std::vector<std::string> models;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('|', begin), text.size());
    if (end > begin) models.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::ranges::sort(models);
  return models;
}

}  // namespace

Expected<void> ReadOpenb(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                         TraceBuilder& builder) {
  BERTH_RETURN_IF_ERROR(ReadOpenbNodes(nodes, source, builder));
  BERTH_TRY(CsvReader rows, CsvReader::Open(pods.file, pods.text,
                                            {"cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec?",
                                             "creation_time?", "deletion_time?", "scheduled_time?"}));
  while (rows.Next()) {
    BERTH_TRY(const double cpu, rows.Number(0));
    BERTH_TRY(const double memory, rows.Number(1));
    BERTH_TRY(const double gpus, rows.Number(2));
    BERTH_TRY(const double part, rows.Number(3));
    BERTH_TRY(const double created, rows.Number(5, 0));
    BERTH_TRY(const double scheduled, rows.Number(7, created));
    const auto check = [&](std::size_t column, double seconds) {
      return CheckTraceTime(rows, column, seconds * 1e9, "seconds", source);
    };
    BERTH_RETURN_IF_ERROR(check(5, created));
    BERTH_RETURN_IF_ERROR(check(7, scheduled));
    TraceShape shape{.milli_cpu = static_cast<std::int64_t>(cpu),
                     .memory = static_cast<std::int64_t>(memory) * kMebi};
    if (gpus > 0) {
      SetGpus(source, static_cast<std::int64_t>(gpus), static_cast<std::int64_t>(part), shape);
      shape.required = SplitModels(rows.Field(4));
      if (!shape.required.empty()) shape.label = kModelLabel;
    }
    std::optional<Duration> lifetime;
    if (!rows.Field(6).empty()) {
      BERTH_TRY(const double deleted, rows.Number(6));
      BERTH_RETURN_IF_ERROR(check(6, deleted));
      if (deleted < created)
        return Invalid(
            fmt::format("{}expected at least creation_time ({}), got {}", rows.Place(6), created, deleted));
      lifetime = OpenbSeconds(std::max(deleted - scheduled, 0.0));
    }
    BERTH_RETURN_IF_ERROR(builder.AddPod(shape, OpenbSeconds(created), lifetime,
                                         static_cast<std::int64_t>(std::max(gpus, 0.0) * part)));
  }
  return rows.Finish();
}

}  // namespace berth::simulate
