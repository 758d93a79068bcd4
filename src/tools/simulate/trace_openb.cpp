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

Duration OpenbSeconds(double seconds) { return Duration(static_cast<std::int64_t>(seconds * 1e9)); }

Expected<void> ReadOpenbNodes(const TraceText& input, bool milli, TraceBuilder& builder) {
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
    if (gpus > 0)
      shape.extended[milli ? kGpuMilli : kGpu] = static_cast<std::int64_t>(gpus) * (milli ? 1000 : 1);
    BERTH_RETURN_IF_ERROR(builder.AddNode(shape, rows.Field(0)));
  }
  return {};
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
  const bool milli = source.gpus == "milli";
  BERTH_RETURN_IF_ERROR(ReadOpenbNodes(nodes, milli, builder));
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
    TraceShape shape{.milli_cpu = static_cast<std::int64_t>(cpu),
                     .memory = static_cast<std::int64_t>(memory) * kMebi};
    if (gpus > 0) {
      shape.extended[milli ? kGpuMilli : kGpu] = static_cast<std::int64_t>(milli ? gpus * part : gpus);
      shape.required = SplitModels(rows.Field(4));
      if (!shape.required.empty()) shape.label = kModelLabel;
    }
    std::optional<Duration> lifetime;
    if (!rows.Field(6).empty()) {
      BERTH_TRY(const double deleted, rows.Number(6));
      if (deleted < created)
        return Invalid(
            fmt::format("{}expected at least creation_time ({}), got {}", rows.Place(6), created, deleted));
      lifetime = OpenbSeconds(std::max(deleted - scheduled, 0.0));
    }
    BERTH_RETURN_IF_ERROR(builder.AddPod(shape, OpenbSeconds(created), lifetime));
  }
  return {};
}

}  // namespace berth::simulate
