// Pod groups from JSON.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {

bool Read(const element& value, PodGroupCondition& out, Failure& failure) {
  return ReadFields(value, failure, Field{"type", out.type}, Field{"status", out.status},
                    Field{"reason", out.reason}, Field{"message", out.message},
                    Field{"observedGeneration", out.observed_generation});
}

struct TopologyConstraint {
  std::string key;
};
bool Read(const element& value, TopologyConstraint& out, Failure& failure) {
  return ReadFields(value, failure, Field{"key", out.key});
}

namespace {

// `count` is the name of the field in schedulingPolicy.gang.
bool ReadGroup(const element& value, std::string_view count, PodGroup& out, Failure& failure) {
  const auto metadata = [&](const element& member, Failure& f) {
    return Read(member, out.metadata, f) &&
           ReadFields(member, f, Field{"creationTimestamp", out.creation_timestamp});
  };
  const auto gang = [&](const element& member, Failure& f) {
    out.gang = PodGroup::Gang{};
    return ReadFields(member, f, Field{count, out.gang->min_count});
  };
  const auto policy = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"gang", gang});
  };
  const auto all = [&](const element&, Failure&) {
    out.disrupted_as_a_unit = true;
    return true;
  };
  const auto disruption = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"all", all});
  };
  std::vector<TopologyConstraint> topology;
  const auto constraints = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"topology", topology});
  };
  const auto spec = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"schedulingPolicy", policy}, Field{"priority", out.priority},
                      Field{"preemptionPolicy", out.preemption_policy}, Field{"disruptionMode", disruption},
                      Field{"schedulingConstraints", constraints},
                      Field{"parentCompositePodGroupName", out.parent},
                      Field{"resourceClaims", out.resource_claims});
  };
  const auto status = [&](const element& member, Failure& f) {
    return ReadFields(member, f, Field{"conditions", out.conditions},
                      Field{"resourceClaimStatuses", out.resource_claim_statuses});
  };
  if (!ReadFields(value, failure, Field{"metadata", metadata}, Field{"spec", spec}, Field{"status", status}))
    return false;
  if (!topology.empty()) out.topology_key = std::move(topology.front().key);
  return true;
}

}  // namespace

bool Read(const element& value, PodGroup& out, Failure& failure) {
  return ReadGroup(value, "minCount", out, failure);
}

bool Read(const element& value, CompositePodGroup& out, Failure& failure) {
  return ReadGroup(value, "minGroupCount", out, failure);
}

}  // namespace berth::api::json
