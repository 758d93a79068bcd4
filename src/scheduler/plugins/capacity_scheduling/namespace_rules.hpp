// Quotas of namespaces: scheduler-plugins' CapacityScheduling (v0.33.5).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/framework/cycle_state.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_rules.hpp"
#include "scheduler/plugins/capacity_scheduling/quota_trial.hpp"

namespace berth::plugins {

// Admits a pod if its namespace stays within the maximum of its quota, and all namespaces with a quota within
// all minimums together. Pods of namespaces without a quota are admitted. Which pods may be evicted for a
// pod:
//   without a quota        less important pods without a quota
//   within its minimum     pods of namespaces that use more than their minimum, until they no longer do
//   beyond its minimum     less important pods of the same namespace
class NamespaceRules final : public QuotaRules {
 public:
  static constexpr std::string_view kResource = "elasticquotas.scheduling.x-k8s.io";
  // The handle must outlive this object.
  explicit NamespaceRules(framework::Handle& handle);

  framework::PreFilterResult Admit(const framework::Attempt& attempt) const override;
  void Add(const framework::Attempt& attempt, const api::Pod& pod) const override;
  void Remove(const framework::Attempt& attempt, const api::Pod& pod) const override;
  Claim ClaimOf(const framework::Attempt& attempt) const override;
  bool MayEvict(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const override;
  bool MakesRoom(Claim claim, const framework::Attempt& attempt, const api::Pod& other) const override;
  bool Exceeds(const framework::Attempt& attempt) const override;
  bool ExceedsWithNominated(const framework::Attempt& attempt) const override;
  void OnVictim(const framework::Attempt& attempt, const api::Pod& victim) override;
  void OnUnserved(const framework::Attempt& attempt) override;
  std::vector<framework::EventRegistration> Events() const override;
  std::vector<std::string> Explain(const framework::Attempt& attempt) const override;

 private:
  void AddNominatedPods(const framework::Attempt& attempt, QuotaTrial& trial) const;
  bool HasQuota(const framework::Attempt& attempt) const;
  bool ExceedsWith(const framework::Attempt& attempt, const QuotaAmounts& in_quota,
                   const QuotaAmounts& in_total) const;
  const QuotaTrial& TrialOf(const framework::Attempt& attempt) const;

  const std::shared_ptr<QuotaLedger> shared_ledger_;
  QuotaLedger& ledger_;
  const framework::StateKey<QuotaTrial> trial_;
};

}  // namespace berth::plugins
