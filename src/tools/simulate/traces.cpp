#include "tools/simulate/traces.hpp"

#include <fmt/format.h>

#include "base/files.hpp"
#include "tools/simulate/csv.hpp"
#include "tools/simulate/trace_formats.hpp"

namespace berth::simulate {
namespace {

struct Format {
  std::string name;
  Expected<void> (*read)(const TraceText& nodes, const TraceText& pods, const TraceSource& source,
                         TraceBuilder& builder);
};

const Format kFormats[] = {
    {"openb", &ReadOpenb}, {"alibaba2018", &ReadAlibaba2018}, {"borg2019", &ReadBorg2019}};

}  // namespace

const std::vector<std::string>& TraceFormats() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Format& format : kFormats) names.push_back(format.name);
    return names;
  }();
  return kNames;
}

Expected<void> CheckTraceTime(const CsvReader& rows, std::size_t column, double nanoseconds,
                              std::string_view unit, const TraceSource& source) {
  constexpr double kMostYears = 90;
  if (nanoseconds / source.speed <= kMostYears * 365 * 86'400 * 1e9) return {};
  return Invalid(fmt::format(
      "{}expected a time in {} of at most {} years{}, got \"{}\"", rows.Place(column), unit, kMostYears,
      source.speed == 1 ? "" : fmt::format(" at the speed {}", source.speed), rows.Field(column)));
}

Expected<void> AddTrace(const TraceSource& source, Workload& workload) {
  BERTH_TRY(const std::string nodes, ReadWholeFile(source.nodes));
  BERTH_TRY(const std::string pods, ReadWholeFile(source.pods));
  TraceBuilder builder(source, workload);
  for (const Format& format : kFormats) {
    if (format.name != source.format) continue;
    BERTH_RETURN_IF_ERROR(format.read({source.nodes, nodes}, {source.pods, pods}, source, builder));
  }
  return builder.Finish();
}

}  // namespace berth::simulate
