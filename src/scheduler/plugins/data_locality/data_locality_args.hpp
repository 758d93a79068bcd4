// Arguments of DataLocality.
#pragma once

#include <cstdint>
#include <string>

#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct DataLocalityArgs {
  // The annotation with the hosts that hold the pod's data: names or addresses, separated by commas or white
  // space. Empty: hosts are not evaluated.
  std::string hosts_annotation = "scheduling.berth.dev/preferred-hosts";
  // The annotation with claims of the pod's namespace whose volumes the pod reads through other pods, in the
  // same form. Empty: only the claims that the pod mounts are evaluated.
  std::string claims_annotation = "scheduling.berth.dev/reads-claims";
  std::int64_t hosts_weight = 1;
  std::int64_t volumes_weight = 1;
  std::string zone_label = "topology.kubernetes.io/zone";
  std::int64_t zone_score = 50;   // 0 to 100: of a node in the zone of a preferred host
  std::int64_t max_entries = 64;  // 1 to kMostEntries: evaluated entries per annotation, and mounted claims
};

// An upper bound of what a pod may cost.
inline constexpr std::int64_t kMostEntries = 256;

Expected<DataLocalityArgs> ParseDataLocalityArgs(const framework::RawArgs& raw);
config::ArgsCodec DataLocalityArgsCodec();

}  // namespace berth::plugins
