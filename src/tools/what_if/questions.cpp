#include "tools/what_if/questions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "scheduler/assembly/pod_evaluator.hpp"
#include "scheduler/explanation/explain_pod.hpp"
#include "tools/explain/shape_groups.hpp"
#include "tools/what_if/node_edits.hpp"

namespace berth::what_if {
namespace {

std::string ShownName(const PodSource& source) {
  return fmt::format("{} {}/{}", source.kind == "Pod" ? "pod" : source.kind, source.model.metadata.ns.str(),
                     source.name);
}

// Whether the advice would change a node back: uncordon one that was drained, remove a taint that was added.
// What a later change has undone is no longer required.
bool Undoes(const Scenario& scenario, const api::Node& before, const api::Node& after) {
  return std::ranges::any_of(scenario.changes(), [&](const Change& change) {
    return IsInEffect(change, before) && !IsInEffect(change, after);
  });
}

}  // namespace

Waiting ExplainWaiting(Scenario& scenario, const std::vector<std::size_t>& indices,
                       const explain::TextOptions& text) {
  assembly::PodEvaluator evaluator(scenario.engine());
  std::vector<api::PodPtr> pods;
  TextMap<std::string> problems;  // by UID
  for (const std::size_t index : indices) {
    const FollowedPod& followed = scenario.followed()[index];
    pods.push_back(scenario.Current(followed));
    problems[pods.back()->metadata.uid] = followed.problem;
    if (!pods.back()->status.nominated_node_name.empty()) evaluator.AddNominated(pods.back());
  }
  const auto allows = [&](const api::Node& before, const api::Node& after) {
    return !Undoes(scenario, before, after);
  };
  Waiting waiting;
  std::vector<explain::PodsOfText> explained;
  for (const std::vector<api::PodPtr>& group : explain::GroupByShape(pods)) {
    if (explained.size() == kMostExplained || scenario.stopped()) {
      waiting.not_explained += group.size();
      continue;
    }
    explain::PodsOfText one{.example = explanation::ExplainPod(evaluator, group.front(), allows)};
    one.body = explain::ExplanationBody(one.example, scenario.engine().reasons(), text);
    // A node fits, but the pod was not bound, for example because its volumes cannot be created.
    const std::string& problem = problems.at(group.front()->metadata.uid);
    if (one.example.record->result == record::Result::kScheduled && !problem.empty())
      one.body = fmt::format("  waits nevertheless: {}\n", problem) + one.body;
    for (const api::PodPtr& pod : group) one.pods.push_back(pod->metadata.Key());
    explained.push_back(std::move(one));
  }
  waiting.groups = explain::GroupByText(std::move(explained));
  return waiting;
}

// Replicas are added in batches; those of the last batch that do not fit change nothing for the others,
// because they preempt nothing.
Expected<HowMany> AskHowMany(Scenario& scenario, const std::string& file, const explain::TextOptions& text,
                             const std::function<void(std::size_t)>& progress) {
  constexpr std::size_t kFirstBatch = 16, kMostBatch = 4096, kMost = 200'000;
  BERTH_TRY(Manifest manifest, scenario.Read(file));
  PodSource source = std::move(manifest.pods.front());
  if (source.model.spec.pod_group) {
    return Invalid(
        fmt::format("{}: schedulingGroup: the members of a pod group are placed together; expected a "
                    "pod without group (--add-pods places groups)",
                    file));
  }
  scenario.CreateObjects(manifest);
  source.model.spec.never_preempts = true;
  HowMany answer{.pod = ShownName(source)};
  std::vector<std::size_t> waiting;
  for (std::size_t batch = kFirstBatch; waiting.empty(); batch = std::min(2 * batch, kMostBatch)) {
    const std::size_t count = std::min(batch, kMost - answer.fits);
    if (count == 0) {
      answer.limited = true;
      return answer;
    }
    BERTH_TRY(const std::vector<std::size_t> created, scenario.CreatePods(source, count));
    scenario.Settle();
    for (const std::size_t index : created) {
      const FollowedPod& pod = scenario.followed()[index];
      if (pod.node.empty()) {
        waiting.push_back(index);
      } else {
        ++answer.fits;
        ++answer.nodes[pod.node];
      }
    }
    if (progress) progress(answer.fits);
  }
  answer.next = ExplainWaiting(scenario, {waiting.front()}, text);
  return answer;
}

}  // namespace berth::what_if
