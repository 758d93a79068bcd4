// NodeAffinityArgs (kubescheduler.config.k8s.io/v1).
#pragma once

#include <optional>
#include <vector>

#include "kubernetes/api/pod.hpp"
#include "scheduler/framework/factory.hpp"

namespace berth::plugins {

struct NodeAffinityArgs {
  bool has_added = false;  // addedAffinity is given, possibly empty
  std::optional<api::NodeSelector> added_required;
  std::vector<api::PreferredSchedulingTerm> added_preferred;
};

// Decoded strictly and validated; error texts are kube-scheduler's.
Expected<NodeAffinityArgs> ParseNodeAffinityArgs(const framework::RawArgs& args);
config::ArgsCodec NodeAffinityArgsCodec();

}  // namespace berth::plugins
