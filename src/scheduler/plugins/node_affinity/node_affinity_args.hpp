// NodeAffinityArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <optional>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct NodeAffinityArgs {
  bool has_added = false;  // addedAffinity is given, maybe empty
  std::optional<api::NodeSelector> added_required;
  std::vector<api::PreferredSchedulingTerm> added_preferred;
};

// Read strictly and validated; errors are kube-scheduler's texts.
Expected<NodeAffinityArgs> ParseNodeAffinityArgs(const framework::RawArgs& args);
config::ArgsCodec NodeAffinityArgsCodec();

}  // namespace berth::plugins
