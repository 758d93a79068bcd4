// The OpenAPI document of the scheduler's API.
#pragma once

#include <string_view>

namespace berth::process {

// OpenAPI 3.0, as JSON: docs/reference/scheduler-api.json at the time of the build.
std::string_view SchedulerApiDocument();

}  // namespace berth::process
