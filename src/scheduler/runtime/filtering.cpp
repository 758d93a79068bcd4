// Filter: calls each plugin once per pod, in profile order, with the rows that no earlier plugin rejected.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/runtime/guarded.hpp"
#include "scheduler/runtime/profile.hpp"

namespace berth::runtime {

using cluster::Row;
using framework::Attempt;
using framework::FilterOutcome;
using framework::Status;

namespace {

// `nominations` are in ascending order of rows.
std::span<const Nomination> NominationsOf(Row row, std::span<const Nomination> nominations) {
  return std::ranges::equal_range(nominations, row, {}, &Nomination::row);
}

}  // namespace

void Profile::RunFilters(const Attempt& attempt, cluster::NodeTable& table,
                         const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                         const RowSet& candidates, FilterOutcome& out) const {
  PointTimer timer(*this, ExtensionPoint::kFilter);
  RunFiltersForDryRun(attempt, table, pre_filter, nominations, candidates, out);
  // An empty result is not a failure of the extension point; kube-scheduler counts it as a success too.
  if (!out.errors.empty()) timer.code = framework::Code::kError;
}

void Profile::RunFiltersForDryRun(const Attempt& attempt, cluster::NodeTable& table,
                                  const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                                  const RowSet& candidates, FilterOutcome& out) const {
  out.Reset(candidates);
  BERTH_DCHECK(std::ranges::is_sorted(nominations, {}, &Nomination::row), nominations.size());
  // Dry runs evaluate one row after another.
  if (!nominations.empty() && !candidates.Empty() && !candidates.HasMoreThan(1))
    nominations = NominationsOf(static_cast<Row>(candidates.First()), nominations);
  if (!nominations.empty()) {
    auto nominated = attempt.Scratch();
    for (const Nomination& nomination : nominations) {
      if (candidates.Has(nomination.row)) nominated->Add(nomination.row);
    }
    auto others = attempt.Scratch();
    *others |= candidates;
    *others -= *nominated;
    // First with the nominated pods, which may be bound before this pod.
    out.feasible = *nominated;
    RunNominatedPass(attempt, table, pre_filter, nominations, *nominated, out);
    // Then without them, because they may never be bound: rows that passed, and rows without nominations.
    out.feasible |= *others;
  }
  RunFilterPass(attempt, pre_filter, out);
}

void Profile::RunFiltersFrom(std::size_t first, const Attempt& attempt, const PreFilterOutcome& pre_filter,
                             const RowSet& candidates, FilterOutcome& out) const {
  PointTimer timer(*this, ExtensionPoint::kFilter);
  out.Reset(candidates);
  RunFilterPass(attempt, pre_filter, out, first);
  if (!out.errors.empty()) timer.code = framework::Code::kError;
}

bool Profile::HasExtensionsBeyond(const SkippedPlugins& skipped) const {
  return skipped.Count() < extensions_.size();
}

void Profile::RunFilterPass(const Attempt& attempt, const PreFilterOutcome& pre_filter, FilterOutcome& out,
                            std::size_t first) const {
  RowSet& alive = out.feasible;
  if (alive.Empty()) return;
  for (std::size_t i = first; i < filters_.size(); ++i) {
    if (pre_filter.skipped_filters.Has(i)) continue;
    CallFilter(i, attempt, alive, out.last_call);
    ApplyRejections(i, attempt, alive, out);
    if (alive.Empty()) return;
  }
}

// A plugin that reads only the row under evaluation is called once for all rows, with all nominated pods
// added. For a plugin with extensions this would include pods nominated to other rows; it is called per row,
// with only that row's pods and a cycle state of its own.
void Profile::RunNominatedPass(const Attempt& attempt, cluster::NodeTable& table,
                               const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                               const RowSet& candidates, FilterOutcome& out) const {
  if (candidates.Empty()) return;
  auto alive = attempt.Scratch();
  *alive |= candidates;
  const auto has_extension = [&](std::size_t filter) {
    return std::ranges::find(extensions_, filter, &Extension::filter) != extensions_.end();
  };
  std::optional<cluster::NodeTable::Overlay> everybody;
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if (pre_filter.skipped_filters.Has(i)) continue;
    if (!has_extension(i)) {
      if (!everybody) {
        everybody.emplace(table);
        for (const Nomination& nomination : nominations) {
          if (candidates.Has(nomination.row)) everybody->Add(nomination.row, *nomination.pod);
        }
      }
      CallFilter(i, attempt, *alive, out.last_call);
      ApplyRejections(i, attempt, *alive, out);
    } else {
      everybody.reset();
      auto rows = attempt.Scratch();
      *rows |= *alive;
      rows->ForEach([&](std::size_t index) {
        const Row row = static_cast<Row>(index);
        framework::CycleState state = attempt.state().Clone();
        const Attempt services = attempt.With(state);
        cluster::NodeTable::Overlay overlay(table);
        Status status;
        for (const Nomination& nomination : NominationsOf(row, nominations)) {
          status = RunAddPod(services, pre_filter, overlay.Add(row, *nomination.pod), row);
          if (!status.ok()) break;
        }
        auto alone = attempt.Scratch();
        alone->Add(row);
        if (status.ok()) {
          CallFilter(i, services, *alone, out.last_call);
        } else {
          out.last_call.Reset();
          out.last_call.Fail(row, status.Message());
        }
        ApplyRejections(i, attempt, *alone, out);
        if (!alone->Has(row)) alive->Remove(row);
      });
    }
    if (alive->Empty()) return;
  }
}

void Profile::CallFilter(std::size_t index, const Attempt& attempt, const RowSet& candidates,
                         framework::Rejections& out) const {
  out.Reset();
  if (!evaluations_.filter.empty()) evaluations_.filter[index]->Add(candidates.Count());
  const Status status = Guarded(ExtensionPoint::kFilter, *filters_[index], [&] {
    filters_[index]->Filter(attempt, candidates, out);
    return Status{};
  });
  if (status.ok()) return;
  out.Reset();
  out.Fail(static_cast<Row>(candidates.First()), status.Message());
}

// Removes rejected rows from `alive` and from the feasible rows, which may be the same set. The first plugin
// that rejects a row determines its status.
void Profile::ApplyRejections(std::size_t index, const Attempt& attempt, RowSet& alive,
                              FilterOutcome& out) const {
  const framework::Rejections& answer = out.last_call;
  const bool rejects = std::ranges::any_of(
      answer.entries(), [](const framework::Rejections::Entry& entry) { return !entry.rows.Empty(); });
  if (!rejects && answer.errors().empty() && answer.row_reasons().rows.empty()) return;
  for (const auto& [row, what] : answer.errors()) {
    if (!alive.Has(row)) continue;
    alive.Remove(row);
    out.feasible.Remove(row);
    out.errors.emplace_back(
        row, Status::Error(fmt::format("running \"{}\" filter plugin: {}", filters_[index]->Name(), what)));
  }
  auto rejected = attempt.Scratch();
  // A plugin with extensions is called for each row with nominated pods, so its rejections are merged by
  // reason: as many sets as rows would take memory quadratic in the number of nominations. `next` is the
  // first set that keeps the order of the reasons of a row.
  std::size_t next = out.used;
  while (next > 0 && out.rejections[next - 1].plugin == index) --next;
  for (const framework::Rejections::Entry& entry : answer.entries()) {
    if (entry.rows.Empty()) continue;
    if (out.used == out.rejections.size()) out.rejections.emplace_back();
    FilterOutcome::Rejection& rejection = out.rejections[out.used];
    rejection.rows = entry.rows;
    rejection.rows &= alive;
    if (rejection.rows.Empty()) continue;
    *rejected |= rejection.rows;
    while (next < out.used && out.rejections[next].reason != entry.reason) ++next;
    if (next < out.used) {
      out.rejections[next].rows |= rejection.rows;
    } else {
      rejection.plugin = index;
      rejection.reason = entry.reason;
      ++out.used;
    }
    ++next;
  }
  if (!answer.row_reasons().rows.empty()) {
    FilterOutcome::PluginReasons row_reasons{index, answer.row_reasons()};
    std::erase_if(row_reasons.reasons.rows, [&](const auto& entry) { return !alive.Has(entry.first); });
    for (const auto& [row, text] : row_reasons.reasons.rows) rejected->Add(row);
    if (!row_reasons.reasons.rows.empty()) out.row_reasons.push_back(std::move(row_reasons));
  }
  if (rejected->Empty()) return;
  if (answer.pending()) out.pending.push_back(index);
  auto unresolvable = attempt.Scratch();
  *unresolvable |= answer.unresolvable();
  *unresolvable &= *rejected;
  out.unresolvable |= *unresolvable;
  out.feasible -= *rejected;
  if (&alive != &out.feasible) alive -= *rejected;
}

Status Profile::RunAddPod(const Attempt& attempt, const PreFilterOutcome& pre_filter,
                          const cluster::PlacedPod& added, Row row) const {
  for (std::size_t i = 0; i < extensions_.size(); ++i) {
    if (pre_filter.skipped_extensions.Has(i)) continue;
    framework::PreFilterExtensionsPlugin& plugin = *extensions_[i].plugin;
    const Status status = Guarded(ExtensionPoint::kPreFilterExtensionAddPod, plugin,
                                  [&] { return plugin.AddPod(attempt, added, row); });
    if (!status.ok()) {
      return Status::Error(
          fmt::format("running AddPod on PreFilter plugin \"{}\": {}", plugin.Name(), status.Message()));
    }
  }
  return {};
}

Status Profile::RunRemovePod(const Attempt& attempt, const PreFilterOutcome& pre_filter,
                             const cluster::PlacedPod& removed, Row row) const {
  for (std::size_t i = 0; i < extensions_.size(); ++i) {
    if (pre_filter.skipped_extensions.Has(i)) continue;
    framework::PreFilterExtensionsPlugin& plugin = *extensions_[i].plugin;
    const Status status = Guarded(ExtensionPoint::kPreFilterExtensionRemovePod, plugin,
                                  [&] { return plugin.RemovePod(attempt, removed, row); });
    if (!status.ok()) {
      return Status::Error(
          fmt::format("running RemovePod on PreFilter plugin \"{}\": {}", plugin.Name(), status.Message()));
    }
  }
  return {};
}

}  // namespace berth::runtime
