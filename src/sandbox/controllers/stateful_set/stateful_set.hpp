// Pods with stable names and their own claims.
#pragma once

#include <map>

#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/revisions.hpp"

namespace berth::sandbox {

// Follows kube-controller-manager v1.37: ordinals from spec.ordinals.start, OrderedReady and Parallel, claims
// of volumeClaimTemplates, RollingUpdate with partition and maxUnavailable, OnDelete, minReadySeconds,
// revisions, status, events. Claims are kept after pods are deleted: persistentVolumeClaimRetentionPolicy is
// ignored. One thread.
class StatefulSetController final : public Controller {
 public:
  explicit StatefulSetController(ControllerContext& context);

 private:
  struct Plan {
    ObjectPtr object;
    Document document;
    std::int64_t replicas = 1, start = 0, partition = 0, max_unavailable = 1, min_ready = 0;
    bool ordered = true, rolling = true;
    Revision current, update;
    std::map<std::int64_t, const PodFacts*> pods;       // pods with expected ordinals
    std::map<std::int64_t, const PodFacts*> condemned;  // pods with other ordinals
    Duration wait{};  // until a pod becomes available without further changes

    const json::object& spec() const { return ObjectOrEmpty(document.root(), "spec"); }
  };

  Outcome Reconcile(const ObjectPtr& object) override;
  bool Prepare(Plan& plan);
  void Sort(Plan& plan, const std::vector<const PodFacts*>& pods) const;
  // Each step does as much as is allowed now; true if the next step must wait.
  bool Fill(Plan& plan, std::string& failure);
  bool Shrink(Plan& plan);
  void Update(Plan& plan);

  bool Healthy(const PodFacts& pod, Plan& plan) const;
  std::string CreateOrdinal(const Plan& plan, std::int64_t ordinal);
  void EnsureClaims(const Plan& plan, std::int64_t ordinal, const std::string& pod_name);
  // Deletes a pod that has ended; the next reconcile creates it again.
  void Replace(const Plan& plan, const PodFacts& pod);
  void DeleteOrdinal(const Plan& plan, const PodFacts& pod);
  void Report(Plan& plan);
};

}  // namespace berth::sandbox
