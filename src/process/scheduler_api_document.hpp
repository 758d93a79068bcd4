// The OpenAPI document of the scheduler's API.
#pragma once

#include <string_view>

namespace berth::process {

// OpenAPI 3.0, as JSON; the same text as docs/reference/scheduler-api.json.
std::string_view SchedulerApiDocument();

}  // namespace berth::process
