#include "plugins/node_affinity/node_affinity.hpp"

#include <fmt/format.h>

#include "plugins/node_affinity/matching_rows.hpp"

namespace berth::plugins {
namespace {

using framework::Attempt;

void AddWeights(const std::vector<framework::CompiledPreference>& preferences, const Attempt& attempt,
                const RowSet& feasible, framework::ScoreColumn& scores) {
  for (const framework::CompiledPreference& preference : preferences) {
    auto rows = attempt.Scratch();
    *rows |= feasible;
    RestrictToTerm(preference.term, attempt, *rows);
    if (rows->Empty()) continue;
    const auto values = scores.Mutable();
    rows->ForEach([&](std::size_t row) { values[row] += preference.weight; });
  }
}

void ReadRequirement(const config::Value& value, const std::string& path, api::NodeSelectorRequirement& out,
                     config::Problems& problems) {
  config::StructReader reader(value, "NodeSelectorRequirement", path, problems);
  reader.Read("key", out.key);
  reader.Read("operator", out.op);
  reader.Read("values", out.values);
  reader.Finish();
}

void ReadTerm(const config::Value& value, const std::string& path, api::NodeSelectorTerm& out,
              config::Problems& problems) {
  config::StructReader reader(value, "NodeSelectorTerm", path, problems);
  reader.Each("matchExpressions", [&](const config::Value& item, const std::string& place) {
    ReadRequirement(item, place, out.match_expressions.emplace_back(), problems);
  });
  reader.Each("matchFields", [&](const config::Value& item, const std::string& place) {
    ReadRequirement(item, place, out.match_fields.emplace_back(), problems);
  });
  reader.Finish();
}

void ReadAddedAffinity(const config::Value& value, const std::string& path, NodeAffinityArgs& out,
                       config::Problems& problems) {
  config::StructReader reader(value, "NodeAffinity", path, problems);
  reader.With("requiredDuringSchedulingIgnoredDuringExecution", [&](const config::Value& selector,
                                                                    const std::string& place) {
    out.added_required.emplace();
    config::StructReader fields(selector, "NodeSelector", place, problems);
    fields.Each("nodeSelectorTerms", [&](const config::Value& item, const std::string& item_place) {
      ReadTerm(item, item_place, out.added_required->terms.emplace_back(), problems);
    });
    fields.Finish();
  });
  reader.Each("preferredDuringSchedulingIgnoredDuringExecution", [&](const config::Value& item,
                                                                     const std::string& place) {
    api::PreferredSchedulingTerm& term = out.added_preferred.emplace_back();
    std::int64_t weight = 0;
    config::StructReader fields(item, "PreferredSchedulingTerm", place, problems);
    fields.Read("weight", weight, "int32");
    fields.With("preference", [&](const config::Value& preference, const std::string& preference_place) {
      ReadTerm(preference, preference_place, term.preference, problems);
    });
    fields.Finish();
    term.weight = static_cast<std::int32_t>(weight);
  });
  reader.Finish();
}

}  // namespace

Expected<NodeAffinityArgs> ParseNodeAffinityArgs(const framework::RawArgs& raw) {
  NodeAffinityArgs args;
  if (raw.value == nullptr) return args;
  config::Problems problems;
  config::StructReader reader(*raw.value, "NodeAffinityArgs", "", problems);
  reader.Take("kind");
  reader.Take("apiVersion");
  reader.With("addedAffinity", [&](const config::Value& value, const std::string& path) {
    ReadAddedAffinity(value, path, args, problems);
  });
  reader.Finish();
  if (!problems.empty()) return Invalid(problems.Text());

  // Building the terms once more here finds the mistakes in their expressions, under the path of the file.
  framework::Vocabulary scratch;
  std::vector<std::string> errors;
  const std::string place = raw.path + ".addedAffinity.";
  if (args.added_required) {
    const std::string path = place + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    for (std::size_t i = 0; i < args.added_required->terms.size(); ++i) {
      framework::CompileTerm(args.added_required->terms[i], fmt::format("{}[{}]", path, i), &errors, scratch);
    }
  }
  for (std::size_t i = 0; i < args.added_preferred.size(); ++i) {
    const std::string path = place + "preferredDuringSchedulingIgnoredDuringExecution";
    framework::CompileTerm(args.added_preferred[i].preference, fmt::format("{}[{}]", path, i), &errors,
                           scratch);
  }
  if (!errors.empty()) return Invalid(api::JoinErrors(errors));
  return args;
}

framework::Made NodeAffinity::Create(const framework::RawArgs& raw, framework::Handle& handle) {
  BERTH_TRY(const NodeAffinityArgs args, ParseNodeAffinityArgs(raw));
  return std::make_unique<NodeAffinity>(args, handle);
}

NodeAffinity::NodeAffinity(const NodeAffinityArgs& args, framework::Handle& handle)
    : vocabulary_(handle.vocabulary),
      pod_reason_(handle.reasons.Intern("node(s) didn't match Pod's node affinity/selector")),
      enforced_reason_(handle.reasons.Intern("node(s) didn't match scheduler-enforced node affinity")),
      has_added_required_(args.added_required.has_value()),
      has_added_preferred_(!args.added_preferred.empty()) {
  if (args.added_required) {
    for (const api::NodeSelectorTerm& term : args.added_required->terms) {
      added_required_.push_back(framework::CompileTerm(term, "", nullptr, handle.vocabulary));
    }
  }
  std::string checked_before;
  added_preferred_ = framework::CompilePreferences(args.added_preferred, &checked_before, handle.vocabulary);
}

framework::PreFilterAnswer NodeAffinity::PreFilter(const Attempt& attempt) const {
  const framework::NodeSelection& selection = attempt.pod().selection;
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
  const framework::NodeSelection& selection = attempt.pod().selection;
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
  const framework::NodeSelection& selection = attempt.pod().selection;
  if (!selection.preferred_error.empty()) return framework::Status::Error(selection.preferred_error);
  return selection.has_preferred || has_added_preferred_ ? framework::Status{} : framework::Status::Skip();
}

framework::Status NodeAffinity::Score(const Attempt& attempt, const RowSet& feasible,
                                      framework::ScoreColumn& scores) const {
  // PreScore finds the mistake first, unless the profile disables it.
  const framework::NodeSelection& selection = attempt.pod().selection;
  if (!selection.preferred_error.empty()) return framework::Status::Error(selection.preferred_error);
  AddWeights(added_preferred_, attempt, feasible, scores);
  AddWeights(selection.preferred, attempt, feasible, scores);
  return {};
}

std::vector<framework::EventRegistration> NodeAffinity::EventsToRegister() const {
  using namespace framework;
  return {WhenNode(
      kAdd | kUpdateNodeLabel, [this](const PodInfo& pod, const api::Node* before, const api::Node* after) {
        if (has_added_required_ && !MatchesAny(added_required_, *after, vocabulary_)) return Hint::kSkip;
        const bool matched = before != nullptr && MatchesRequired(pod.selection, *before, vocabulary_);
        return !matched && MatchesRequired(pod.selection, *after, vocabulary_) ? Hint::kQueue : Hint::kSkip;
      })};
}

}  // namespace berth::plugins
