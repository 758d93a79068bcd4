// A tree of quotas: Koordinator's Multi Hierarchy Elastic Quota Management (v1.8).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/cycle_state.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/capacity_scheduling/group_ledger.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_rules.hpp"

namespace berth::plugins {

// The pod's group and the groups above it, as one attempt sees them. A value of the cycle state: a copy has
// changes of its own. Valid until a quota changes.
struct GroupTrial {
  struct Level {
    GroupLedger::GroupId id = 0;
    GroupLedger::Amounts used;   // with the changes of dry runs
    GroupLedger::Amounts limit;  // at the time of PreFilter
  };
  std::vector<Level> levels;  // the pod's group first
  GroupLedger::Amounts request;
  GroupLedger::Amounts non_preemptible_used;   // in the pod's group
  std::set<std::string, std::less<>> toggled;  // UIDs of pods that were added or removed
};

// Admits a pod if its request and what its group uses stay within the group's runtime quota, and the same for
// every group above; a pod that is not preemptible also only if such pods stay within the group's minimum.
// Less important, preemptible pods of the same group may be evicted for a pod; those of the default group are
// not. Nominated pods do not count.
class GroupRules final : public QuotaRules {
 public:
  static constexpr std::string_view kResource = "elasticquotas.scheduling.sigs.k8s.io";
  // The handle must outlive this object.
  explicit GroupRules(framework::Handle& handle);

  framework::PreFilterResult Admit(const framework::Attempt& attempt) const override;
  void Add(const framework::Attempt& attempt, const api::Pod& pod) const override;
  void Remove(const framework::Attempt& attempt, const api::Pod& pod) const override;
  Claim ClaimOf(const framework::Attempt&) const override { return Claim::kOwnQuota; }
  bool MayEvict(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const override;
  bool MakesRoom(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const override;
  bool Exceeds(const framework::Attempt& attempt) const override;
  bool ExceedsWithNominated(const framework::Attempt& attempt) const override { return Exceeds(attempt); }
  void OnVictim(const framework::Attempt&, const api::Pod&) override {}
  void OnUnserved(const framework::Attempt&) override {}
  std::vector<framework::EventRegistration> Events() const override;
  std::vector<std::string> Explain(const framework::Attempt& attempt) const override;

 private:
  GroupTrial TrialFor(const api::PodPtr& pod) const;
  bool Admits(const api::Pod& pod, const GroupTrial& trial) const;
  // The same with the reason.
  framework::Status Check(const api::Pod& pod, const GroupTrial& trial) const;
  // Indices of the resources whose limit the pod would exceed.
  std::vector<std::uint32_t> ExceededOn(std::size_t level, const GroupTrial& trial) const;
  std::vector<std::uint32_t> ExceededMin(const api::Pod& pod, const GroupTrial& trial) const;
  std::string ListOf(const GroupLedger::Group& group, const GroupLedger::Amounts& amounts) const;
  std::string NamesOf(const std::vector<std::uint32_t>& resources) const;
  std::string PathText(const GroupTrial& trial, std::size_t level) const;
  void Toggle(const framework::Attempt& attempt, const api::Pod& pod, bool add) const;

  const std::shared_ptr<GroupLedger> shared_ledger_;
  GroupLedger& ledger_;
  const framework::StateKey<GroupTrial> trial_;
};

}  // namespace berth::plugins
