#include <fmt/format.h>

#include "base/json_text.hpp"
#include "tools/simulate/report.hpp"

namespace berth::simulate {
namespace {

// Six significant digits, which are the same on every machine.
std::string NumberText(double number) { return fmt::format("{:.6g}", number); }
std::string SecondsText(Duration duration) {
  return fmt::format("{:.6f}", std::chrono::duration<double>(duration).count());
}

void AddCount(JsonObject& object, std::string_view key, std::uint64_t count) {
  object.AddNumber(key, static_cast<std::int64_t>(count));
}

void AddTimes(JsonObject& object, std::string_view key, const Histogram& times) {
  JsonObject of(object.Key(key));
  AddCount(of, "count", times.count());
  of.AddRaw("mean", SecondsText(times.mean()))
      .AddRaw("p50", SecondsText(times.Percentile(0.5)))
      .AddRaw("p90", SecondsText(times.Percentile(0.9)))
      .AddRaw("p99", SecondsText(times.Percentile(0.99)))
      .AddRaw("max", SecondsText(times.max()));
}

void AddShares(JsonObject& object, std::string_view key, const std::vector<std::string>& resources,
               const std::vector<double>& shares) {
  JsonObject of(object.Key(key));
  for (std::size_t i = 0; i < resources.size(); ++i) of.AddRaw(resources[i], NumberText(shares[i]));
}

void AddSampled(JsonObject& object, std::string_view key, const SampledValue& value) {
  if (value.count == 0) return;
  JsonObject of(object.Key(key));
  of.AddRaw("mean", NumberText(value.mean())).AddRaw("max", NumberText(value.most));
}

void AppendKind(std::string& out, const KindResult& kind) {
  JsonObject object(out);
  object.Add("name", kind.name);
  AddCount(object, "created", kind.created);
  AddCount(object, "bound", kind.bound);
  AddCount(object, "completed", kind.completed);
  AddCount(object, "preempted", kind.preempted);
  AddCount(object, "lost", kind.lost);
  AddCount(object, "stopped", kind.stopped);
  AddCount(object, "pending", kind.pending);
  AddTimes(object, "timeToBindSeconds", kind.time_to_bind);
  AddSampled(object, "zoneSkew", kind.zone_skew);
  AddSampled(object, "mostOnNode", kind.most_on_node);
  object.AddUnlessEmpty("lastReason", kind.reason);
}

void AppendSample(std::string& out, const Sample& sample, const std::vector<std::string>& resources) {
  JsonObject object(out);
  object.AddRaw("seconds", SecondsText(sample.at));
  AddCount(object, "active", sample.active);
  AddCount(object, "backoff", sample.backoff);
  AddCount(object, "unschedulable", sample.unschedulable);
  AddCount(object, "gated", sample.gated);
  AddCount(object, "running", sample.running);
  AddCount(object, "waitingGroups", sample.waiting_groups);
  AddCount(object, "nodes", sample.nodes);
  AddShares(object, "requested", resources, sample.used);
  AddShares(object, "fragmented", resources, sample.fragmented);
  object.AddRaw("hotNodes", NumberText(sample.hot_nodes)).AddRaw("imbalance", NumberText(sample.imbalance));
}

void AddGroups(JsonObject& object, const Result& result) {
  const GroupResult& groups = result.groups;
  if (!groups.any) return;
  JsonObject of(object.Key("groups"));
  AddCount(of, "created", groups.created);
  AddCount(of, "started", groups.started);
  AddCount(of, "completed", groups.completed);
  AddCount(of, "stopped", groups.stopped);
  AddCount(of, "waiting", groups.waiting);
  of.AddRaw("lastCompletedSeconds", SecondsText(groups.last_completed));
  of.AddRaw("longestWaitSeconds", SecondsText(groups.longest_wait));
  AddTimes(of, "timeToStartSeconds", groups.time_to_start);
  AddShares(of, "meanHeld", result.resources, groups.mean_held);
  AddShares(of, "meanFreeWhileWaiting", result.resources, groups.mean_idle);
}

void AppendResult(std::string& out, const Result& result) {
  JsonObject object(out);
  object.Add("configuration", result.configuration)
      .AddRaw("complete", result.complete ? "true" : "false")
      .AddRaw("simulatedSeconds", SecondsText(result.simulated));
  AddCount(object, "attempts", result.attempts);
  AddCount(object, "failedAttempts", result.failed_attempts);
  AddCount(object, "created", result.Sum(&KindResult::created));
  AddCount(object, "bound", result.Sum(&KindResult::bound));
  AddCount(object, "completed", result.Sum(&KindResult::completed));
  AddCount(object, "preempted", result.Sum(&KindResult::preempted));
  AddCount(object, "lost", result.Sum(&KindResult::lost));
  AddCount(object, "stopped", result.Sum(&KindResult::stopped));
  AddCount(object, "pending", result.Sum(&KindResult::pending));
  AddCount(object, "nodesFailed", result.nodes_failed);
  AddCount(object, "nodesAdded", result.nodes_added);
  AddCount(object, "nodesRemoved", result.nodes_removed);
  AddTimes(object, "timeToBindSeconds", result.time_to_bind);
  AddShares(object, "meanRequested", result.resources, result.mean_used);
  AddShares(object, "meanFragmented", result.resources, result.mean_fragmented);
  AddGroups(object, result);
  AppendJsonList(object.Key("kinds"), result.kinds, AppendKind);
  AppendJsonList(object.Key("samples"), result.samples, [&](std::string& list, const Sample& sample) {
    AppendSample(list, sample, result.resources);
  });
}

}  // namespace

std::string ReportJson(const ReportHead& head, std::span<const Result> results) {
  std::string out;
  {
    JsonObject object(out);
    object.Add("workload", head.workload)
        .AddRaw("seed", std::to_string(head.seed))
        .AddRaw("durationSeconds", SecondsText(head.duration));
    AppendJsonList(object.Key("runs"), results, AppendResult);
  }
  return out + "\n";
}

}  // namespace berth::simulate
