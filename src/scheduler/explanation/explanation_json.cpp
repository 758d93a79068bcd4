#include "scheduler/explanation/explanation_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "base/json_text.hpp"
#include "kubernetes/api/timestamp.hpp"

namespace berth::explanation {
namespace {

using record::AttemptRecord;

std::int64_t Number(std::size_t number) { return static_cast<std::int64_t>(number); }

void AddNames(JsonObject& object, std::string_view key, const std::vector<std::string>& sorted) {
  const std::vector<std::string> shown(
      sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(std::min(sorted.size(), kMostJsonNames)));
  object.AddUnlessEmpty(key, shown);
}

void AppendReasons(std::string& out, const std::vector<Reason>& reasons, JsonView view) {
  AppendJsonList(out, reasons, [&](std::string& text, const Reason& reason) {
    JsonObject one(text);
    one.Add("plugin", reason.plugin).Add("reason", reason.text);
    if (view == JsonView::kNodes) one.AddUnlessEmpty("values", reason.values);
  });
}

void AppendGroup(std::string& out, const NodeGroup& group, JsonView view) {
  JsonObject object(out);
  object.AddNumber("nodes", Number(group.nodes.size()));
  AppendReasons(object.Key("reasons"), group.reasons, view);
  if (view == JsonView::kSummary) return;
  if (group.shortfall > 0) object.AddRaw("shortfall", fmt::format("{:.4g}", group.shortfall));
  AddNames(object, "names", group.nodes);
}

// Groups that differ only in the values of their nodes look the same in a summary.
std::vector<NodeGroup> Merged(const std::vector<NodeGroup>& groups) {
  std::vector<NodeGroup> merged;
  const auto same = [](const NodeGroup& a, const NodeGroup& b) {
    return std::ranges::equal(a.reasons, b.reasons, [](const Reason& x, const Reason& y) {
      return x.plugin == y.plugin && x.text == y.text;
    });
  };
  for (const NodeGroup& group : groups) {
    const auto known =
        std::ranges::find_if(merged, [&](const NodeGroup& other) { return same(group, other); });
    if (known == merged.end()) {
      merged.push_back(group);
    } else {
      known->nodes.insert(known->nodes.end(), group.nodes.begin(), group.nodes.end());
    }
  }
  return merged;
}

void AddGroups(JsonObject& object, const std::vector<NodeGroup>& all, JsonView view) {
  if (all.empty()) return;
  const std::vector<NodeGroup> groups = view == JsonView::kSummary ? Merged(all) : all;
  AppendJsonList(object.Key("groups"), groups | std::views::take(kMostJsonGroups),
                 [&](std::string& out, const NodeGroup& group) { AppendGroup(out, group, view); });
  if (groups.size() > kMostJsonGroups)
    object.AddNumber("moreGroups", Number(groups.size() - kMostJsonGroups));
}

// A summary does not show steps that change the cluster, because they name nodes and pods, and steps that
// name a node, by its name or by another value for kubernetes.io/hostname.
bool IsShown(const Advice& advice, JsonView view) {
  if (view == JsonView::kNodes) return true;
  if (advice.change.changes_cluster() || advice.names_node) return false;
  return std::ranges::none_of(advice.steps, [&](const std::string& step) {
    return std::ranges::any_of(advice.nodes, [&](const std::string& node) { return step.contains(node); });
  });
}

void AppendAdvice(std::string& out, const Advice& advice, JsonView view) {
  JsonObject object(out);
  AppendJsonStrings(object.Key("steps"), advice.steps);
  object.AddNumber("nodes", Number(advice.nodes.size()));
  object.AddNumber("victimCount", Number(advice.victims.size()));
  if (view == JsonView::kSummary) return;
  AddNames(object, "names", advice.nodes);
  AddNames(object, "victims", advice.victims);
  object.AddUnlessEmpty("victimsNode", advice.victims_node);
}

void AddAdvice(JsonObject& object, const std::vector<Advice>& all, JsonView view) {
  std::vector<const Advice*> shown;
  for (const Advice& one : all) {
    if (IsShown(one, view)) shown.push_back(&one);
  }
  if (!shown.empty()) {
    AppendJsonList(object.Key("advice"), shown,
                   [&](std::string& out, const Advice* one) { AppendAdvice(out, *one, view); });
  }
  if (shown.size() < all.size()) object.AddNumber("adviceWithheld", Number(all.size() - shown.size()));
}

// The nodes with the highest totals, the selected one first.
void AddCandidates(JsonObject& object, const AttemptRecord& record) {
  if (!record.scored) return;
  AppendJsonList(object.Key("candidates"), record.Ranked(kMostJsonCandidates),
                 [&](std::string& out, std::uint32_t row) {
                   JsonObject one(out);
                   one.Add("node", record.nodes->by_row[row]);
                   one.AddNumber("total", record.Total(row));
                 });
}

// The format of FormatMicroTime, for times that may be outside of the range of a WallTime.
std::string WithMicroseconds(std::int64_t unix_seconds) {
  std::string text = api::FormatTimestamp(unix_seconds);
  return text.insert(text.size() - 1, ".000000");
}

void AppendVictim(std::string& out, const PreemptionPreview::Victim& victim) {
  JsonObject object(out);
  object.Add("pod", victim.pod);
  object.AddUnlessEmpty("owner", victim.owner);
  object.AddNumber("priority", victim.priority);
  if (victim.started != 0) object.Add("started", WithMicroseconds(victim.started));
  object.AddUnlessEmpty("budget", victim.budget);
}

void AppendPreemptionCandidate(std::string& out, const PreemptionPreview::Candidate& candidate) {
  JsonObject object(out);
  object.Add("node", candidate.node);
  object.AddNumber("victimCount", Number(candidate.victim_count));
  object.AddNumber("violations", candidate.violations);
  object.AddUnlessEmpty("drawback", candidate.drawback);
  AppendJsonList(object.Key("victims"), candidate.victims, AppendVictim);
}

void AddRefusals(JsonObject& object, const std::vector<PreemptionPreview::Refusal>& refusals) {
  if (refusals.empty()) return;
  AppendJsonList(object.Key("refusals"), refusals | std::views::take(kMostJsonGroups),
                 [](std::string& out, const PreemptionPreview::Refusal& refusal) {
                   JsonObject one(out);
                   one.AddNumber("nodes", Number(refusal.nodes));
                   one.Add("reason", refusal.reason);
                 });
}

void AddPreemption(JsonObject& object, const Explanation& explanation, JsonView view) {
  const AttemptRecord& record = *explanation.record;
  const PreemptionPreview& preview = explanation.preemption;
  if (!record.nomination && preview.empty()) return;
  JsonObject preemption(object.Key("preemption"));
  preemption.AddNumber("victimCount", Number(record.nomination ? record.nomination->victims.size() : 0));
  if (view == JsonView::kNodes && record.nomination) {
    preemption.Add("node", record.nomination->node);
    AddNames(preemption, "victims", record.nomination->victims);
    AppendJsonList(preemption.Key("candidates"), preview.candidates, AppendPreemptionCandidate);
    if (preview.not_shown > 0) preemption.AddNumber("notShown", Number(preview.not_shown));
  }
  AddRefusals(preemption, preview.refusals);
}

// The evaluation, without its circumstances.
void AddEvaluation(JsonObject& object, const Explanation& explanation, JsonView view) {
  const AttemptRecord& record = *explanation.record;
  object.Add("result", record::ResultName(record.result));
  // After a preemption the message names the node; the pod's own events do not have it yet.
  if (view == JsonView::kNodes || !record.nomination) object.AddUnlessEmpty("message", record.message);
  if (record.nodes != nullptr) {
    JsonObject nodes(object.Key("nodes"));
    nodes.AddNumber("total", Number(record.all.Count()));
    nodes.AddNumber("feasible", Number(record.feasible.Count()));
  }
  if (view == JsonView::kNodes) object.AddUnlessEmpty("node", record.SelectedNode());
  if (!explanation.pod_reasons.empty())
    AppendReasons(object.Key("podReasons"), explanation.pod_reasons, view);
  AddGroups(object, explanation.groups, view);
  AddPreemption(object, explanation, view);
  AddAdvice(object, explanation.advice, view);
  if (view == JsonView::kNodes) AddCandidates(object, record);
}

// Name and owner of the pod.
void AddPod(JsonObject& object, const Explanation& explanation) {
  const std::size_t slash = explanation.pod.find('/');
  object.Add("namespace", std::string_view(explanation.pod).substr(0, slash));
  object.Add("name", std::string_view(explanation.pod).substr(slash + 1));
  object.AddUnlessEmpty("owner", explanation.owner);
  object.AddUnlessEmpty("boundTo", explanation.bound_to);
}

}  // namespace

std::string ExplanationJson(const Explanation& explanation, const JsonContext& context, JsonView view) {
  std::string out;
  JsonObject object(out);
  AddPod(object, explanation);
  object.Add("clusterAsOf", FormatMicroTime(context.cluster_as_of));
  object.Add("evaluatedAt", FormatMicroTime(context.evaluated_at));
  object.AddRaw("leading", context.leading ? "true" : "false");
  object.AddUnlessEmpty("leftOut", context.left_out);
  AddEvaluation(object, explanation, view);
  object.Close();
  return out;
}

void AppendExplanation(std::string& out, const Explanation& explanation, JsonView view) {
  JsonObject object(out);
  AddPod(object, explanation);
  AddEvaluation(object, explanation, view);
}

std::string GroupJson(const GroupExplanation& group) {
  std::string out;
  JsonObject object(out);
  object.AddRaw("group", record::ToJson(group.record));
  AppendJsonList(object.Key("members"), group.members,
                 [](std::string& text, const GroupExplanation::Member& member) {
                   JsonObject one(text);
                   one.Add("pod", member.pod);
                   one.AddUnlessEmpty("node", member.node);
                   if (member.bound) one.AddRaw("bound", "true");
                 });
  if (group.obstacle.record != nullptr)
    AppendExplanation(object.Key("obstacle"), group.obstacle, JsonView::kNodes);
  if (!group.holders.empty()) {
    AppendJsonList(object.Key("holders"), group.holders,
                   [](std::string& text, const GroupExplanation::Holder& holder) {
                     JsonObject one(text);
                     one.Add("pod", holder.pod).Add("node", holder.node);
                     one.Add("resource", holder.resource).Add("amount", holder.amount);
                   });
  }
  object.Close();
  return out;
}

}  // namespace berth::explanation
