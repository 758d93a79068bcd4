// The configuration of the running scheduler.
#pragma once

#include <string>

#include "base/result.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"

namespace berth::scheduler_access {

// The KubeSchedulerConfiguration that the scheduler shows at /configz, as JSON. Errors: as
// SchedulerConnection::Get, or the response has none.
Expected<std::string> ReadConfigz(SchedulerConnection& scheduler);

}  // namespace berth::scheduler_access
