#include "scheduler/plugins/default_preemption/dry_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/cluster/overlay.hpp"

namespace berth::plugins {

using cluster::NodeTable;
using cluster::Row;
using framework::Attempt;
using framework::PostFilterServices;
using framework::Status;

void DryRun::Run(const Attempt& attempt, PostFilterServices& services, EvictionCheck& check,
                 std::span<const Row> rows, std::size_t wanted) {
  candidates_.clear();
  violating_.clear();
  counts_.clear();
  errors_.clear();
  units_.Begin();
  const bool alone = services.has_extensions();
  const std::size_t at_once = alone ? 1 : wanted;
  const std::int32_t priority = attempt.pod().priority();
  const auto enough = [&] {
    return !candidates_.empty() && candidates_.size() + violating_.size() >= wanted;
  };
  for (std::size_t next = 0; next < rows.size() && !enough();) {
    trials_.clear();
    for (; next < rows.size() && trials_.size() < at_once; ++next) AddTrial(rows[next], priority, check);
    if (trials_.empty()) break;
    order_.clear();
    for (DryRunNode& trial : trials_) {
      if (!trial.units.empty()) RunByUnits(attempt, services, trial);
    }
    if (!alone) {
      RunCombined(attempt, services);
    } else if (trials_.front().units.empty()) {
      RunSeparately(attempt, services, trials_.front());
    }
    for (const DryRunNode& trial : trials_) {
      if (!trial.fits) CountRefusals(trial.refusals, counts_);
      if (trial.fits && !enough()) Collect(trial, attempt.nodes(), check, wanted);
    }
  }
  std::ranges::move(violating_, std::back_inserter(candidates_));
}

void DryRun::AddTrial(Row row, std::int32_t priority, EvictionCheck& check) {
  DryRunNode trial{.row = row, .pods = {}};
  if (units_.AnyMemberOn(row)) {
    if (auto missing = units_.MissingNodeOf(row)) {
      errors_.push_back(*std::move(missing));
      return;
    }
    trial.units = units_.BelowOn(row, priority);
  } else {
    trial.pods = importance_.Below(row, priority);
  }
  if (!check.empty() && !LeaveOutProtected(check, trial)) return;
  if (!trial.units.empty() || !trial.pods.empty()) {
    trials_.push_back(std::move(trial));
  } else if (trial.refusals.any()) {
    CountRefusals(trial.refusals, counts_);
  } else {
    ++counts_["No preemption victims found for incoming pod"];
  }
}

bool DryRun::LeaveOutProtected(EvictionCheck& check, DryRunNode& trial) {
  std::erase_if(trial.units, [&](const VictimUnit& unit) { return !check.MayEvict(unit); });
  std::ranges::copy_if(trial.pods, std::back_inserter(trial.unprotected),
                       [&](const Importance::Entry& entry) { return check.MayEvict(*entry.pod->pod); });
  trial.pods = trial.unprotected;
  trial.refusals = check.Take();
  if (trial.refusals.error.empty()) return true;
  errors_.push_back(trial.refusals.error);
  return false;
}

void DryRun::RunCombined(const Attempt& attempt, PostFilterServices& services) {
  NodeTable::Overlay overlay(services.table());
  auto rows = attempt.Scratch();
  for (const DryRunNode& trial : trials_) {
    if (trial.units.empty()) rows->Add(trial.row);
    for (const Importance::Entry& entry : trial.pods) overlay.Remove(trial.row, *entry.pod);
  }
  if (rows->Empty()) return;
  services.RunFilters(attempt, *rows, outcome_);
  NoteRejections(trials_);
  for (DryRunNode& trial : trials_) {
    if (!trial.units.empty()) continue;
    trial.fits = outcome_.feasible.Has(trial.row);
    if (trial.fits) Order(trial);
  }
  for (std::size_t round = 0;; ++round) {
    const auto takes_part = [&](const DryRunNode& trial) { return trial.fits && round < trial.pods.size(); };
    rows->Clear();
    for (const DryRunNode& trial : trials_) {
      if (!takes_part(trial)) continue;
      rows->Add(trial.row);
      overlay.Add(trial.row, PodAt(trial, trial.first + round));
    }
    if (rows->Empty()) return;
    services.RunFilters(attempt, *rows, outcome_);
    for (const DryRunNode& trial : trials_) {
      if (!takes_part(trial) || outcome_.feasible.Has(trial.row)) continue;
      overlay.Remove(trial.row, PodAt(trial, trial.first + round));
      victim_[trial.first + round] = 1;
    }
  }
}

void DryRun::RunSeparately(const Attempt& attempt, PostFilterServices& services, DryRunNode& trial) {
  framework::CycleState state = attempt.state().Clone();
  const Attempt imagined = attempt.With(state);
  NodeTable::Overlay overlay(services.table());
  Status status;
  for (const Importance::Entry& entry : trial.pods) {
    if (!status.ok()) break;
    overlay.Remove(trial.row, *entry.pod);
    status = services.RemovePod(imagined, *entry.pod, trial.row);
  }
  if (status.ok()) {
    auto row = attempt.Scratch();
    row->Add(trial.row);
    services.RunFilters(imagined, *row, outcome_);
    NoteRejections({&trial, 1});
    trial.fits = !outcome_.feasible.Empty();
    if (trial.fits) status = Reprieve(imagined, services, trial, overlay);
  }
  if (status.ok()) return;
  trial.fits = false;
  errors_.push_back(status.Message());
}

Status DryRun::Reprieve(const Attempt& attempt, PostFilterServices& services, DryRunNode& trial,
                        NodeTable::Overlay& overlay) {
  Order(trial);
  auto row = attempt.Scratch();
  row->Add(trial.row);
  for (std::size_t at = trial.first; at < trial.end(); ++at) {
    cluster::PlacedPod& pod = PodAt(trial, at);
    overlay.Add(trial.row, pod);
    Status status = services.AddPod(attempt, pod, trial.row);
    if (!status.ok()) return status;
    services.RunFilters(attempt, *row, outcome_);
    if (!outcome_.feasible.Empty()) continue;
    victim_[at] = 1;
    overlay.Remove(trial.row, pod);
    status = services.RemovePod(attempt, pod, trial.row);
    if (!status.ok()) return status;
  }
  return {};
}

// --- by units ---

void DryRun::RunByUnits(const Attempt& attempt, PostFilterServices& services, DryRunNode& trial) {
  framework::CycleState state = attempt.state().Clone();
  const Attempt imagined = attempt.With(state);
  NodeTable::Overlay overlay(services.table());
  Status status;
  for (const VictimUnit& unit : trial.units) {
    if (status.ok()) status = Remove(unit, trial.row, imagined, services, overlay);
  }
  if (status.ok()) {
    auto row = attempt.Scratch();
    row->Add(trial.row);
    services.RunFilters(imagined, *row, outcome_);
    NoteRejections({&trial, 1});
    trial.fits = !outcome_.feasible.Empty();
    if (trial.fits) status = ReprieveUnits(imagined, services, trial, overlay);
  }
  if (status.ok()) return;
  trial.fits = false;
  errors_.push_back(status.Message());
}

Status DryRun::ReprieveUnits(const Attempt& attempt, PostFilterServices& services, DryRunNode& trial,
                             NodeTable::Overlay& overlay) {
  SortForReprieve(trial.units, budgets_);
  auto row = attempt.Scratch();
  row->Add(trial.row);
  for (const VictimUnit& unit : trial.units) {
    Status status = PutBack(unit, trial.row, attempt, services, overlay);
    if (!status.ok()) return status;
    services.RunFilters(attempt, *row, outcome_);
    if (!outcome_.feasible.Empty()) continue;
    trial.evicted.push_back(unit);
    status = Remove(unit, trial.row, attempt, services, overlay);
    if (!status.ok()) return status;
  }
  std::ranges::sort(trial.evicted, MoreImportant);
  return {};
}

Status DryRun::Remove(const VictimUnit& unit, Row row, const Attempt& attempt, PostFilterServices& services,
                      NodeTable::Overlay& overlay) {
  for (const VictimUnit::Victim& victim : unit.pods) {
    if (victim.row == row) overlay.Remove(row, *victim.pod);
    if (Status status = services.RemovePod(attempt, *victim.pod, victim.row); !status.ok()) return status;
  }
  return {};
}

Status DryRun::PutBack(const VictimUnit& unit, Row row, const Attempt& attempt, PostFilterServices& services,
                       NodeTable::Overlay& overlay) {
  for (const VictimUnit::Victim& victim : unit.pods) {
    if (victim.row == row) overlay.Add(row, *victim.pod);
    if (Status status = services.AddPod(attempt, *victim.pod, victim.row); !status.ok()) return status;
  }
  return {};
}

// --- results ---

void DryRun::Order(DryRunNode& trial) {
  trial.first = order_.size();
  harmless_.clear();
  budgets_.Split(trial.pods, order_, harmless_);
  trial.violating = order_.size() - trial.first;
  order_.insert(order_.end(), harmless_.begin(), harmless_.end());
  victim_.resize(order_.size());
  std::fill(victim_.begin() + static_cast<std::ptrdiff_t>(trial.first), victim_.end(), 0);
}

void DryRun::NoteRejections(std::span<const DryRunNode> trials) {
  CountRejections(outcome_, reasons_, counts_);
  for (const DryRunNode& trial : trials) {
    for (const auto& [row, status] : outcome_.errors) {
      if (row == trial.row) errors_.push_back(status.Message());
    }
  }
}

void DryRun::Collect(const DryRunNode& trial, const NodeTable& nodes, EvictionCheck& check,
                     std::size_t wanted) {
  Candidate candidate = CandidateOf(trial);
  if (candidate.victims.empty() && candidate.units.empty()) {
    errors_.push_back(fmt::format("expected at least one victim pod on node \"{}\"", nodes.name(trial.row)));
    return;
  }
  if (!check.empty() && !check.MayEvictTogether(VictimsOf(candidate, entries_))) {
    const Refusals refusals = check.Take();
    CountRefusals(refusals, counts_);
    if (!refusals.error.empty()) errors_.push_back(refusals.error);
    return;
  }
  std::vector<Candidate>& list = candidate.violations == 0 ? candidates_ : violating_;
  if (list.size() < wanted) list.push_back(std::move(candidate));
}

// The victims are sorted by importance again.
Candidate DryRun::CandidateOf(const DryRunNode& trial) {
  Candidate candidate{.row = trial.row, .victims = {}, .units = trial.evicted};
  for (const VictimUnit& unit : trial.evicted) candidate.violations += unit.violations;
  std::vector<std::uint32_t>& victims = harmless_;
  victims.clear();
  for (std::size_t at = trial.first; at < trial.end(); ++at) {
    if (victim_[at] == 0) continue;
    if (at < trial.first + trial.violating) ++candidate.violations;
    victims.push_back(order_[at]);
  }
  std::ranges::sort(victims);
  for (const std::uint32_t victim : victims) candidate.victims.push_back(trial.pods[victim]);
  return candidate;
}

}  // namespace berth::plugins
