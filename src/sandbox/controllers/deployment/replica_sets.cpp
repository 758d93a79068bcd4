#include "sandbox/controllers/deployment/replica_sets.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace berth::sandbox {
namespace {

std::optional<std::int64_t> Annotation(const json::object& document, std::string_view key) {
  const json::value* value = Find(ObjectOrEmpty(document, "metadata.annotations"), key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  const std::string_view text = value->get_string();
  std::int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

ReplicaSetFacts ReplicaSetFacts::Of(const ObjectPtr& object) {
  const Document document = object->Parse();
  const json::object& root = document.root();
  ReplicaSetFacts facts;
  facts.object = object;
  facts.wanted = IntAt(root, "spec.replicas", 1);
  facts.replicas = IntAt(root, "status.replicas");
  facts.ready = IntAt(root, "status.readyReplicas");
  facts.available = IntAt(root, "status.availableReplicas");
  facts.terminating = IntAt(root, "status.terminatingReplicas");
  facts.observed = IntAt(root, "status.observedGeneration") >= IntAt(root, "metadata.generation", 1);
  facts.revision = Annotation(root, kRevision).value_or(0);
  facts.created = FindString(root, "metadata.creationTimestamp");
  facts.desired_annotation = Annotation(root, kDesiredReplicas);
  facts.max_annotation = Annotation(root, kMaxReplicas);
  return facts;
}

Rollout Rollout::Of(const json::object& spec) {
  Rollout rollout;
  rollout.replicas = IntAt(spec, "replicas", 1);
  rollout.recreate = FindString(spec, "strategy.type") == "Recreate";
  rollout.paused = BoolAt(spec, "paused");
  rollout.progress_deadline = IntAt(spec, "progressDeadlineSeconds", 600);
  rollout.history_limit = IntAt(spec, "revisionHistoryLimit", 10);
  rollout.min_ready = IntAt(spec, "minReadySeconds");
  if (rollout.recreate) return rollout;
  const std::int64_t quarter_up = (rollout.replicas + 3) / 4;
  rollout.max_surge =
      ScaledValue(FindPath(spec, "strategy.rollingUpdate.maxSurge"), rollout.replicas, true, quarter_up);
  rollout.max_unavailable = ScaledValue(FindPath(spec, "strategy.rollingUpdate.maxUnavailable"),
                                        rollout.replicas, false, rollout.replicas / 4);
  // With both zero the rollout could not make progress.
  if (rollout.max_surge == 0 && rollout.max_unavailable == 0) rollout.max_unavailable = 1;
  rollout.max_unavailable = std::min(rollout.max_unavailable, rollout.replicas);
  return rollout;
}

Totals Sum(const ReplicaSets& sets) {
  Totals totals;
  for (const auto& set : sets) {
    totals.wanted += set.wanted;
    totals.replicas += set.replicas;
    totals.ready += set.ready;
    totals.available += set.available;
    totals.terminating += set.terminating;
  }
  return totals;
}

json::object WithoutHash(const json::object& pod_template) {
  json::object bare = pod_template;
  if (FindObject(bare, "metadata.labels") != nullptr) {
    json::object& metadata = ObjectAt(bare, "metadata");
    json::object& labels = ObjectAt(metadata, "labels");
    labels.erase(kPodTemplateHash);
    if (labels.empty()) metadata.erase("labels");
    metadata.erase("creationTimestamp");
  }
  return bare;
}

std::int64_t NewSetSize(const Rollout& rollout, const Totals& all, std::int64_t new_wanted) {
  if (rollout.recreate) return rollout.replicas;
  const std::int64_t room = rollout.replicas + rollout.max_surge - all.wanted;
  if (room <= 0) return new_wanted;
  return new_wanted + std::min(room, rollout.replicas - new_wanted);
}

std::vector<std::int64_t> Proportions(const Rollout& rollout, ReplicaSets& active) {
  const std::int64_t allowed = rollout.replicas > 0 ? rollout.replicas + rollout.max_surge : 0;
  const std::int64_t to_add = allowed - Sum(active).wanted;
  // Larger ones first; among equals the newer first to grow, the older first to shrink.
  std::ranges::stable_sort(active, [&](const auto& a, const auto& b) {
    if (a.wanted != b.wanted) return a.wanted > b.wanted;
    return to_add > 0 ? a.created > b.created : a.created < b.created;
  });
  std::vector<std::int64_t> sizes;
  std::int64_t added = 0;
  for (const auto& set : active) {
    std::int64_t part = 0;
    if (to_add != 0 && set.wanted != 0 && added != to_add) {
      const double before = static_cast<double>(set.max_annotation.value_or(rollout.replicas));
      const double share = before > 0 ? static_cast<double>(set.wanted * allowed) / before : 0;
      part = std::llround(share) - set.wanted;
      const std::int64_t left = to_add - added;
      part = to_add > 0 ? std::clamp<std::int64_t>(part, 0, left) : std::clamp<std::int64_t>(part, left, 0);
    }
    sizes.push_back(set.wanted + part);
    added += part;
  }
  if (!sizes.empty() && to_add != 0) sizes[0] = std::max<std::int64_t>(sizes[0] + to_add - added, 0);
  return sizes;
}

}  // namespace berth::sandbox
