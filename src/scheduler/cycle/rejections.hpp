// Statuses of rejected pods and pod groups with kube-scheduler v1.37.1's texts; private to this module.
#pragma once

#include "scheduler/framework/status.hpp"

namespace berth::cycle {

// The message of attempts that ended because the scheduler stops waiting for an extender.
inline constexpr const char* kWaitCancelled = "the wait for an extender was cancelled";

// The status of a group or member that is rejected because the group cannot be scheduled, for this reason.
framework::Status RejectedWithGroup(framework::Status reason);
// What kube-scheduler reports as the error of a rejected group: only the general text if it is
// RejectedWithGroup.
std::string ErrorTextOf(const framework::Status& rejected);

// A rejection by a plugin that has seen one node only, reported like a rejection by a filter in a cluster of
// this node: "0/1 nodes are available: 1 <reason>, 1 <reason>.", with the reasons sorted.
framework::Status RejectedOnOneNode(framework::Status rejection);

}  // namespace berth::cycle
