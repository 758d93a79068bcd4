#include "scheduler/plugins/node_affinity/node_affinity.hpp"

#include <fmt/format.h>

#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/plugins/node_affinity/matching_rows.hpp"

namespace berth::plugins {
namespace {

using framework::Attempt;

void AddWeights(const std::vector<cluster::CompiledPreference>& preferences, const Attempt& attempt,
                const RowSet& feasible, framework::ScoreColumn& scores) {
  for (const cluster::CompiledPreference& preference : preferences) {
    auto rows = attempt.Scratch();
    *rows |= feasible;
    RestrictToTerm(preference.term, attempt, *rows);
    if (!rows->Empty()) scores.Add(*rows, preference.weight);
  }
}

}  // namespace

framework::PluginOrError NodeAffinity::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const NodeAffinityArgs args, ParseNodeAffinityArgs(raw));
  return std::make_unique<NodeAffinity>(args, handle);
}

NodeAffinity::NodeAffinity(const NodeAffinityArgs& args, framework::Handle& handle)
    : symbols_(handle.symbols),
      pod_reason_(handle.reasons.Intern("node(s) didn't match Pod's node affinity/selector")),
      enforced_reason_(handle.reasons.Intern("node(s) didn't match scheduler-enforced node affinity")),
      has_added_required_(args.added_required.has_value()),
      has_added_preferred_(!args.added_preferred.empty()) {
  cluster::SymbolScope scope(handle.symbols);
  if (args.added_required) {
    for (const api::NodeSelectorTerm& term : args.added_required->terms) {
      added_required_.push_back(cluster::CompileTerm(term, "", nullptr, scope));
    }
  }
  std::string checked_before;
  added_preferred_ = cluster::CompilePreferences(args.added_preferred, &checked_before, scope);
  added_symbols_ = scope.Lease();
}

framework::PreFilterResult NodeAffinity::PreFilter(const Attempt& attempt) const {
  const cluster::NodeSelection& selection = attempt.pod().selection();
  if (!selection.has_required && selection.selector.empty() && !has_added_required_) {
    return {framework::Status::Skip(), std::nullopt};
  }
  if (!selection.limits_names) return {};
  if (selection.names.empty())
    return {framework::Status::Unresolvable("pod affinity terms conflict"), std::nullopt};
  return {{}, selection.names};
}

void NodeAffinity::Filter(const Attempt& attempt, const RowSet& candidates,
                          framework::Rejections& out) const {
  auto matching = attempt.Scratch();
  *matching |= candidates;
  if (has_added_required_) {
    RestrictToAnyTerm(added_required_, attempt, *matching);
    RowSet& rejected = out.Reject(enforced_reason_, attempt.nodes().rows());
    rejected |= candidates;
    rejected -= *matching;
  }
  const cluster::NodeSelection& selection = attempt.pod().selection();
  if (selection.has_required || !selection.selector.empty()) {
    RowSet& rejected = out.Reject(pod_reason_, attempt.nodes().rows());
    rejected |= *matching;
    RestrictToRequired(selection, attempt, *matching);
    rejected -= *matching;
  }
  out.unresolvable() |= candidates;
  out.unresolvable() -= *matching;
}

framework::Status NodeAffinity::PreScore(const Attempt& attempt, const RowSet&) const {
  const cluster::NodeSelection& selection = attempt.pod().selection();
  if (!selection.preferred_error.empty()) return framework::Status::Error(selection.preferred_error);
  return selection.has_preferred || has_added_preferred_ ? framework::Status{} : framework::Status::Skip();
}

framework::Status NodeAffinity::Score(const Attempt& attempt, const RowSet& feasible,
                                      framework::ScoreColumn& scores) const {
  // PreScore reports the error first, unless the profile disables it.
  const cluster::NodeSelection& selection = attempt.pod().selection();
  if (!selection.preferred_error.empty()) return framework::Status::Error(selection.preferred_error);
  AddWeights(added_preferred_, attempt, feasible, scores);
  AddWeights(selection.preferred, attempt, feasible, scores);
  return {};
}

std::vector<framework::EventRegistration> NodeAffinity::EventsToRegister() const {
  using namespace framework;
  return {WhenNode(kAdd | kUpdateNodeLabel,
                   [this](const cluster::PodInfo& pod, const api::Node* before, const api::Node* after) {
                     return AfterNode(pod, before, *after);
                   })};
}

Expected<framework::Hint> NodeAffinity::AfterNode(const cluster::PodInfo& pod, const api::Node* before,
                                                  const api::Node& after) const {
  using framework::Hint;
  if (has_added_required_ && !MatchesAny(added_required_, after, symbols_)) return Hint::kSkip;
  BERTH_TRY(const bool matches, MatchesRequired(pod.selection(), after, symbols_));
  if (!matches) return Hint::kSkip;
  if (before == nullptr) return Hint::kQueue;
  BERTH_TRY(const bool matched, MatchesRequired(pod.selection(), *before, symbols_));
  return matched ? Hint::kSkip : Hint::kQueue;
}

}  // namespace berth::plugins
