#include "runtime/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace berth::runtime {

using framework::Attempt;
using framework::Status;

void FilterOutcome::Reset(const RowSet& candidates) {
  used = 0;
  unresolvable.Clear();
  errors.clear();
  feasible = candidates;
}

Status Profile::RunPreEnqueue(const api::Pod& pod) const {
  for (const framework::PreEnqueuePlugin* plugin : pre_enqueue_) {
    Status status = plugin->PreEnqueue(pod);
    if (status.ok()) continue;
    status.plugin = plugin->Name();
    return status;
  }
  return {};
}

PreFilterOutcome Profile::RunPreFilter(const Attempt& attempt) const {
  PreFilterOutcome outcome;
  outcome.skipped_filters.assign(filters_.size(), false);
  std::optional<std::vector<framework::NodeNameId>> names;
  for (framework::PreFilterPlugin* plugin : pre_filters_) {
    framework::PreFilterAnswer answer = plugin->PreFilter(attempt);
    answer.status.plugin = plugin->Name();
    if (answer.status.skip()) {
      const auto as_filter = std::ranges::find(filters_, dynamic_cast<framework::FilterPlugin*>(plugin));
      if (as_filter != filters_.end())
        outcome.skipped_filters[static_cast<std::size_t>(as_filter - filters_.begin())] = true;
      continue;
    }
    if (answer.status.code == framework::Code::kUnschedulableAndUnresolvable) {
      outcome.status = std::move(answer.status);
      return outcome;
    }
    if (answer.status.code == framework::Code::kUnschedulable) {
      // The others are still asked: one of them may know that not even an eviction helps.
      outcome.status = std::move(answer.status);
      continue;
    }
    if (!answer.status.ok()) {
      outcome.status = Status::Error(
          fmt::format("running PreFilter plugin \"{}\": {}", plugin->Name(), answer.status.Message()));
      return outcome;
    }
    if (!answer.nodes) continue;
    outcome.narrowing.emplace_back(plugin->Name());
    if (!names) {
      names = std::move(answer.nodes);
    } else {
      std::erase_if(*names, [&](framework::NodeNameId name) {
        return std::ranges::find(*answer.nodes, name) == answer.nodes->end();
      });
    }
    if (names->empty()) {
      std::vector<std::string> sorted = outcome.narrowing;
      std::ranges::sort(sorted);
      outcome.status = Status::Unresolvable(
          sorted.size() == 1
              ? fmt::format("node(s) didn't satisfy plugin {}", sorted[0])
              : fmt::format("node(s) didn't satisfy plugin(s) [{}] simultaneously", fmt::join(sorted, " ")));
      return outcome;
    }
  }
  outcome.narrowed = names.has_value();
  if (names) outcome.nodes = std::move(*names);
  return outcome;
}

void Profile::RunFilters(const Attempt& attempt, framework::NodeTable& table,
                         const PreFilterOutcome& pre_filter, std::span<const Nomination> nominations,
                         const RowSet& candidates, FilterOutcome& out) const {
  out.Reset(candidates);
  if (!nominations.empty()) {
    // With the nominated pods in place: these may well arrive first.
    auto nominated = attempt.Scratch();
    framework::NodeTable::Overlay overlay(table);
    for (const Nomination& nomination : nominations) {
      overlay.Add(nomination.row, nomination.pod->use);
      if (candidates.Has(nomination.row)) nominated->Add(nomination.row);
    }
    auto others = attempt.Scratch();
    *others |= candidates;
    *others -= *nominated;
    out.feasible = *nominated;
    RunFilterPass(attempt, pre_filter, *nominated, out);
    // Without them: these may never arrive. Rows that passed and rows without nominations.
    out.feasible |= *others;
  }
  auto second = attempt.Scratch();
  *second |= out.feasible;
  RunFilterPass(attempt, pre_filter, *second, out);
}

void Profile::RunFilterPass(const Attempt& attempt, const PreFilterOutcome& pre_filter,
                            const RowSet& candidates, FilterOutcome& out) const {
  if (candidates.Empty()) return;
  auto alive = attempt.Scratch();
  *alive |= candidates;
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if (pre_filter.skipped_filters[i]) continue;
    answer_.Reset();
    filters_[i]->Filter(attempt, *alive, answer_);
    for (const auto& [row, what] : answer_.errors()) {
      if (!alive->Has(row)) continue;
      alive->Remove(row);
      out.feasible.Remove(row);
      out.errors.emplace_back(
          row, Status::Error(fmt::format("running \"{}\" filter plugin: {}", filters_[i]->Name(), what)));
    }
    auto rejected = attempt.Scratch();
    for (const framework::Rejections::Entry& entry : answer_.entries()) {
      if (out.used == out.rejections.size()) out.rejections.emplace_back();
      FilterOutcome::Rejection& rejection = out.rejections[out.used];
      rejection.rows = entry.rows;
      rejection.rows &= *alive;  // an earlier plugin's verdict on a row is the one that counts
      if (rejection.rows.Empty()) continue;
      rejection.plugin = i;
      rejection.reason = entry.reason;
      *rejected |= rejection.rows;
      ++out.used;
    }
    if (rejected->Empty()) continue;
    auto unresolvable = attempt.Scratch();
    *unresolvable |= answer_.unresolvable();
    *unresolvable &= *rejected;
    out.unresolvable |= *unresolvable;
    *alive -= *rejected;
    out.feasible -= *rejected;
    if (alive->Empty()) return;
  }
}

namespace {

bool IsValid(std::int64_t score) { return score >= 0 && score <= framework::kMaxScore; }

// Looks at all rows first, in one pass without branches; rows that are not feasible may hold anything.
bool HasInvalid(const framework::ScoreColumn& column, const RowSet& feasible) {
  if (column.uniform()) return !IsValid(column.uniform_value());
  std::uint64_t worst = 0;
  for (const std::int64_t score : column.values()) worst = std::max(worst, static_cast<std::uint64_t>(score));
  if (worst <= static_cast<std::uint64_t>(framework::kMaxScore)) return false;
  bool any = false;
  feasible.ForEach([&](std::size_t row) { any = any || !IsValid(column.At(row)); });
  return any;
}

}  // namespace

Status Profile::RunScores(const Attempt& attempt, const RowSet& feasible,
                          std::span<const framework::Row> order, std::vector<framework::ScoreColumn>& columns,
                          std::vector<bool>& skipped) const {
  columns.resize(scores_.size());
  skipped.assign(scores_.size(), false);
  if (scores_.empty()) return {};  // without scores the original does not run PreScore either
  for (framework::PreScorePlugin* plugin : pre_scores_) {
    const Status status = plugin->PreScore(attempt, feasible);
    if (status.ok()) continue;
    if (!status.skip()) {
      return Status::Error(
          fmt::format("running PreScore plugin \"{}\": {}", plugin->Name(), status.Message()));
    }
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (scores_[i].plugin->Name() == plugin->Name()) skipped[i] = true;
    }
  }
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    if (skipped[i]) continue;
    framework::ScorePlugin& plugin = *scores_[i].plugin;
    columns[i].Reset(attempt.nodes().rows());
    if (const Status status = plugin.Score(attempt, feasible, columns[i]); !status.ok()) {
      return Status::Error(fmt::format("running Score plugins: plugin \"{}\" failed with: {}", plugin.Name(),
                                       status.Message()));
    }
    if (const Status status = plugin.Normalize(attempt, feasible, columns[i]); !status.ok()) {
      return Status::Error(fmt::format("running Normalize on Score plugins: plugin \"{}\" failed with: {}",
                                       plugin.Name(), status.Message()));
    }
  }
  return CheckRange(feasible, order, columns, skipped);
}

// kube-scheduler weighs node by node, so of several invalid scores that of the first node, and there of the
// first plugin, is reported.
Status Profile::CheckRange(const RowSet& feasible, std::span<const framework::Row> order,
                           std::span<const framework::ScoreColumn> columns,
                           const std::vector<bool>& skipped) const {
  bool any = false;
  for (std::size_t i = 0; i < scores_.size(); ++i)
    any = any || (!skipped[i] && HasInvalid(columns[i], feasible));
  if (!any) return {};
  for (const framework::Row row : order) {
    if (!feasible.Has(row)) continue;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      if (skipped[i] || IsValid(columns[i].At(row))) continue;
      return Status::Error(fmt::format(
          "applying score defaultWeights on Score plugins: plugin \"{}\" returns an invalid score {}, it "
          "should in the range of [0, 100] after normalizing",
          scores_[i].plugin->Name(), columns[i].At(row)));
    }
  }
  return {};
}

namespace {

// Asks binder after binder; each answer arrives by callback.
void BindWith(std::span<framework::BindPlugin* const> binders, const framework::PodInfo& pod,
              const std::string& node, framework::BindPlugin::Done done) {
  framework::BindPlugin* plugin = binders.front();
  plugin->Bind(pod, node, [binders, &pod, node, plugin, done = std::move(done)](Status status) mutable {
    if (status.skip() && binders.size() > 1) return BindWith(binders.subspan(1), pod, node, std::move(done));
    status.plugin = plugin->Name();
    if (!status.ok()) {
      Status failed =
          Status::Error(fmt::format("running Bind plugin \"{}\": {}", plugin->Name(), status.Message()));
      failed.plugin = std::move(status.plugin);
      return done(std::move(failed));
    }
    done(std::move(status));
  });
}

}  // namespace

void Profile::RunBind(const framework::PodInfo& pod, const std::string& node,
                      framework::BindPlugin::Done done) const {
  BindWith(binders_, pod, node, std::move(done));
}

bool Profile::Concerns(const framework::ClusterEvent& event, std::span<const std::string> plugins) const {
  return std::ranges::any_of(events_, [&](const Registered& registered) {
    return std::ranges::find(plugins, registered.plugin) != plugins.end() &&
           std::ranges::any_of(registered.events, [&](const auto& wanted) { return wanted.Matches(event); });
  });
}

void Profile::CollectEvents() {
  std::set<const framework::Plugin*> asked;
  const auto collect = [&](const auto& plugins) {
    for (const framework::Plugin* plugin : plugins) {
      if (asked.insert(plugin).second)
        events_.push_back({std::string(plugin->Name()), plugin->EventsToRegister()});
    }
  };
  collect(pre_enqueue_);
  collect(pre_filters_);
  collect(filters_);
}

}  // namespace berth::runtime
