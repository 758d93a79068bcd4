#include "tools/shadow/evaluator.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <ranges>

#include "scheduler/framework/allocation_preview.hpp"

namespace berth::shadow {

using cluster::Row;
using record::AttemptRecord;

namespace {

algorithm::AlgorithmOptions WholeCluster() {
  return {
      .percentage_of_nodes_to_score = 100, .sample = false, .tie_break = algorithm::TieBreak::kFirstByName};
}

// The number of nodes that a message of a failed attempt gives for each reason; 0 for its other parts.
using NodeCounts = std::map<std::string_view, std::int64_t>;

NodeCounts NodesByReason(std::string_view message) {
  NodeCounts counts;
  std::size_t begin = 0;
  while (begin < message.size()) {
    const std::size_t end = std::min(message.find_first_of(",:.", begin), message.size());
    std::string_view part = message.substr(begin, end - begin);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    std::int64_t count = 0;
    std::from_chars(part.data(), part.data() + part.size(), count);
    part.remove_prefix(std::min(part.find_first_not_of(" 0123456789/"), part.size()));
    if (!part.empty()) counts[part] += count;
    begin = end + 1;
  }
  return counts;
}

std::vector<ScorePart> PartsOf(const AttemptRecord& record, Row reference, Row candidate) {
  std::vector<ScorePart> parts;
  for (const auto& scores : record.scores.plugins()) {
    const std::int64_t a = scores[reference], b = scores[candidate];
    if (a != b) parts.push_back({std::string(scores.plugin()), scores.weight(), a, b});
  }
  return parts;
}

}  // namespace

std::string ReasonsWithoutCounts(std::string_view message) {
  return fmt::format("{}", fmt::join(NodesByReason(message) | std::views::keys, "|"));
}

std::int64_t DifferenceOfCounts(std::string_view one, std::string_view other) {
  const auto split = [](std::string_view message) {
    const std::size_t at = std::min(message.find("preemption:"), message.size());
    return std::array{NodesByReason(message.substr(0, at)), NodesByReason(message.substr(at))};
  };
  const auto ones = split(one), others = split(other);
  std::int64_t difference = 0;
  for (std::size_t part = 0; part < ones.size(); ++part) {
    NodeCounts counts = ones[part];
    for (const auto& [reason, count] : others[part]) counts[reason] -= count;
    for (const auto& [reason, count] : counts) difference += std::abs(count);
  }
  return difference;
}

struct Evaluator::Evaluation {
  const cluster::PodInfo& pod;
  const runtime::Profile& profile;
  const std::span<const runtime::Nomination> nominations;
  algorithm::ScheduleResult decision = {};
  const AttemptRecord& record() const { return *decision.record; }
};

// As long as it lives, the cache has the claims as they were before they were allocated.
class Evaluator::WithoutAllocations {
 public:
  WithoutAllocations(cluster::ClusterObjects& objects, std::span<const AllocatedClaim> claims)
      : objects_(objects) {
    for (const AllocatedClaim& claim : claims) {
      const api::ObjectMeta& meta = claim.allocated->metadata;
      const ResourceClaimPtr current = objects_.Of<api::ResourceClaim>().Find(meta.ns, meta.name);
      if (current == nullptr || current->metadata.uid != meta.uid) continue;
      if (claim.unallocated != nullptr && !current->allocation) continue;
      undo_.push_back({claim.unallocated, current});
      objects_.Apply(ports::Change<api::ResourceClaim>{current, claim.unallocated});
    }
  }
  ~WithoutAllocations() {
    for (const auto& change : undo_ | std::views::reverse) objects_.Apply(change);
  }
  WithoutAllocations(const WithoutAllocations&) = delete;
  WithoutAllocations& operator=(const WithoutAllocations&) = delete;

 private:
  cluster::ClusterObjects& objects_;
  std::vector<ports::Change<api::ResourceClaim>> undo_;
};

Evaluator::Evaluator(assembly::Engine& engine, std::int64_t percentage)
    : engine_(engine),
      percentage_(percentage),
      algorithm_(WholeCluster(), engine.reasons(), engine.extenders()) {}

Comparison Evaluator::Compare(const cluster::PodInfo& pod, const runtime::Profile& profile,
                              const Choice& reference, std::span<const runtime::Nomination> nominations,
                              std::span<const AllocatedClaim> claims) {
  const WithoutAllocations pending(engine_.cache().objects(), claims);
  Comparison comparison;
  comparison.pod = pod.key;
  comparison.profile = profile.name();
  comparison.reference = reference;
  if (const framework::Status gate = profile.RunPreEnqueue(pod); !gate.ok()) {
    comparison.outcome = reference.bound() ? Outcome::kInfeasible : Outcome::kMessage;
    comparison.plugin = gate.plugin;
    comparison.reason = comparison.candidate.message = gate.Message();
    return comparison;
  }
  Evaluation trial{pod, profile, nominations};
  trial.decision = algorithm_.Schedule(pod, profile, view_.Of(engine_.cache()), nominations);
  const AttemptRecord& record = trial.record();
  comparison.nodes = record.all.Count();
  comparison.feasible = record.feasible.Count();
  if (record.result == record::Result::kScheduled) {
    comparison.candidate.node = record.SelectedNode();
    comparison.equal_best = record.Best().Count();
  } else {
    comparison.candidate.message = record.message;
    comparison.candidate.nominated = trial.decision.nominate.value_or(pod.pod->status.nominated_node_name);
    if (record.nomination) comparison.victims = record.nomination->victims;
  }
  if (record.result == record::Result::kError) {
    comparison.reason = record.message;
  } else if (reference.bound()) {
    CompareNodes(trial, comparison);
    if (comparison.settled() && !claims.empty()) CompareDevices(trial, claims, comparison);
  } else {
    CompareFailures(trial, comparison);
  }
  return comparison;
}

void Evaluator::CompareNodes(const Evaluation& trial, Comparison& comparison) {
  const AttemptRecord& record = trial.record();
  const cluster::NodeTable& nodes = engine_.cache().nodes();
  const Row reference = nodes.Find(comparison.reference.node);
  if (reference == cluster::kNoRow || !record.feasible.Has(reference)) {
    comparison.outcome = Outcome::kInfeasible;
    if (reference == cluster::kNoRow) {
      comparison.reason = "the node is not in Berth's cache";
    } else if (record.pre_filter) {
      comparison.plugin = record.pre_filter->plugin;
      comparison.reason = fmt::format("{}", fmt::join(record.pre_filter->reasons, ", "));
    } else if (record.excluded.Has(reference)) {
      comparison.plugin = record.excluding_plugins;
      comparison.reason = record.exclusion_reason;
    } else {
      std::string_view plugin;
      const auto reasons = record.ReasonsOf(reference, engine_.reasons(), plugin);
      comparison.plugin = plugin;
      comparison.reason = fmt::format("{}", fmt::join(reasons, ", "));
    }
    return;
  }
  const RowSet best = record.Best();
  if (best.Has(reference)) {
    comparison.outcome = best.HasMoreThan(1) ? Outcome::kTie : Outcome::kSame;
    return;
  }
  if (!record.scored) {  // the search ended at the pod's nominated node, which fits
    comparison.outcome = Outcome::kNomination;
    comparison.reason = fmt::format("the pod is nominated to {}, which fits", comparison.candidate.node);
    return;
  }
  NoteTotals(record, reference, comparison);
  const auto sampled = Sampled(trial, reference, comparison);
  comparison.outcome = sampled ? Outcome::kSampled : Outcome::kWorse;
  comparison.because = sampled.value_or("");
}

// The other scheduler's node may be one of several best ones, so its devices are compared there.
void Evaluator::CompareDevices(Evaluation& trial, std::span<const AllocatedClaim> claims,
                               Comparison& comparison) const {
  const framework::AllocationPreviewPlugin* plugin = nullptr;
  for (framework::FilterPlugin* filter : trial.profile.filters()) {
    if (const auto* found = dynamic_cast<const framework::AllocationPreviewPlugin*>(filter)) plugin = found;
  }
  if (plugin == nullptr) return;
  const auto previews =
      plugin->PreviewAllocations({trial.pod, comparison.reference.node, trial.decision.state});
  std::vector<std::string> reference, candidate;
  for (const AllocatedClaim& claim : claims) {
    const std::string key = claim.allocated->metadata.Key();
    reference.push_back(DevicesText(key, *claim.allocated->allocation));
    if (!previews) continue;
    const auto preview = std::ranges::find_if(*previews, [&](const framework::PreviewedAllocation& one) {
      return claim.unallocated == nullptr ? one.for_extended_resources
                                          : one.claim_uid == claim.allocated->metadata.uid;
    });
    candidate.push_back(preview == previews->end() ? key + ": none" : DevicesText(key, *preview->allocation));
  }
  comparison.reference.devices = fmt::format("{}", fmt::join(reference, "; "));
  comparison.candidate.devices =
      previews ? fmt::format("{}", fmt::join(candidate, "; ")) : previews.error().message;
  if (comparison.reference.devices == comparison.candidate.devices) return;
  comparison.outcome = Outcome::kDevices;
  comparison.plugin = plugin->Name();
  comparison.reason = "other devices";
}

void Evaluator::NoteTotals(const AttemptRecord& record, Row reference, Comparison& comparison) const {
  comparison.reference_total = record.Total(reference);
  comparison.candidate_total = record.Total(record.node);
  record.feasible.ForEach([&](std::size_t row) {
    comparison.better += record.Total(static_cast<Row>(row)) > comparison.reference_total;
  });
  comparison.parts = PartsOf(record, reference, record.node);
  const auto loss = [](const ScorePart& part) { return (part.candidate - part.reference) * part.weight; };
  if (const auto most = std::ranges::max_element(comparison.parts, {}, loss);
      most != comparison.parts.end()) {
    comparison.plugin = most->plugin;
    comparison.reason = "lower score";
  }
}

void Evaluator::CompareFailures(const Evaluation& trial, Comparison& comparison) const {
  const AttemptRecord& record = trial.record();
  if (record.result == record::Result::kScheduled) {
    comparison.outcome = Outcome::kPlaceable;
    comparison.reason = fmt::format("{} of {} nodes fit", comparison.feasible, comparison.nodes);
    return;
  }
  const Choice& reference = comparison.reference;
  const bool equally_good = record.nomination && !reference.nominated.empty() &&
                            record.nomination->choices.Has(engine_.cache().nodes().Find(reference.nominated));
  // Without a new nomination Berth keeps the present one, whatever it is.
  const bool same_nomination =
      !trial.decision.nominate || reference.nominated == comparison.candidate.nominated;
  if (equally_good || (reference.message == record.message && same_nomination)) {
    comparison.outcome = Outcome::kUnschedulable;
  } else if (!same_nomination) {
    comparison.outcome = Outcome::kNomination;
    comparison.reason = record.post_filter;
  } else if (ReasonsWithoutCounts(reference.message) == ReasonsWithoutCounts(record.message)) {
    comparison.outcome = Outcome::kCounts;
    comparison.because = fmt::format("Berth's message: \"{}\"", record.message);
  } else {
    comparison.outcome = Outcome::kMessage;
    comparison.reason = record.message;
  }
}

// If more nodes are better than the sample leaves out, every sample contains one of them.
std::optional<std::string> Evaluator::Sampled(const Evaluation& trial, Row reference,
                                              const Comparison& comparison) {
  const AttemptRecord& record = trial.record();
  const std::size_t searched = comparison.nodes - record.excluded.Count();
  const std::size_t wanted = algorithm::NodesToFind(PercentageOf(trial.profile), searched);
  if (wanted >= comparison.feasible || comparison.better > comparison.feasible - wanted) return std::nullopt;
  std::string why =
      fmt::format("kube-scheduler scores only {} of the {} nodes that fit, {} have a higher score", wanted,
                  comparison.feasible, comparison.better);
  if (const auto run = RunThatPrefers(trial, reference, wanted)) why += ", and this node is the best " + *run;
  return why;
}

// kube-scheduler visits nodes in a fixed order. Evaluates runs of nodes around the other scheduler's choice
// that contain no better node, if they are long enough. Needed because scores are normalised over the visited
// nodes.
std::optional<std::string> Evaluator::RunThatPrefers(const Evaluation& trial, Row reference,
                                                     std::size_t wanted) {
  constexpr std::size_t kTries = 4;
  const AttemptRecord& record = trial.record();
  const auto order = engine_.cache().VisitingOrder();
  const std::size_t count = order.size();
  const auto at = static_cast<std::size_t>(std::ranges::find(order, reference) - order.begin());
  if (at == count) return std::nullopt;
  const std::int64_t total = record.Total(reference);
  // The number of steps back or forward from that node without a better node.
  const auto reach = [&](std::size_t step) {
    std::size_t steps = 0, row = at;
    while (steps + 1 < count) {
      row = (row + step) % count;
      if (record.feasible.Has(order[row]) && record.Total(order[row]) > total) break;
      ++steps;
    }
    return steps;
  };
  const std::size_t back = reach(count - 1);
  for (std::size_t i = 0; i < kTries; ++i) {
    const std::size_t start = (at + count - back * (kTries - i) / kTries) % count;
    if (BestOfRun(trial, reference, start))
      return fmt::format("of the {} starting with {}", wanted, record.nodes->by_row[order[start]]);
  }
  return std::nullopt;
}

bool Evaluator::BestOfRun(const Evaluation& trial, Row reference, std::size_t start) {
  algorithm::ClusterView view = view_.Of(engine_.cache());
  std::vector<Row> turned(view.visiting_order.begin(), view.visiting_order.end());
  view.visiting_order = turned;
  std::ranges::rotate(turned, turned.begin() + static_cast<std::ptrdiff_t>(start));
  algorithm::AlgorithmOptions options = WholeCluster();
  options.percentage_of_nodes_to_score = percentage_;
  options.sample = options.adaptive = true;
  algorithm::SchedulingAlgorithm algorithm(options, engine_.reasons(), engine_.extenders());
  const algorithm::ScheduleResult decision =
      algorithm.Schedule(trial.pod, trial.profile, view, trial.nominations);
  return decision.record->result == record::Result::kScheduled && decision.record->Best().Has(reference);
}

}  // namespace berth::shadow
