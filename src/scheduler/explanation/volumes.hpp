// The claims of a pod and where their volumes can be used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/explanation/situation.hpp"

namespace berth::explanation {

// One sentence per claim, without a full stop: what is missing and the nearest existing name; then bound to
// which volume, usable on which nodes. Bounded: of many claims only the first are described.
std::vector<std::string> VolumeValues(const Situation& at);

// The labels with which a node can use the pod's bound volumes, by VolumeZone's labels and the node affinity
// of the volumes; of several values the first one. Empty: no volume restricts its nodes by labels, or one
// requires the host name of a certain node.
std::map<std::string, std::string> LabelsForVolumes(const Situation& at);

// The pods on nodes that use a ReadWriteOncePod claim of the pod; by namespace and name.
std::vector<api::PodPtr> UsersOfExclusiveClaims(const Situation& at);

// A claim of the pod that does not exist, and the existing one with the nearest name.
struct MisspelledClaim {
  std::string name, nearest;
};
// Empty if more than a few claims do not exist.
std::vector<MisspelledClaim> MisspelledClaims(const Situation& at);

}  // namespace berth::explanation
