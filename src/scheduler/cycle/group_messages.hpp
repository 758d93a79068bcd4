// Texts about pod groups, as in kube-scheduler v1.37.1; private to this module.
#pragma once

#include <utility>

#include "scheduler/framework/status.hpp"

namespace berth::cycle {

inline constexpr const char* kGroupUnschedulable = "pod group is unschedulable";

// The status of a group or member that is rejected because the group cannot be scheduled, for this reason.
inline framework::Status Rejected(framework::Status reason) {
  framework::Status status = framework::Status::Unschedulable(kGroupUnschedulable);
  for (const std::string& text : reason.reasons) status.reasons.push_back(text);
  return status;
}

}  // namespace berth::cycle
