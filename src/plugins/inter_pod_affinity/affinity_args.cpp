#include "plugins/inter_pod_affinity/affinity_args.hpp"

#include <fmt/format.h>

namespace berth::plugins {

Expected<InterPodAffinityArgs> ParseInterPodAffinityArgs(const framework::RawArgs& raw) {
  InterPodAffinityArgs args;
  if (raw.value == nullptr) return args;
  config::Problems problems;
  config::StructReader reader(*raw.value, "InterPodAffinityArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  reader.Read("hardPodAffinityWeight", args.hard_pod_affinity_weight, "int32");
  reader.Read("ignorePreferredTermsOfExistingPods", args.ignore_preferred_terms_of_existing_pods);
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());
  if (args.hard_pod_affinity_weight < 0 || args.hard_pod_affinity_weight > 100) {
    return Invalid(fmt::format("{}.hardPodAffinityWeight: Invalid value: {}: not in valid range [0, 100]",
                               raw.path, args.hard_pod_affinity_weight));
  }
  return args;
}

}  // namespace berth::plugins
