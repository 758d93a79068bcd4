// The result of a reload of the configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "scheduler/evaluation/config_preview.hpp"

namespace berth::process {

enum class ReloadResult : std::uint8_t {
  kApplied,
  kUnchanged,  // the file in use has the same content
  kInvalid,    // the file cannot be read or used
  kRefused,    // the change needs a restart, or is larger than --berth-reload-limit permits
  kPreviewed,  // nothing was to be applied
};
// As in metrics, logs and the API: "applied", ...
std::string_view ReloadResultName(ReloadResult result);

struct ReloadReport {
  ReloadResult result = ReloadResult::kUnchanged;
  std::string message;  // why it was not applied; else empty
  WallTime at{};
  std::optional<evaluation::PreviewReport> preview;  // nullopt: the decisions were not compared
};

// The schema Reload of the API.
std::string ReloadJson(const ReloadReport& report);

}  // namespace berth::process
