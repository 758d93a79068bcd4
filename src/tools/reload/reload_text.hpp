// The text form of the result of a reload (the schema Reload of the scheduler's API).
#pragma once

#include <string>

#include "config/value.hpp"

namespace berth::reload {

// Whether the scheduler uses the configuration that was requested, or would use it.
bool IsAccepted(const config::Value& report);

// The result, the reason if it was not accepted, and the decisions that differ. `where` names the scheduler.
std::string ReloadText(const config::Value& report, const std::string& where);

}  // namespace berth::reload
