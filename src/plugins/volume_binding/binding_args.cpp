#include "plugins/volume_binding/binding_args.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace berth::plugins {

Expected<VolumeBindingArgs> ParseVolumeBindingArgs(const framework::RawArgs& raw,
                                                   const config::FeatureGates& gates) {
  const bool scores = gates.Enabled("StorageCapacityScoring");
  VolumeBindingArgs args;
  std::int64_t seconds = 600;
  bool has_shape = false;
  if (raw.value != nullptr) {
    config::Problems problems;
    config::StructReader reader(*raw.value, "VolumeBindingArgs", "", problems);
    reader.Take("kind");
    reader.Take("apiVersion");
    reader.Read("bindTimeoutSeconds", seconds);
    has_shape = reader.Has("shape");
    args.shape = ReadShape(reader, problems);
    reader.Finish();
    if (!problems.empty()) return Invalid(problems.Text());
  }
  if (scores && args.shape.empty()) args.shape = {{0, 10}, {100, 0}};

  std::vector<std::string> errors;
  if (seconds < 0) {
    errors.push_back(
        fmt::format("{}.bindTimeoutSeconds: Invalid value: {}: invalid BindTimeoutSeconds, should not be "
                    "a negative value",
                    raw.path, seconds));
  }
  if (scores) {
    CheckShape(args.shape, raw.path + ".shape", errors);
  } else if (has_shape) {
    std::vector<std::string> points;
    for (const ShapePoint& point : args.shape)
      points.push_back(fmt::format("{{\"Utilization\":{},\"Score\":{}}}", point.utilization, point.score));
    errors.push_back(
        fmt::format("{}.shape: Invalid value: [{}]: unexpected field `shape`, remove it or turn on the "
                    "feature gate StorageCapacityScoring",
                    raw.path, fmt::join(points, ",")));
  }
  if (!errors.empty()) return Invalid(api::JoinErrors(errors));
  args.bind_timeout = std::chrono::seconds(seconds);
  return args;
}

}  // namespace berth::plugins
