// The numbers of a deployment and its replica sets, from which the rollout is computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {

constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";
constexpr std::string_view kPodTemplateHash = "pod-template-hash";

struct ReplicaSetFacts {
  ObjectPtr object;
  std::int64_t wanted = 0;                                               // spec.replicas
  std::int64_t replicas = 0, ready = 0, available = 0, terminating = 0;  // status
  bool observed = false;  // its controller has observed the current spec
  std::int64_t revision = 0;
  std::string created;
  std::optional<std::int64_t> desired_annotation, max_annotation;

  static ReplicaSetFacts Of(const ObjectPtr& object);
};
using ReplicaSets = std::vector<ReplicaSetFacts>;

struct Rollout {
  std::int64_t replicas = 1;
  std::int64_t max_surge = 0;
  std::int64_t max_unavailable = 0;
  bool recreate = false;
  bool paused = false;
  std::int64_t progress_deadline = 600;  // the largest int32: none
  std::int64_t history_limit = 10;
  std::int64_t min_ready = 0;

  static Rollout Of(const json::object& spec);
  bool has_deadline() const { return progress_deadline != 2147483647; }
};

struct Totals {
  std::int64_t wanted = 0, replicas = 0, ready = 0, available = 0, terminating = 0;
};
Totals Sum(const ReplicaSets& sets);

// A pod template without the label pod-template-hash.
json::object WithoutHash(const json::object& pod_template);

// The permitted size of the new set: the wanted number, limited by the total that maxSurge allows.
std::int64_t NewSetSize(const Rollout& rollout, const Totals& all, std::int64_t new_wanted);

// The share of each set (more than one has replicas) in a changed total, in the order given: proportional,
// with the remainder going to the largest set.
std::vector<std::int64_t> Proportions(const Rollout& rollout, ReplicaSets& active);

}  // namespace berth::sandbox
