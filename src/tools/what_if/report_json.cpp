#include <fmt/format.h>

#include "base/json_text.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "tools/what_if/report.hpp"

namespace berth::what_if {
namespace {

std::int64_t Number(std::size_t number) { return static_cast<std::int64_t>(number); }

std::string_view NameOf(FollowedPod::Origin origin) {
  switch (origin) {
    case FollowedPod::Origin::kPending:
      return "pending";
    case FollowedPod::Origin::kAdded:
      return "added";
    case FollowedPod::Origin::kReplacement:
      return "replacement";
  }
  return "";
}

void AppendChange(std::string& out, const ChangeResult& change) {
  JsonObject object(out);
  object.Add("change", change.change);
  object.AddUnlessEmpty("addedNodes", change.nodes);
  object.AddNumber("addedPods", Number(change.added));
  object.AddNumber("daemonPods", Number(change.daemon_pods));
  object.AddNumber("removedPods", Number(change.removed));
  object.AddNumber("localStorage", Number(change.local_storage));
  AppendJsonList(object.Key("stays"), change.stays, [](std::string& text, const StayingPod& pod) {
    JsonObject(text).Add("pod", pod.pod).Add("reason", pod.why);
  });
  AppendJsonList(object.Key("blocked"), change.blocked, [](std::string& text, const BlockedPod& pod) {
    JsonObject(text)
        .Add("pod", pod.pod)
        .Add("budget", pod.budget)
        .AddNumber("allowed", pod.allowed)
        .AddNumber("needed", 1)
        .Add("reason", pod.why);
  });
  object.AddUnlessEmpty("notes", change.notes);
}

void AppendPlacement(std::string& out, const FollowedPod& pod) {
  JsonObject object(out);
  object.Add("pod", pod.pod->metadata.Key());
  object.AddUnlessEmpty("owner", pod.owner);
  object.Add("origin", NameOf(pod.origin));
  object.AddUnlessEmpty("from", pod.from);
  object.Add("node", pod.node);
  object.AddNumber("change", Number(pod.bound_at));
}

void AppendGroup(std::string& out, const explain::PodsOfText& group) {
  JsonObject object(out);
  object.AddUnlessEmpty("owner", group.example.owner);
  object.AddNumber("count", Number(group.pods.size()));
  AppendJsonStrings(object.Key("pods"), group.pods);
  explanation::AppendExplanation(object.Key("explanation"), group.example, explanation::JsonView::kNodes);
}

void AppendWaiting(std::string& out, const Waiting& waiting) {
  AppendJsonList(out, waiting.groups, AppendGroup);
}

void AddHowMany(JsonObject& object, const HowMany& answer) {
  object.AddNumber("fits", Number(answer.fits));
  JsonObject details(object.Key("howMany"));
  details.Add("pod", answer.pod);
  details.AddRaw("limited", answer.limited ? "true" : "false");
  {
    JsonObject nodes(details.Key("nodes"));
    for (const auto& [node, count] : answer.nodes) nodes.AddNumber(node, Number(count));
  }
  AppendWaiting(details.Key("next"), answer.next);
}

void AppendMix(std::string& out, const NodeMix& mix) {
  std::size_t nodes = 0;
  for (const NodeMix::Part& part : mix.parts) nodes += part.count;
  JsonObject object(out);
  object.AddNumber("nodes", Number(nodes));
  AppendJsonList(object.Key("mix"), mix.parts, [](std::string& text, const NodeMix::Part& part) {
    JsonObject(text)
        .Add("shape", part.shape)
        .AddNumber("nodes", Number(part.count))
        .AddRaw("price", fmt::format("{:.9g}", part.price));
  });
  object.AddRaw("price", fmt::format("{:.9g}", mix.price));
  object.AddNumber("placed", Number(mix.placed));
  object.AddNumber("waiting", Number(mix.waiting));
}

void AppendConsolidation(std::string& out, const Consolidation& found) {
  JsonObject object(out);
  AppendJsonList(object.Key("emptied"), found.emptied, [](std::string& text, const EmptiedNode& node) {
    JsonObject(text).Add("node", node.node).AddNumber("pods", Number(node.pods));
  });
  AppendJsonList(object.Key("moves"), found.moves, [](std::string& text, const MovedPod& move) {
    JsonObject one(text);
    one.Add("pod", move.pod).AddUnlessEmpty("owner", move.owner).Add("from", move.from).Add("to", move.to);
  });
  AppendJsonList(object.Key("kept"), found.kept, [](std::string& text, const KeptNode& node) {
    JsonObject(text).Add("node", node.node).Add("reason", node.why);
  });
  object.AddNumber("notTried", Number(found.not_tried));
}

void AppendChoice(std::string& out, const ChangedPlacement::Choice& choice) {
  JsonObject object(out);
  object.AddUnlessEmpty("node", choice.node).AddUnlessEmpty("failure", choice.failure);
  object.AddNumber("equallyGood", Number(choice.equal));
  if (choice.own_total) object.AddNumber("total", *choice.own_total);
  if (choice.other_total) object.AddNumber("totalOfOther", *choice.other_total);
}

void AppendComparison(std::string& out, const Comparison& found) {
  JsonObject object(out);
  object.AddNumber("pods", Number(found.pods));
  AppendJsonList(object.Key("changed"), found.changed, [](std::string& text, const ChangedPlacement& pod) {
    JsonObject one(text);
    one.Add("pod", pod.pod).AddUnlessEmpty("owner", pod.owner).AddUnlessEmpty("boundTo", pod.bound_to);
    AppendChoice(one.Key("before"), pod.before);
    AppendChoice(one.Key("after"), pod.after);
  });
  object.AddNumber("otherTotals", Number(found.other_totals));
  object.AddNumber("largestDifference", found.largest_difference);
}

}  // namespace

std::string ReportJson(const Report& report) {
  const Scenario& scenario = report.scenario;
  const auto [placed, waiting] = report.totals();
  std::string out;
  JsonObject object(out);
  if (report.how_many) AddHowMany(object, *report.how_many);
  if (report.nodes_needed) AppendMix(object.Key("nodesNeeded"), *report.nodes_needed);
  if (report.comparison) AppendComparison(object.Key("comparison"), *report.comparison);
  if (report.consolidation) AppendConsolidation(object.Key("consolidation"), *report.consolidation);
  object.AddRaw("seed", std::to_string(report.seed));
  object.AddNumber("nodes", Number(scenario.nodes()));
  object.AddNumber("placed", Number(placed));
  object.AddNumber("waiting", Number(waiting));
  AppendJsonList(object.Key("changes"), report.changes, AppendChange);
  std::vector<const FollowedPod*> bound;
  for (const FollowedPod& pod : report.pods()) {
    if (!pod.gone && !pod.node.empty()) bound.push_back(&pod);
  }
  AppendJsonList(object.Key("placements"), bound,
                 [](std::string& text, const FollowedPod* pod) { AppendPlacement(text, *pod); });
  AppendJsonList(object.Key("preempted"), scenario.preempted(),
                 [](std::string& text, const PreemptedPod& pod) {
                   JsonObject one(text);
                   one.Add("pod", pod.pod)
                       .AddUnlessEmpty("owner", pod.owner)
                       .Add("node", pod.node)
                       .AddNumber("priority", pod.priority)
                       .AddUnlessEmpty("by", pod.by);
                   if (pod.by_priority) one.AddNumber("byPriority", *pod.by_priority);
                 });
  AppendJsonList(object.Key("lost"), scenario.lost(), [](std::string& text, const LostPod& pod) {
    JsonObject one(text);
    one.Add("pod", pod.pod)
        .AddUnlessEmpty("owner", pod.owner)
        .AddUnlessEmpty("node", pod.node)
        .Add("reason", pod.why);
  });
  AppendWaiting(object.Key("waits"), report.waiting);
  object.AddNumber("notExplained", Number(report.waiting.not_explained));
  object.AddUnlessEmpty("leftOut", report.left_out);
  object.Close();
  return out + "\n";
}

}  // namespace berth::what_if
