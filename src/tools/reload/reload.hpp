// `berth reload`: makes the running scheduler read its configuration file again.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "tools/scheduler_access/access_options.hpp"

namespace berth::reload {

enum class ReloadAction : std::uint8_t { kReload, kPreview, kRollBack };

struct ReloadOptions {
  scheduler_access::AccessOptions access;
  ReloadAction action = ReloadAction::kReload;
  std::string output = "text";  // "text", "json" or "yaml"
};

// Requests the action and prints the scheduler's report. Returns exit code 0, or 1 if the configuration was
// not accepted; an error if the scheduler cannot be reached, or does not accept the request. Must be called
// before this process has other threads.
Expected<int> RunReload(const ReloadOptions& options);

}  // namespace berth::reload
