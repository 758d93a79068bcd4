#include "scheduler/algorithm/scheduling_algorithm.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <set>

#include "base/check.hpp"
#include "observability/log/log.hpp"
#include "scheduler/cluster/node_selection.hpp"
#include "scheduler/framework/nominations.hpp"
#include "scheduler/framework/rejection_details.hpp"

namespace berth::algorithm {

using cluster::Row;
using framework::Attempt;
using framework::Status;
using record::AttemptRecord;
using record::Result;

namespace {

constexpr std::size_t kFeasibleMin = 100;  // at or below this number of nodes there is no sampling

void Fail(SchedulingContext& context, std::string message) {
  context.record().result = Result::kError;
  context.record().message = std::move(message);
  context.result.nominate = "";
}

// All nominations for plugins, and the pods that Filter must consider as placed on their nominated nodes.
void SelectNominations(SchedulingContext& context, std::span<const runtime::Nomination> nominations) {
  context.attempt.Buffer(framework::kNominations) = nominations;
  const cluster::PodInfo& pod = context.pod;
  context.buffers.nominations.clear();
  for (const runtime::Nomination& nomination : nominations) {
    if (nomination.row != cluster::kNoRow && nomination.pod->priority() >= pod.priority() &&
        nomination.pod->pod->metadata.uid != pod.pod->metadata.uid) {
      context.buffers.nominations.push_back(nomination);
    }
  }
  // As RunFilters requires. Nominations are in no defined order, so that of one node's pods does not matter.
  std::ranges::sort(context.buffers.nominations, {}, &runtime::Nomination::row);
}

// The error of the first node in visiting order.
const Status& FirstError(const SchedulingContext& context) {
  const auto& errors = context.buffers.verdicts.errors;
  for (const Row row : context.cluster.visiting_order) {
    const auto found = std::ranges::find(errors, row, [](const auto& error) { return error.first; });
    if (found != errors.end()) return found->second;
  }
  return errors.front().second;
}

// The rows that PreFilter allows.
RowSet Candidates(const SchedulingContext& context) {
  const cluster::NodeTable& nodes = context.cluster.nodes;
  RowSet candidates = context.within == nullptr ? nodes.all() : *context.within;
  if (!context.pre_filter->narrowed) return candidates;
  RowSet narrowed(nodes.rows());
  for (const cluster::NodeNameId name : context.pre_filter->nodes) {
    if (const Row row = nodes.Find(name); row != cluster::kNoRow) narrowed.Add(row);
  }
  narrowed &= candidates;
  return narrowed;
}

void RecordVerdicts(SchedulingContext& context) {
  const framework::FilterOutcome& verdicts = context.buffers.verdicts;
  const auto filters = context.profile.filters();
  AttemptRecord& record = context.record();
  for (const framework::FilterOutcome::Rejection& rejection : verdicts.all())
    record.rejections.push_back({filters[rejection.plugin]->Name(), rejection.reason, rejection.rows});
  for (const framework::FilterOutcome::PluginReasons& part : verdicts.row_reasons)
    record.row_reasons.push_back({filters[part.plugin]->Name(), part.reasons});
  record.unresolvable |= verdicts.unresolvable;
  record.feasible |= verdicts.feasible;
}

// What plugins add to their reasons.
void RecordDetails(SchedulingContext& context) {
  AttemptRecord& record = context.record();
  for (framework::FilterPlugin* plugin : context.profile.filters()) {
    const auto* detailed = dynamic_cast<const framework::RejectionDetailsPlugin*>(plugin);
    if (detailed == nullptr) continue;
    RowSet rejected(context.cluster.nodes.rows());
    for (const record::Rejection& rejection : record.rejections) {
      if (rejection.plugin == plugin->Name()) rejected |= rejection.rows;
    }
    if (rejected.Empty()) continue;
    for (framework::RejectionDetail& detail : detailed->RejectionDetails(context.attempt, rejected))
      record.details.push_back(std::move(detail));
  }
}

framework::FilterOutcome VerdictsForPostFilter(SchedulingContext& context) {
  const AttemptRecord& record = context.record();
  framework::FilterOutcome verdicts = context.buffers.verdicts;
  verdicts.unresolvable |= record.unresolvable;
  verdicts.unresolvable |= record.excluded;
  if (record.pre_filter && record.pre_filter->code == framework::Code::kUnschedulableAndUnresolvable)
    verdicts.unresolvable |= record.all;
  return verdicts;
}

// The nodes that PreFilter excluded.
void RecordExcluded(SchedulingContext& context, const RowSet& candidates) {
  AttemptRecord& record = context.record();
  const std::vector<std::string>& narrowing = context.pre_filter->narrowing;
  std::set<std::string> plugins(narrowing.begin(), narrowing.end());
  if (!context.nominated_rejector.empty()) plugins.insert(context.nominated_rejector);
  RowSet evaluated = candidates;
  evaluated |= record.feasible;
  for (const record::Rejection& rejection : record.rejections) evaluated |= rejection.rows;
  for (const record::PluginReasons& part : record.row_reasons) {
    for (const auto& [row, text] : part.reasons.rows) evaluated.Add(row);
  }
  record.excluded = record.all;
  record.excluded -= evaluated;
  std::vector<std::string> sorted = narrowing;
  std::ranges::sort(sorted);
  record.excluding_plugins = fmt::format("{}", fmt::join(sorted, ","));
  record.exclusion_reason = fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(plugins, " "));
}

}  // namespace

void SchedulingAlgorithm::RecordRejectors(Context& context) {
  const std::vector<std::string>& narrowing = context.pre_filter->narrowing;
  std::set<std::string> rejectors(narrowing.begin(), narrowing.end());
  const AttemptRecord& record = context.record();
  for (const record::Rejection& rejection : record.rejections) rejectors.emplace(rejection.plugin);
  for (const record::PluginReasons& part : record.row_reasons) rejectors.emplace(part.plugin);
  context.result.rejectors.assign(rejectors.begin(), rejectors.end());
  std::vector<std::string>& pending = context.result.pending;
  for (const std::size_t plugin : context.buffers.verdicts.pending) {
    const std::string name(context.profile.filters()[plugin]->Name());
    if (std::ranges::find(pending, name) == pending.end()) pending.push_back(name);
  }
}

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
  PostFilterRun(SchedulingContext& context, Random* rng)
      : context_(context), rng_(rng), protections_(context.profile.eviction_protections()) {}

  void RunFilters(const Attempt& attempt, const RowSet& candidates, framework::FilterOutcome& out) override {
    profile().RunFiltersForDryRun(attempt, table(), *context_.pre_filter, context_.buffers.nominations,
                                  candidates, out);
    for (const framework::FilterOutcome::Rejection& rejection : out.all()) NoteRejector(rejection.plugin);
    for (const framework::FilterOutcome::PluginReasons& part : out.row_reasons) NoteRejector(part.plugin);
  }
  Status AddPod(const Attempt& attempt, const cluster::PlacedPod& added, Row row) override {
    return profile().RunAddPod(attempt, *context_.pre_filter, added, row);
  }
  Status RemovePod(const Attempt& attempt, const cluster::PlacedPod& removed, Row row) override {
    return profile().RunRemovePod(attempt, *context_.pre_filter, removed, row);
  }
  bool has_extensions() const override { return profile().HasExtensions(*context_.pre_filter); }
  cluster::NodeTable& table() override { return context_.cluster.nodes; }
  Random* rng() override { return rng_; }
  framework::EvictionProtections& protections() override { return protections_; }

  // Filters that rejected a node without its victims, and may accept it later although no object changes.
  const std::vector<std::string_view>& rejectors() const { return rejectors_; }

 private:
  const runtime::Profile& profile() const { return context_.profile; }
  // As in kube-scheduler, those whose results follow from objects are not noted.
  void NoteRejector(std::size_t filter) {
    const framework::FilterPlugin& plugin = *profile().filters()[filter];
    if (plugin.StateIsDerived() || std::ranges::find(rejectors_, plugin.Name()) != rejectors_.end()) return;
    rejectors_.push_back(plugin.Name());
  }

  SchedulingContext& context_;
  Random* rng_;
  framework::EvictionProtections protections_;
  std::vector<std::string_view> rejectors_;
};

ScheduleResult SchedulingAlgorithm::Schedule(const cluster::PodInfo& pod, const runtime::Profile& profile,
                                             const ClusterView& cluster,
                                             std::span<const runtime::Nomination> nominations) {
  return Decide(pod, profile, cluster, nullptr, RecordedScores::kAll, nominations, {}, [&](Context& context) {
    if (profile.has_post_filters()) {
      RunPostFilters(context);
    } else {
      context.result.nominate = "";
    }
  });
}

void SchedulingAlgorithm::PreviewPostFilter(const cluster::PodInfo& pod, const runtime::Profile& profile,
                                            const ClusterView& cluster,
                                            std::span<const runtime::Nomination> nominations,
                                            const VisitPostFilter& visit) {
  Decide(pod, profile, cluster, nullptr, RecordedScores::kNone, nominations, {}, [&](Context& context) {
    const framework::FilterOutcome verdicts = VerdictsForPostFilter(context);
    RowSet potential = cluster.nodes.all();
    potential -= verdicts.unresolvable;
    visit(potential, [&](const RowSet& rows) {
      framework::FilterOutcome limited = verdicts;
      limited.unresolvable = cluster.nodes.all();
      limited.unresolvable -= rows;
      limited.unresolvable |= verdicts.unresolvable;
      PostFilterRun services(context, nullptr);
      return profile.RunPostFilter(context.attempt, limited, services);
    });
  });
}

ScheduleResult SchedulingAlgorithm::ScheduleMember(const cluster::PodInfo& pod,
                                                   const runtime::Profile& profile,
                                                   const ClusterView& cluster, const RowSet& within,
                                                   RecordedScores recorded,
                                                   std::span<const runtime::Nomination> nominations) {
  const bool everywhere = within == cluster.nodes.all();
  framework::CycleState state;
  state.in_group_cycle = true;
  return Decide(pod, profile, cluster, everywhere ? nullptr : &within, recorded, nominations,
                std::move(state), [](Context&) {});
}

namespace {

// Filters that were skipped in the earlier decision are skipped again.
void RunPreFilterAgain(SchedulingContext& context, const ScheduleResult& earlier) {
  runtime::PreFilterOutcome& pre_filter =
      context.pre_filter.emplace(context.profile.RunPreFilter(context.attempt));
  pre_filter.skipped_filters.Add(earlier.skipped_filters);
  pre_filter.skipped_extensions.Add(earlier.skipped_extensions);
}

// Whether the filters accept this row, with nominated pods. `attempt` has the cycle state that they use.
bool PassesOn(Row row, SchedulingContext& context, const framework::Attempt& attempt) {
  SchedulingContext::Buffers& buffers = context.buffers;
  RowSet alone(context.cluster.nodes.rows());
  alone.Add(row);
  context.profile.RunFiltersForDryRun(attempt, context.cluster.nodes, *context.pre_filter,
                                      buffers.nominations, alone, buffers.verdicts);
  return !buffers.verdicts.feasible.Empty();
}

}  // namespace

SchedulingAlgorithm::MemberTest::MemberTest(const cluster::PodInfo& pod, const ScheduleResult& earlier,
                                            const runtime::Profile& profile, const ClusterView& cluster)
    : context_(pod, profile, cluster, nullptr, RecordedScores::kNone, buffers_, result_) {
  result_.state.in_group_cycle = true;
  RunPreFilterAgain(context_, earlier);
}

Status SchedulingAlgorithm::MemberTest::Add(const cluster::PlacedPod& pod, Row row) {
  return context_.profile.RunAddPod(context_.attempt, *context_.pre_filter, pod, row);
}
Status SchedulingAlgorithm::MemberTest::Remove(const cluster::PlacedPod& pod, Row row) {
  return context_.profile.RunRemovePod(context_.attempt, *context_.pre_filter, pod, row);
}

std::optional<framework::CycleState> SchedulingAlgorithm::MemberTest::FitsOn(
    Row row, std::span<const runtime::Nomination> nominations) {
  if (!context_.pre_filter->status.ok()) return std::nullopt;
  SelectNominations(context_, nominations);
  framework::CycleState state = result_.state.Clone();
  if (!PassesOn(row, context_, context_.attempt.With(state))) return std::nullopt;
  return state;
}

// For pods whose filters evaluate only the row: the cycle state of the decision would be the same.
std::optional<framework::CycleState> SchedulingAlgorithm::FitsOn(
    Row row, const cluster::PodInfo& pod, const ScheduleResult& earlier, const runtime::Profile& profile,
    const ClusterView& cluster, std::span<const runtime::Nomination> nominations) {
  ScheduleResult result;
  result.state.in_group_cycle = true;
  SchedulingContext context(pod, profile, cluster, nullptr, RecordedScores::kNone, buffers_, result);
  SelectNominations(context, nominations);
  RunPreFilterAgain(context, earlier);
  if (!context.pre_filter->status.ok() || !PassesOn(row, context, context.attempt)) return std::nullopt;
  return std::move(result.state);
}

// `state`: what the plugins find at the beginning. `post_filter` is called if no node fits.
template <class PostFilter>
ScheduleResult SchedulingAlgorithm::Decide(const cluster::PodInfo& pod, const runtime::Profile& profile,
                                           const ClusterView& cluster, const RowSet* within,
                                           RecordedScores recorded,
                                           std::span<const runtime::Nomination> nominations,
                                           framework::CycleState state, PostFilter&& post_filter) {
  ScheduleResult result;
  result.state = std::move(state);
  result.record = std::make_shared<AttemptRecord>();
  SchedulingContext context(pod, profile, cluster, within, recorded, buffers_, result);
  SelectNominations(context, nominations);
  if (!extenders_->empty()) extenders_->BeginDecision();
  SelectNode(context);
  if (context.no_fit) {
    result.record->result = Result::kUnschedulable;
    post_filter(context);
    result.record->message = FitErrorMessage(*result.record, reasons_);
  }
  if (context.pre_filter) {
    result.skipped_filters = std::move(context.pre_filter->skipped_filters);
    result.skipped_extensions = std::move(context.pre_filter->skipped_extensions);
  }
  if (extenders_->empty()) return result;
  result.abandoned = extenders_->wait_cancelled();
  for (extenders::ExtenderError& error : extenders_->TakeErrors()) {
    result.record->extenders.errors.push_back(
        {std::move(error.extender), std::move(error.verb), std::move(error.error)});
  }
  return result;
}

void SchedulingAlgorithm::SelectNode(Context& context) {
  AttemptRecord& record = context.record();
  record.pod = context.pod.key;
  record.scheduler_name = context.profile.name();
  record.nodes = context.cluster.names;
  record.all = context.cluster.names->rows;
  if (context.within != nullptr) record.all = *context.within;
  if (record.all.Empty()) {
    record.result = Result::kUnschedulable;
    record.message = "no nodes available to schedule pods";
    context.result.nominate = "";
    return;
  }
  if (runtime::MetricsRecorder* metrics = context.profile.metrics_recorder()) metrics->BeginAttempt();
  if (!FindFeasible(context)) return;

  const bool several = record.feasible.get().HasMoreThan(1) && !context.only_nominated;
  if (several && context.cached != nullptr) {
    if (context.cached->Rank(context.attempt)) {
      record.result = Result::kScheduled;
      record.node = context.result.row = ChooseFromCache(context);
      return;
    }
    cache_->Invalidate(context.pod.shape);
  }
  if (context.only_nominated) {
    record.best.Add(context.cluster.nodes.Find(context.pod.nominated));
  } else if (!several) {
    record.best = record.feasible;
  } else if (const Status status = ScoreFeasible(context); !status.ok()) {
    return Fail(context, status.Message());
  }
  record.result = Result::kScheduled;
  record.node = context.result.row = Choose(record);
}

// --- filter ---

// Returns true if at least one node is feasible.
bool SchedulingAlgorithm::FindFeasible(Context& context) {
  const runtime::Profile& profile = context.profile;
  AttemptRecord& record = context.record();
  framework::FilterOutcome& verdicts = context.buffers.verdicts;
  context.cached = Lookup(context);
  const runtime::PreFilterOutcome& pre_filter =
      context.pre_filter.emplace(context.cached != nullptr ? context.cached->RunPreFilter(context.attempt)
                                                           : profile.RunPreFilter(context.attempt));
  if (!PassesPreFilter(context)) return false;
  if (context.cached != nullptr) {
    if (!pre_filter.narrowed && context.cached->Evaluate(context.attempt, pre_filter))
      return FindFeasibleInCache(context);
    cache_->Invalidate(context.pod.shape);
    context.cached = nullptr;
  }

  const RowSet candidates = Candidates(context);
  if (context.pod.nominated.known()) EvaluateNominatedNode(context, candidates);
  profile.RunFilters(context.attempt, context.cluster.nodes, pre_filter, context.buffers.nominations,
                     candidates, verdicts);
  if (!verdicts.errors.empty() && !context.only_nominated) {
    Fail(context, FirstError(context).Message());
    return false;
  }
  RecordVerdicts(context);
  if (options_.explanations) RecordDetails(context);
  if (pre_filter.narrowed) RecordExcluded(context, candidates);
  if (record.feasible.Empty()) {
    AdvanceStart(context, candidates.Count());
    RecordRejectors(context);
    context.no_fit = true;
    return false;
  }
  if (context.only_nominated) return true;
  Sample(context, candidates);
  return extenders_->empty() || RunExtenderFilters(context);
}

bool SchedulingAlgorithm::FindFeasibleInCache(Context& context) {
  context.cached->RecordVerdicts(context.record());
  if (!context.record().feasible.Empty()) return true;
  context.buffers.verdicts = context.cached->verdicts();
  RecordRejectors(context);
  context.no_fit = true;
  return false;
}

// The equivalence cache stores results for all nodes in their current state. It is not used with nominated
// pods, sampling, extenders, or for a pod with a limited set of nodes.
equivalence_cache::EquivalenceClass* SchedulingAlgorithm::Lookup(const Context& context) {
  const cluster::PodInfo& pod = context.pod;
  const bool limits_nodes = pod.node_name.known() || pod.nominated.known() || pod.selection().limits_names;
  if (!cache_ || !extenders_->empty() || options_.explanations || !context.buffers.nominations.empty() ||
      limits_nodes || context.within != nullptr || !EvaluatesAllNodes(context.profile))
    return nullptr;
  return cache_->Lookup(pod.shape, context.profile);
}

bool SchedulingAlgorithm::PassesPreFilter(Context& context) {
  const Status& status = context.pre_filter->status;
  if (status.ok()) return true;
  if (!status.rejected()) {
    Fail(context, status.Message());
    return false;
  }
  // If several plugins limit the nodes to sets without a common node, they reject the pod together.
  std::vector<std::string>& rejectors = context.result.rejectors;
  rejectors = context.pre_filter->narrowing;
  std::ranges::sort(rejectors);
  std::string plugin(status.plugin);
  if (plugin.empty()) {
    plugin = fmt::format("{}", fmt::join(rejectors, ","));
  } else if (std::ranges::find(rejectors, plugin) == rejectors.end()) {
    rejectors.push_back(plugin);
  }
  context.record().pre_filter = record::PreFilterRejection{status.code, std::move(plugin), status.reasons};
  context.buffers.verdicts.Reset({});
  context.no_fit = true;
  return false;
}

// Like kube-scheduler, evaluates status.nominatedNodeName before all other nodes, even if PreFilter excluded
// it, and ends the search if it passes.
void SchedulingAlgorithm::EvaluateNominatedNode(Context& context, const RowSet& candidates) {
  const Row row = context.cluster.nodes.Find(context.pod.nominated);
  if (row == cluster::kNoRow || (context.within != nullptr && !context.within->Has(row))) return;
  RowSet alone(context.cluster.nodes.rows());
  alone.Add(row);
  const framework::FilterOutcome& verdicts = context.buffers.verdicts;
  const auto filters = context.profile.filters();
  context.profile.RunFilters(context.attempt, context.cluster.nodes, *context.pre_filter,
                             context.buffers.nominations, alone, context.buffers.verdicts);
  context.only_nominated = !verdicts.feasible.Empty();
  if (verdicts.used > 0) context.nominated_rejector = filters[verdicts.all().back().plugin]->Name();
  if (!verdicts.row_reasons.empty())
    context.nominated_rejector = filters[verdicts.row_reasons.back().plugin]->Name();
  // The general search does not evaluate this node, so its result is recorded here.
  if (!candidates.Has(row)) RecordVerdicts(context);
  if (context.only_nominated && !extenders_->empty())
    context.only_nominated = NominatedNodePassesExtenders(context, alone);
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

// The next sampled search starts after the nodes that this one has visited. A search that PreFilter limits
// advances the start, too, by the number of its nodes.
void SchedulingAlgorithm::AdvanceStart(const Context& context, std::size_t visited) {
  const std::size_t nodes =
      context.within == nullptr ? context.cluster.visiting_order.size() : context.within->Count();
  BERTH_CHECK(visited <= nodes, visited, nodes);
  next_start_ = (next_start_ + visited) % nodes;
}

// Limits the feasible nodes to those at which kube-scheduler would have stopped. It visits nodes in rotation,
// starting where the last search ended, until it has found a percentage of all nodes.
void SchedulingAlgorithm::Sample(Context& context, const RowSet& candidates) {
  const runtime::Profile& profile = context.profile;
  const std::size_t searched = candidates.Count();
  if (EvaluatesAllNodes(profile) || searched < kFeasibleMin) return AdvanceStart(context, searched);
  std::vector<Row> placement;  // the nodes of a placement are a list of their own
  auto order = context.cluster.visiting_order;
  if (context.within != nullptr) {
    std::ranges::copy_if(order, std::back_inserter(placement),
                         [&](Row row) { return context.within->Has(row); });
    order = placement;
  }
  const std::size_t share = NodesToFind(
      profile.percentage_of_nodes_to_score().value_or(options_.percentage_of_nodes_to_score), searched);
  // Without scores the first feasible node is selected.
  const bool any_node = profile.scores().empty() &&
                        (extenders_->empty() || (!extenders_->filter() && !extenders_->prioritize()));
  const std::size_t wanted = any_node ? 1 : share;
  RowSet& feasible = context.record().feasible.Own();
  RowSet kept(context.cluster.nodes.rows());
  std::size_t found = 0;
  std::size_t visited = 0;  // only nodes of the search advance the start
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Row row = order[(next_start_ + i) % order.size()];
    if (!candidates.Has(row)) continue;
    if (feasible.Has(row)) {
      // kube-scheduler notices that it has found enough nodes at the next feasible one, which does not count.
      if (found == wanted) break;
      kept.Add(row);
      ++found;
    }
    ++visited;
  }
  AdvanceStart(context, visited);
  context.record().sampled = kept.Count() < feasible.Count();
  feasible = kept;
}

// --- no node is feasible ---

void SchedulingAlgorithm::RunPostFilters(Context& context) {
  AttemptRecord& record = context.record();
  const framework::FilterOutcome verdicts = VerdictsForPostFilter(context);
  PostFilterRun services(context, options_.tie_break == TieBreak::kRandom ? &random_ : nullptr);
  framework::PostFilterResult answer = context.profile.RunPostFilter(context.attempt, verdicts, services);
  if (answer.status.code == framework::Code::kError) {
    log::Error("Status after running PostFilter plugins for pod",
               {{"pod", context.pod.key}, {"status", answer.status.Message()}});
  }
  record.post_filter = answer.status.Message();
  if (options_.explanations) {
    for (const auto& [reason, nodes] : answer.refusals) record.preemption_refusals.push_back({reason, nodes});
  }
  if (answer.eviction) {
    std::vector<std::string> victims;
    for (const api::PodPtr& victim : answer.eviction->victims) victims.push_back(victim->metadata.Key());
    std::ranges::sort(victims);
    const std::string node = answer.nominate.value_or("");
    record.nomination = record::Nomination{node, std::move(victims), std::move(answer.eviction->choices)};
    context.result.preemption = Preemption{std::string(answer.status.plugin), node,
                                           std::move(answer.eviction->victims), answer.eviction->violations};
  }
  context.result.nominate = std::move(answer.nominate);
  if (!answer.status.ok()) {
    framework::AddRejectors(services.protections().rejectors(), context.result.rejectors);
    framework::AddRejectors(services.rejectors(), context.result.rejectors);
  }
}

// --- score ---

Status SchedulingAlgorithm::ScoreFeasible(Context& context) {
  Context::Buffers& buffers = context.buffers;
  Status status = context.profile.RunScores(context.attempt, context.record().feasible,
                                            context.cluster.visiting_order, buffers.columns, buffers.skipped);
  if (!status.ok()) return status;
  CollectParts(context);
  if (context.recorded_scores == RecordedScores::kAll) RecordScores(context);
  ChooseBest(context);
  return {};
}

// A column that is equal for all rows does not affect the choice. RunScores has converted the others to
// bytes.
void SchedulingAlgorithm::CollectParts(Context& context) {
  const auto plugins = context.profile.scores();
  Context::Buffers& buffers = context.buffers;
  buffers.parts.clear();
  for (std::size_t i = 0; i < plugins.size(); ++i) {
    if (const framework::ScoreColumn& column = buffers.columns[i];
        !buffers.skipped.Has(i) && !column.uniform())
      buffers.parts.push_back({column.bytes(), plugins[i].weight});
  }
}

void SchedulingAlgorithm::RecordScores(Context& context) const {
  const auto plugins = context.profile.scores();
  Context::Buffers& buffers = context.buffers;
  AttemptRecord& record = context.record();
  record.scored = true;
  record.base_total = plugins.empty() && extenders_->empty() ? 1 : 0;
  boost::container::small_vector<record::ScoresView, 8> scores;
  for (const std::size_t i : context.profile.scores_by_name()) {
    if (buffers.skipped.Has(i)) continue;
    const auto& [plugin, weight] = plugins[i];
    record::ScoresView& kept = scores.emplace_back();
    kept.plugin = plugin->Name();
    kept.weight = weight;
    if (options_.explanations) {
      if (const auto* made_of = dynamic_cast<const framework::ScorePartsPlugin*>(plugin))
        kept.parts = made_of->ScoreParts(context.attempt, record.feasible);
    }
    const framework::ScoreColumn& column = buffers.columns[i];
    if (column.uniform()) {
      kept.uniform = static_cast<std::uint8_t>(column.uniform_value());
    } else {
      kept.values = column.bytes();
    }
  }
  record.scores = record::ScoreSnapshot(scores, record.feasible);
}

void SchedulingAlgorithm::ChooseBest(Context& context) {
  Context::Buffers& buffers = context.buffers;
  AttemptRecord& record = context.record();
  const std::size_t rows = context.cluster.nodes.rows();
  RowSet& best = record.best.Own();
  best.Resize(rows);
  if (extenders_->empty() && AreLight(buffers.parts)) {
    AddBestByScores(buffers.parts, record.feasible, rows, buffers.light_totals, best);
    return;
  }
  for (const auto& [scores, weight] : buffers.parts)
    BERTH_CHECK(scores.size() >= rows, scores.size(), rows, weight);
  buffers.totals.assign(rows, 0);
  for (const auto& [scores, weight] : buffers.parts)
    AddWeighted(scores, static_cast<std::uint32_t>(weight), buffers.totals);
  RowSet preferred;
  if (!extenders_->empty()) AddContributions(context, preferred);
  AddBest(buffers.totals, record.feasible, best);
  // kube-scheduler prefers, of equal nodes, those that an extender has scored.
  RowSet scored_by_extender = best;
  scored_by_extender &= preferred;
  if (!scored_by_extender.Empty()) best = std::move(scored_by_extender);
}

// --- choice ---

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
Row SchedulingAlgorithm::ChooseFromCache(Context& context) {
  equivalence_cache::EquivalenceClass& cached = *context.cached;
  AttemptRecord& record = context.record();
  cached.KeepScores(record);
  if (options_.tie_break == TieBreak::kRandom)
    return static_cast<Row>(cached.best().Nth(random_.Below(cached.best().Count())));
  record.best = cached.best().All();
  return Choose(record);
}

}  // namespace berth::algorithm
