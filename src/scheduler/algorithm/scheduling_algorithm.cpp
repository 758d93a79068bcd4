#include "scheduler/algorithm/scheduling_algorithm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/check.hpp"
#include "observability/log/log.hpp"

namespace berth::algorithm {

using cluster::Row;
using framework::Attempt;
using framework::Status;
using record::AttemptRecord;
using record::Result;

namespace {

constexpr std::size_t kFeasibleMin = 100;  // at or below this number of nodes there is no sampling

}  // namespace

std::shared_ptr<const record::NodeNames> NamesOf(const cluster::NodeTable& nodes) {
  auto names = std::make_shared<record::NodeNames>();
  names->by_row.resize(nodes.rows());
  names->rows = nodes.all();
  nodes.all().ForEach([&](std::size_t row) { names->by_row[row] = nodes.name(static_cast<Row>(row)); });
  return names;
}

// Runs the attempt's filters for PostFilter plugins that test changes of the cluster.
class SchedulingAlgorithm::PostFilterRun final : public framework::PostFilterServices {
 public:
  PostFilterRun(const runtime::Profile& profile, const runtime::PreFilterOutcome& pre_filter,
                std::span<const runtime::Nomination> nominations, cluster::NodeTable& table, Random* rng)
      : profile_(profile), pre_filter_(pre_filter), nominations_(nominations), table_(table), rng_(rng) {}

  void RunFilters(const Attempt& attempt, const RowSet& candidates, framework::FilterOutcome& out) override {
    profile_.RunFiltersForDryRun(attempt, table_, pre_filter_, nominations_, candidates, out);
  }
  Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, Row row) override {
    return profile_.RunAddPod(attempt, pre_filter_, added, row);
  }
  Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, Row row) override {
    return profile_.RunRemovePod(attempt, pre_filter_, removed, row);
  }
  bool has_extensions() const override { return profile_.HasExtensions(pre_filter_); }
  cluster::NodeTable& table() override { return table_; }
  Random* rng() override { return rng_; }

 private:
  const runtime::Profile& profile_;
  const runtime::PreFilterOutcome& pre_filter_;
  std::span<const runtime::Nomination> nominations_;
  cluster::NodeTable& table_;
  Random* rng_;
};

ScheduleResult SchedulingAlgorithm::Schedule(const cluster::PodInfo& pod, const runtime::Profile& profile,
                                             const ClusterView& cluster,
                                             std::span<const runtime::Nomination> nominations) {
  ScheduleResult decision;
  decision.record = std::make_shared<AttemptRecord>();
  if (extenders_ == nullptr) {
    DecideNode(pod, profile, cluster, nominations, decision);
    return decision;
  }
  extenders_->BeginDecision();
  DecideNode(pod, profile, cluster, nominations, decision);
  decision.abandoned = extenders_->wait_cancelled();
  for (extenders::ExtenderError& error : extenders_->TakeErrors()) {
    decision.record->extenders.errors.push_back(
        {std::move(error.extender), std::move(error.verb), std::move(error.error)});
  }
  return decision;
}

void SchedulingAlgorithm::DecideNode(const cluster::PodInfo& pod, const runtime::Profile& profile,
                                     const ClusterView& cluster,
                                     std::span<const runtime::Nomination> nominations,
                                     ScheduleResult& decision) {
  AttemptRecord& record = *decision.record;
  record.pod = pod.key;
  record.scheduler_name = profile.name();
  record.nodes = cluster.names;
  record.all = cluster.names->rows;
  if (cluster.nodes.node_count() == 0) {
    record.result = Result::kUnschedulable;
    record.message = "no nodes available to schedule pods";
    decision.nominate = "";
    return;
  }

  if (runtime::MetricsRecorder* metrics_recorder = profile.metrics_recorder())
    metrics_recorder->BeginAttempt();
  const Attempt attempt(pod, cluster.nodes, decision.state, scratch_);
  if (!FindFeasible(attempt, profile, cluster, nominations, decision)) return;

  const bool several = record.feasible.get().HasMoreThan(1);
  if (several && known_ != nullptr) {
    if (known_->Rank(attempt)) {
      record.result = Result::kScheduled;
      record.node = decision.row = ChooseFrom(*known_, record);
      return;
    }
    memory_->Invalidate(pod.shape);
  }
  if (!several || only_nominated_) {
    if (only_nominated_) {
      record.best.Add(cluster.nodes.Find(pod.nominated));
    } else {
      record.best = record.feasible;
    }
  } else if (const Status status = ScoreFeasible(attempt, profile, cluster, record); !status.ok()) {
    record.result = Result::kError;
    record.message = status.Message();
    decision.nominate = "";
    return;
  }
  record.result = Result::kScheduled;
  record.node = decision.row = Choose(record);
}

// Returns true if at least one node is feasible; otherwise the decision is complete.
bool SchedulingAlgorithm::FindFeasible(const Attempt& attempt, const runtime::Profile& profile,
                                       const ClusterView& cluster,
                                       std::span<const runtime::Nomination> nominations,
                                       ScheduleResult& decision) {
  AttemptRecord& record = *decision.record;
  relevant_.clear();
  for (const runtime::Nomination& nomination : nominations) {
    if (nomination.row != cluster::kNoRow && nomination.pod->priority() >= attempt.pod().priority() &&
        nomination.pod->pod->metadata.uid != attempt.pod().pod->metadata.uid) {
      relevant_.push_back(nomination);
    }
  }
  known_ = Lookup(attempt.pod(), profile);
  const runtime::PreFilterOutcome pre_filter =
      known_ != nullptr ? known_->RunPreFilter(attempt) : profile.RunPreFilter(attempt);
  if (!PassesPreFilter(attempt, profile, cluster, pre_filter, decision)) return false;

  only_nominated_ = false;
  nominated_rejector_.clear();
  nominated_reasons_.clear();
  if (known_ != nullptr && (pre_filter.narrowed || !known_->Evaluate(attempt, pre_filter))) {
    memory_->Invalidate(attempt.pod().shape);
    known_ = nullptr;
  }
  if (known_ != nullptr) {
    known_->RecordVerdicts(record);
    if (!record.feasible.Empty()) return true;
    filtered_ = known_->verdicts();
    RecordRejectors(pre_filter, profile, decision);
    HandleNoFit(attempt, profile, cluster, pre_filter, decision);
    return false;
  }

  RowSet candidates = cluster.nodes.all();
  if (pre_filter.narrowed) {
    candidates.Clear();
    for (const cluster::NodeNameId name : pre_filter.nodes) {
      if (const Row row = cluster.nodes.Find(name); row != cluster::kNoRow) candidates.Add(row);
    }
  }
  if (attempt.pod().nominated.known())
    EvaluateNominatedNode(attempt, profile, cluster, pre_filter, candidates, record);

  profile.RunFilters(attempt, cluster.nodes, pre_filter, relevant_, candidates, filtered_);
  if (!filtered_.errors.empty() && !only_nominated_) {
    record.result = Result::kError;
    record.message = FirstError(cluster).Message();
    decision.nominate = "";
    return false;
  }
  RecordVerdicts(profile, record);
  if (pre_filter.narrowed) RecordExcluded(pre_filter, candidates, record);
  if (record.feasible.Empty()) {
    RecordRejectors(pre_filter, profile, decision);
    HandleNoFit(attempt, profile, cluster, pre_filter, decision);
    return false;
  }
  if (only_nominated_) return true;
  Sample(profile, cluster, candidates, record.feasible.Own());
  return extenders_ == nullptr || RunExtenderFilters(attempt, profile, cluster, pre_filter, decision);
}

// The equivalence cache stores results for all nodes in their current state. It is not used with nominated
// pods, sampling, extenders, or for a pod with a limited set of nodes.
equivalence_cache::EquivalenceClass* SchedulingAlgorithm::Lookup(const cluster::PodInfo& pod,
                                                                 const runtime::Profile& profile) {
  const bool limits_nodes = pod.node_name.known() || pod.nominated.known() || pod.selection().limits_names;
  if (!memory_ || extenders_ != nullptr || options_.score_parts || !relevant_.empty() || limits_nodes ||
      !EvaluatesAllNodes(profile))
    return nullptr;
  return memory_->Lookup(pod.shape, profile);
}

// The error of the first node in visiting order.
const framework::Status& SchedulingAlgorithm::FirstError(const ClusterView& cluster) const {
  for (const Row row : cluster.visiting_order) {
    const auto found =
        std::ranges::find(filtered_.errors, row, [](const auto& error) { return error.first; });
    if (found != filtered_.errors.end()) return found->second;
  }
  return filtered_.errors.front().second;
}

bool SchedulingAlgorithm::PassesPreFilter(const Attempt& attempt, const runtime::Profile& profile,
                                          const ClusterView& cluster,
                                          const runtime::PreFilterOutcome& pre_filter,
                                          ScheduleResult& decision) {
  if (pre_filter.status.ok()) return true;
  AttemptRecord& record = *decision.record;
  if (!pre_filter.status.rejected()) {
    record.result = Result::kError;
    record.message = pre_filter.status.Message();
    decision.nominate = "";
    return false;
  }
  // If several plugins limit the nodes to sets without a common node, they reject the pod together.
  decision.rejectors = pre_filter.narrowing;
  std::ranges::sort(decision.rejectors);
  std::string plugin(pre_filter.status.plugin);
  if (plugin.empty()) {
    plugin = fmt::format("{}", fmt::join(decision.rejectors, ","));
  } else if (std::ranges::find(decision.rejectors, plugin) == decision.rejectors.end()) {
    decision.rejectors.push_back(plugin);
  }
  record.pre_filter =
      record::PreFilterRejection{pre_filter.status.code, std::move(plugin), pre_filter.status.reasons};
  filtered_.Reset({});
  HandleNoFit(attempt, profile, cluster, pre_filter, decision);
  return false;
}

void SchedulingAlgorithm::RecordExcluded(const runtime::PreFilterOutcome& pre_filter,
                                         const RowSet& candidates, AttemptRecord& record) const {
  std::set<std::string> plugins(pre_filter.narrowing.begin(), pre_filter.narrowing.end());
  if (!nominated_rejector_.empty()) plugins.insert(nominated_rejector_);
  RowSet evaluated = candidates;
  evaluated |= record.feasible;
  for (const record::Rejection& rejection : record.rejections) evaluated |= rejection.rows;
  for (const record::PluginReasons& part : record.row_reasons) {
    for (const auto& [row, text] : part.reasons.rows) evaluated.Add(row);
  }
  record.excluded = record.all;
  record.excluded -= evaluated;
  std::vector<std::string> narrowing = pre_filter.narrowing;
  std::ranges::sort(narrowing);
  record.excluding_plugins = fmt::format("{}", fmt::join(narrowing, ","));
  record.exclusion_reason = fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(plugins, " "));
}

void SchedulingAlgorithm::RecordRejectors(const runtime::PreFilterOutcome& pre_filter,
                                          const runtime::Profile& profile, ScheduleResult& decision) const {
  std::set<std::string> rejectors(pre_filter.narrowing.begin(), pre_filter.narrowing.end());
  const AttemptRecord& record = *decision.record;
  for (const record::Rejection& rejection : record.rejections) rejectors.emplace(rejection.plugin);
  for (const record::PluginReasons& part : record.row_reasons) rejectors.emplace(part.plugin);
  decision.rejectors.assign(rejectors.begin(), rejectors.end());
  for (const std::size_t plugin : filtered_.pending) {
    const std::string name(profile.filters()[plugin]->Name());
    if (std::ranges::find(decision.pending, name) == decision.pending.end()) decision.pending.push_back(name);
  }
}

void SchedulingAlgorithm::HandleNoFit(const Attempt& attempt, const runtime::Profile& profile,
                                      const ClusterView& cluster, const runtime::PreFilterOutcome& pre_filter,
                                      ScheduleResult& decision) {
  AttemptRecord& record = *decision.record;
  record.result = Result::kUnschedulable;
  if (!profile.has_post_filters()) {
    decision.nominate = "";
  } else {
    framework::FilterOutcome verdicts = filtered_;
    verdicts.unresolvable |= record.unresolvable;
    verdicts.unresolvable |= record.excluded;
    if (record.pre_filter && record.pre_filter->code == framework::Code::kUnschedulableAndUnresolvable)
      verdicts.unresolvable |= record.all;
    PostFilterRun services(profile, pre_filter, relevant_, cluster.nodes,
                           options_.tie_break == TieBreak::kRandom ? &random_ : nullptr);
    framework::PostFilterResult answer = profile.RunPostFilter(attempt, verdicts, services);
    if (answer.status.code == framework::Code::kError) {
      log::Error("Status after running PostFilter plugins for pod",
                 {{"pod", attempt.pod().key}, {"status", answer.status.Message()}});
    }
    record.post_filter = answer.status.Message();
    if (answer.eviction) {
      record.nomination =
          record::Nomination{answer.nominate.value_or(""), std::move(answer.eviction->victims),
                             std::move(answer.eviction->choices)};
    }
    decision.nominate = std::move(answer.nominate);
  }
  record.message = FitErrorMessage(record, reasons_);
}

// Like kube-scheduler, evaluates status.nominatedNodeName before all other nodes, even if PreFilter excluded
// it, and ends the search if it passes.
void SchedulingAlgorithm::EvaluateNominatedNode(const Attempt& attempt, const runtime::Profile& profile,
                                                const ClusterView& cluster,
                                                const runtime::PreFilterOutcome& pre_filter,
                                                const RowSet& candidates, AttemptRecord& record) {
  const Row row = cluster.nodes.Find(attempt.pod().nominated);
  if (row == cluster::kNoRow) return;
  RowSet alone(cluster.nodes.rows());
  alone.Add(row);
  profile.RunFilters(attempt, cluster.nodes, pre_filter, relevant_, alone, filtered_);
  only_nominated_ = !filtered_.feasible.Empty();
  if (filtered_.used > 0) nominated_rejector_ = profile.filters()[filtered_.all().back().plugin]->Name();
  if (!filtered_.row_reasons.empty())
    nominated_rejector_ = profile.filters()[filtered_.row_reasons.back().plugin]->Name();
  // The general search does not evaluate this node, so its result is recorded here.
  if (!candidates.Has(row)) RecordVerdicts(profile, record);
  if (only_nominated_ && extenders_ != nullptr)
    only_nominated_ = NominatedNodePassesExtenders(attempt, cluster, alone);
}

void SchedulingAlgorithm::RecordVerdicts(const runtime::Profile& profile, AttemptRecord& record) const {
  for (const framework::FilterOutcome::Rejection& rejection : filtered_.all()) {
    record.rejections.push_back(
        {profile.filters()[rejection.plugin]->Name(), rejection.reason, rejection.rows});
  }
  for (const framework::FilterOutcome::PluginReasons& part : filtered_.row_reasons) {
    record.row_reasons.push_back({profile.filters()[part.plugin]->Name(), part.reasons});
  }
  record.unresolvable |= filtered_.unresolvable;
  record.feasible |= filtered_.feasible;
}

bool SchedulingAlgorithm::EvaluatesAllNodes(const runtime::Profile& profile) const {
  const std::int64_t share =
      profile.percentage_of_nodes_to_score().value_or(options_.percentage_of_nodes_to_score);
  return !options_.sample || share >= 100 || (share == 0 && !options_.adaptive);
}

std::size_t NodesToFind(std::int64_t percentage, std::size_t nodes) {
  constexpr std::size_t kShareMin = 5;
  if (nodes < kFeasibleMin || percentage >= 100) return nodes;
  auto share = static_cast<std::size_t>(percentage);
  if (share == 0) share = std::max(50 - std::min<std::size_t>(nodes / 125, 50), kShareMin);
  return std::max(nodes * share / 100, kFeasibleMin);
}

// Limits the feasible nodes to those at which kube-scheduler would have stopped. It visits nodes in rotation,
// starting where the last search ended, until it has found a percentage of all nodes.
void SchedulingAlgorithm::Sample(const runtime::Profile& profile, const ClusterView& cluster,
                                 const RowSet& candidates, RowSet& feasible) {
  if (EvaluatesAllNodes(profile)) return;
  const std::size_t searched = candidates.Count();
  if (searched < kFeasibleMin) return;
  const std::size_t nodes = cluster.visiting_order.size();
  const std::size_t share = NodesToFind(
      profile.percentage_of_nodes_to_score().value_or(options_.percentage_of_nodes_to_score), searched);
  // Without scores the first feasible node is selected.
  const bool any_does = profile.scores().empty() &&
                        (extenders_ == nullptr || (!extenders_->filter() && !extenders_->prioritize()));
  const std::size_t wanted = any_does ? 1 : share;
  RowSet kept(cluster.nodes.rows());
  std::size_t found = 0;
  std::size_t visited = 0;  // only nodes of the search advance the start
  for (std::size_t i = 0; i < nodes && found < wanted; ++i) {
    const Row row = cluster.visiting_order[(next_start_ + i) % nodes];
    if (!candidates.Has(row)) continue;
    ++visited;
    if (!feasible.Has(row)) continue;
    kept.Add(row);
    ++found;
  }
  BERTH_CHECK(found <= wanted && visited <= nodes, found, wanted, visited, nodes);
  next_start_ = (next_start_ + visited) % nodes;
  feasible = kept;
}

Status SchedulingAlgorithm::ScoreFeasible(const Attempt& attempt, const runtime::Profile& profile,
                                          const ClusterView& cluster, AttemptRecord& record) {
  if (const Status status =
          profile.RunScores(attempt, record.feasible, cluster.visiting_order, columns_, skipped_);
      !status.ok())
    return status;
  record.scored = true;
  record.base_total = profile.scores().empty() && extenders_ == nullptr ? 1 : 0;
  parts_.clear();
  std::vector<record::Scores> scores;
  scores.reserve(profile.scores().size());
  for (std::size_t i = 0; i < profile.scores().size(); ++i) {
    if (skipped_.Has(i)) continue;
    const auto& [plugin, weight] = profile.scores()[i];
    record::Scores& kept = scores.emplace_back();
    kept.plugin = plugin->Name();
    kept.weight = weight;
    if (options_.score_parts) {
      if (const auto* made_of = dynamic_cast<const framework::ScorePartsPlugin*>(plugin))
        kept.parts = made_of->ScoreParts(attempt, record.feasible);
    }
    if (columns_[i].uniform()) {
      kept.uniform = static_cast<std::uint8_t>(columns_[i].uniform_value());
      continue;  // equal for all rows: does not affect the choice
    }
    const auto scores = columns_[i].bytes();  // RunScores has converted them to bytes
    kept.values.assign(scores.begin(), scores.end());
    parts_.push_back({scores, weight});
  }
  std::ranges::sort(scores, {}, &record::Scores::plugin);
  record.scores = std::move(scores);
  ChooseBest(attempt, cluster, record);
  return {};
}

void SchedulingAlgorithm::ChooseBest(const Attempt& attempt, const ClusterView& cluster,
                                     AttemptRecord& record) {
  const std::size_t rows = attempt.nodes().rows();
  RowSet& best = record.best.Own();
  best.Resize(rows);
  if (extenders_ == nullptr && AreLight(parts_)) {
    AddBestByScores(parts_, record.feasible, rows, light_totals_, best);
    return;
  }
  for (const auto& [scores, weight] : parts_) BERTH_CHECK(scores.size() >= rows, scores.size(), rows, weight);
  totals_.assign(rows, 0);
  for (const auto& [scores, weight] : parts_)
    AddWeighted(scores, static_cast<std::uint32_t>(weight), totals_);
  RowSet preferred;
  if (extenders_ != nullptr) AddContributions(attempt, cluster, record, preferred);
  AddBest(totals_, record.feasible, best);
  // kube-scheduler prefers, of equal nodes, those that an extender has scored.
  RowSet answered = best;
  answered &= preferred;
  if (!answered.Empty()) best = std::move(answered);
}

Row SchedulingAlgorithm::Choose(const AttemptRecord& record) {
  BERTH_CHECK(!record.best.Empty(), record.pod, record.feasible.Count());
  if (options_.tie_break == TieBreak::kFirstByName) {
    Row chosen = static_cast<Row>(record.best.First());
    record.best.ForEach([&](std::size_t row) {
      if (record.nodes->by_row[row] < record.nodes->by_row[chosen]) chosen = static_cast<Row>(row);
    });
    return chosen;
  }
  return static_cast<Row>(record.best.get().Nth(random_.Below(record.best.Count())));
}

// Draws from the random number generator exactly as Choose does, so that the same node is selected with and
// without the cache.
Row SchedulingAlgorithm::ChooseFrom(equivalence_cache::EquivalenceClass& known, AttemptRecord& record) {
  known.KeepScores(record);
  if (options_.tie_break == TieBreak::kRandom)
    return static_cast<Row>(known.best().Nth(random_.Below(known.best().Count())));
  record.best = known.best().All();
  return Choose(record);
}

}  // namespace berth::algorithm
