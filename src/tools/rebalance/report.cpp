#include "tools/rebalance/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "base/json_text.hpp"

namespace berth::rebalance {
namespace {

std::string OutcomeText(const Plan& plan, const std::vector<EvictionOutcome>& outcomes, std::size_t move) {
  if (move >= outcomes.size()) return outcomes.empty() && plan.moves.empty() ? "" : "not tried";
  const EvictionOutcome& outcome = outcomes[move];
  if (outcome.result == EvictionResult::kDryRun) return "proposed (dry run)";
  return outcome.error.empty() ? std::string(NameOf(outcome.result))
                               : fmt::format("{}: {}", NameOf(outcome.result), outcome.error);
}

std::string Number(double value) { return std::isfinite(value) ? fmt::format("{:.2f}", value) : "null"; }

void AppendLoads(std::string& out, double before, double after) {
  JsonObject(out).AddRaw("before", Number(before)).AddRaw("after", Number(after));
}

void AppendMove(std::string& out, const Plan& plan, const std::vector<EvictionOutcome>& outcomes,
                std::size_t index) {
  const Move& move = plan.moves[index];
  JsonObject object(out);
  object.Add("pod", move.pod->metadata.Key())
      .Add("uid", move.pod->metadata.uid)
      .Add("workload", move.workload)
      .Add("from", move.from)
      .Add("to", move.to)
      .Add("signal", move.signal)
      .AddRaw("threshold", Number(move.threshold))
      .AddRaw("podLoad", Number(move.pod_load));
  AppendLoads(object.Key("fromLoad"), move.from_before, move.from_after);
  AppendLoads(object.Key("toLoad"), move.to_before, move.to_after);
  object.AddRaw("benefit", Number(move.benefit)).AddRaw("cost", Number(move.cost));
  AppendJsonStrings(object.Key("costs"), move.costs);
  AppendJsonStrings(object.Key("alternatives"), move.alternatives);
  object.Add("reason", move.reason);
  if (index < outcomes.size()) {
    object.Add("result", NameOf(outcomes[index].result)).Add("error", outcomes[index].error);
  }
}

}  // namespace

std::string Summary(const Plan& plan, const std::vector<EvictionOutcome>& outcomes) {
  if (!plan.stopped.empty()) return fmt::format("No pod is moved: {}.", plan.stopped);
  const auto count = [&](EvictionResult result) {
    return std::ranges::count(outcomes, result, &EvictionOutcome::result);
  };
  std::uint64_t rejected = 0;
  for (const std::uint64_t some : plan.rejected_by_reason) rejected += some;
  std::string text = fmt::format("{} of {} nodes overloaded, {} moves", plan.overloaded.size(), plan.nodes,
                                 plan.moves.size());
  if (const auto dry = count(EvictionResult::kDryRun); dry > 0) {
    text += " (dry run: nothing is evicted)";
  } else if (!plan.moves.empty()) {
    text += fmt::format(" ({} evicted)", count(EvictionResult::kEvicted));
  }
  return text + fmt::format(", {} pods considered and left.", rejected);
}

std::string PlanText(const Plan& plan, const std::vector<EvictionOutcome>& outcomes) {
  std::string text = Summary(plan, outcomes) + "\n";
  if (!plan.overloaded.empty()) text += "\nOverloaded nodes:\n";
  for (const OverloadedNode& node : plan.overloaded) {
    text += fmt::format("  {}: {} {:.1f}%, at least {:.1f}% during the window, threshold {:.0f}%{}\n",
                        node.name, node.signal, node.load, node.lowest, node.threshold,
                        node.note.empty() ? "" : "; no move: " + node.note);
  }
  if (!plan.moves.empty()) text += "\nMoves:\n";
  for (std::size_t i = 0; i < plan.moves.size(); ++i) {
    const Move& move = plan.moves[i];
    text += fmt::format("  {}. {} from {} to {}: {}\n", i + 1, move.pod->metadata.Key(), move.from, move.to,
                        OutcomeText(plan, outcomes, i));
    text += fmt::format("     {} load: pod {:.1f}%; {} {:.1f}% -> {:.1f}%, {} {:.1f}% -> {:.1f}%\n",
                        move.signal, move.pod_load, move.from, move.from_before, move.from_after, move.to,
                        move.to_before, move.to_after);
    text += fmt::format("     benefit {:.1f}, cost {:.1f}{}\n", move.benefit, move.cost,
                        move.costs.empty() ? "" : fmt::format(" ({})", fmt::join(move.costs, ", ")));
    text += fmt::format("     {}\n", move.reason);
  }
  if (!plan.rejected.empty()) text += "\nPods that stay:\n";
  for (const RejectedPod& pod : plan.rejected)
    text += fmt::format("  {} on {}: {}: {}\n", pod.pod, pod.node, NameOf(pod.why), pod.reason);
  return text;
}

std::string PlanJson(const Plan& plan, const std::vector<EvictionOutcome>& outcomes) {
  std::string text;
  {
    JsonObject object(text);
    object.Add("summary", Summary(plan, outcomes)).Add("stopped", plan.stopped);
    object.AddRaw("nodes", fmt::to_string(plan.nodes))
        .AddRaw("measuredNodes", fmt::to_string(plan.measured_nodes))
        .AddRaw("evaluations", fmt::to_string(plan.evaluations));
    AppendJsonList(object.Key("overloaded"), plan.overloaded,
                   [](std::string& nodes, const OverloadedNode& node) {
                     JsonObject(nodes)
                         .Add("node", node.name)
                         .Add("signal", node.signal)
                         .AddRaw("load", Number(node.load))
                         .AddRaw("lowest", Number(node.lowest))
                         .AddRaw("threshold", Number(node.threshold))
                         .Add("note", node.note);
                   });
    AppendJsonList(object.Key("moves"), std::views::iota(std::size_t{0}, plan.moves.size()),
                   [&](std::string& moves, std::size_t i) { AppendMove(moves, plan, outcomes, i); });
    AppendJsonList(object.Key("rejected"), plan.rejected, [](std::string& rejected, const RejectedPod& pod) {
      JsonObject(rejected)
          .Add("pod", pod.pod)
          .Add("node", pod.node)
          .Add("why", NameOf(pod.why))
          .Add("reason", pod.reason);
    });
  }
  return text + "\n";
}

}  // namespace berth::rebalance
