#include "scheduler/introspection/node_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <span>
#include <tuple>

#include "base/json_text.hpp"
#include "scheduler/introspection/amount_text.hpp"

namespace berth::introspection {
namespace {

constexpr std::size_t kMostNamesOfPods = 10;  // of one reason

std::int64_t Number(std::size_t number) { return static_cast<std::int64_t>(number); }

void AddSearched(JsonObject& object, const SearchedRecords& searched) {
  JsonObject records(object.Key("searched"));
  records.AddNumber("attempts", Number(searched.attempts));
  records.Add("since", FormatMicroTime(searched.since));
}

void AppendPodName(JsonObject& object, std::string_view key) {
  const std::size_t slash = key.find('/');
  object.Add("namespace", key.substr(0, slash)).Add("name", key.substr(slash + 1));
}

// --- a node ---

void AddState(JsonObject& object, const api::Node& node) {
  object.Add("name", node.metadata.name);
  object.AddUnlessEmpty("uid", node.metadata.uid);
  for (const api::NodeCondition& condition : node.conditions) {
    if (condition.type == "Ready") object.Add("ready", condition.status);
  }
  object.AddRaw("unschedulable", node.unschedulable ? "true" : "false");
  if (!node.taints.empty()) {
    AppendJsonList(object.Key("taints"), node.taints, [](std::string& out, const api::Taint& taint) {
      JsonObject one(out);
      one.Add("key", taint.key);
      one.AddUnlessEmpty("value", taint.value);
      one.Add("effect", taint.effect);
    });
  }
}

void AddResources(JsonObject& object, const NodeReport& report) {
  AppendJsonList(object.Key("resources"), report.requested,
                 [&](std::string& out, const NodeResource& resource) {
                   JsonObject one(out);
                   one.Add("resource", resource.name);
                   const auto allocatable = std::as_const(report.node->allocatable).find(resource.name);
                   one.Add("allocatable", allocatable->second.Canonical());
                   one.Add("requested", AmountText(resource.name, resource.requested));
                 });
}

void AddPodsOnNode(JsonObject& object, const NodeReport& report) {
  std::vector<const PodOnNode*> pods;
  for (const PodOnNode& pod : report.pods) pods.push_back(&pod);
  std::ranges::sort(pods, {}, [](const PodOnNode* pod) {
    return std::pair(std::string_view(pod->pod->metadata.ns.str()),
                     std::string_view(pod->pod->metadata.name));
  });
  AppendJsonList(object.Key("pods"), pods, [](std::string& out, const PodOnNode* pod) {
    JsonObject one(out);
    one.Add("namespace", pod->pod->metadata.ns.str()).Add("name", pod->pod->metadata.name);
    one.AddNumber("priority", pod->pod->spec.priority);
    one.AddRaw("assumed", pod->assumed ? "true" : "false");
    AppendJsonList(one.Key("requests"), pod->requests, [](std::string& text, const NodeResource& resource) {
      JsonObject amount(text);
      amount.Add("resource", resource.name).Add("requested", AmountText(resource.name, resource.requested));
    });
  });
  if (report.pod_count > pods.size()) object.AddNumber("morePods", Number(report.pod_count - pods.size()));
  if (report.nominated.empty()) return;
  AppendJsonList(object.Key("nominated"), report.nominated, [](std::string& out, const std::string& key) {
    JsonObject one(out);
    AppendPodName(one, key);
  });
}

void AddRejections(JsonObject& object, const NodeReport& report, NodeView view) {
  using Line = decltype(report.rejections)::value_type;
  std::vector<const Line*> lines;
  for (const Line& line : report.rejections) lines.push_back(&line);
  std::ranges::stable_sort(lines, std::greater(), [](const Line* line) { return line->second.last; });
  AppendJsonList(object.Key("rejections"), lines, [&](std::string& out, const Line* line) {
    const NodeRejection& rejection = line->second;
    JsonObject one(out);
    one.Add("plugin", line->first.first).Add("reason", line->first.second);
    one.AddNumber("pods", Number(rejection.pods.size()));
    if (rejection.more_pods > 0) one.AddRaw("morePods", "true");
    one.Add("last", FormatMicroTime(rejection.last));
    if (view == NodeView::kSummary) return;
    std::vector<std::pair<WallTime, std::string_view>> pods;
    for (const auto& [key, at] : rejection.pods) pods.emplace_back(at, key);
    std::ranges::sort(pods, std::greater());
    if (pods.size() > kMostNamesOfPods) pods.resize(kMostNamesOfPods);
    AppendJsonList(one.Key("lastPods"), pods,
                   [](std::string& text, const std::pair<WallTime, std::string_view>& pod) {
                     JsonObject of_pod(text);
                     AppendPodName(of_pod, pod.second);
                     of_pod.Add("time", FormatMicroTime(pod.first));
                   });
  });
}

// --- all nodes ---

void AppendNodeRow(std::string& out, const NodeRow& row, const NodesReport& report) {
  JsonObject node(out);
  node.Add("name", row.node->metadata.name);
  for (const api::NodeCondition& condition : row.node->conditions) {
    if (condition.type == "Ready") node.Add("ready", condition.status);
  }
  node.AddRaw("unschedulable", row.node->unschedulable ? "true" : "false");
  node.AddNumber("podCount", row.pod_count);
  std::vector<std::pair<std::string_view, double>> shares;
  for (std::size_t i = 0; i < row.resources.size(); ++i) {
    const auto [allocatable, requested] = row.resources[i];
    if (allocatable > 0)
      shares.emplace_back(report.resources[i],
                          static_cast<double>(requested) / static_cast<double>(allocatable));
  }
  AppendJsonList(node.Key("requested"), shares, [](std::string& text, const auto& share) {
    JsonObject one(text);
    one.Add("resource", share.first).AddRaw("share", fmt::format("{:.4g}", share.second));
  });
  std::vector<std::pair<std::string_view, double>> values;
  for (std::size_t i = 0; i < report.measurements.size(); ++i) {
    if (std::isfinite(row.measured[i])) values.emplace_back(report.measurements[i].name, row.measured[i]);
  }
  if (values.empty()) return;
  AppendJsonList(node.Key("measured"), values, [](std::string& text, const auto& value) {
    JsonObject one(text);
    one.Add("name", value.first).AddRaw("value", fmt::format("{:.6g}", value.second));
  });
}

// --- plugins ---

void AppendProfile(std::string& out, const ProfilePlugins& profile) {
  JsonObject object(out);
  object.Add("name", profile.name);
  AppendJsonList(object.Key("points"), profile.points, [](std::string& text, const auto& point) {
    JsonObject one(text);
    one.Add("extensionPoint", point.name);
    AppendJsonList(one.Key("plugins"), point.plugins, [](std::string& names, const auto& plugin) {
      JsonObject named(names);
      named.Add("plugin", plugin.first);
      if (plugin.second != 0) named.AddNumber("weight", plugin.second);
    });
  });
  AppendJsonList(object.Key("calls"), profile.uses, [](std::string& text, const auto& use) {
    JsonObject one(text);
    one.Add("extensionPoint", use.point).Add("status", use.status);
    one.AddNumber("calls", static_cast<std::int64_t>(use.calls));
    one.AddRaw("seconds", fmt::format("{:.6g}", use.seconds));
  });
  AppendJsonList(object.Key("costs"), profile.plugins, [](std::string& text, const auto& use) {
    JsonObject one(text);
    one.Add("plugin", use.plugin).Add("extensionPoint", use.point);
    if (use.evaluations > 0) one.AddNumber("evaluations", static_cast<std::int64_t>(use.evaluations));
    if (use.seconds) one.AddRaw("seconds", fmt::format("{:.6g}", *use.seconds));
  });
  AppendJsonList(object.Key("rejections"), profile.rejections, [](std::string& text, const auto& rejected) {
    JsonObject one(text);
    one.Add("plugin", rejected.first);
    one.AddNumber("attempts", Number(rejected.second.attempts));
    one.AddNumber("nodes", static_cast<std::int64_t>(rejected.second.nodes));
  });
}

}  // namespace

std::string NodeJson(const NodeReport& report, NodeView view) {
  std::string out;
  JsonObject object(out);
  AddState(object, *report.node);
  object.AddNumber("podCount", Number(report.pod_count));
  object.AddNumber("assumedCount", Number(report.assumed_count));
  object.AddNumber("nominatedCount", Number(report.nominated.size()));
  AddResources(object, report);
  if (view == NodeView::kPods) AddPodsOnNode(object, report);
  AddRejections(object, report, view);
  AddSearched(object, report.searched);
  object.Close();
  return out;
}

std::string NodesJson(const NodesReport& report, const NodesPage& page) {
  std::vector<const NodeRow*> rows;
  for (const NodeRow& row : report.nodes) rows.push_back(&row);
  std::ranges::sort(rows, {}, [](const NodeRow* row) { return std::string_view(row->node->metadata.name); });
  const std::size_t begin = std::min(page.offset, rows.size());
  const std::size_t end = begin + std::min(page.limit, rows.size() - begin);
  std::string out;
  JsonObject object(out);
  object.AddNumber("total", Number(rows.size()));
  object.AddNumber("remaining", Number(rows.size() - end));
  AppendJsonList(object.Key("measurements"), report.measurements,
                 [](std::string& text, const NodesMeasurement& measurement) {
                   JsonObject one(text);
                   one.Add("name", measurement.name).Add("state", measurement.state);
                   if (measurement.polled_at) one.Add("polledAt", FormatMicroTime(*measurement.polled_at));
                 });
  AppendJsonList(object.Key("nodes"), std::span(rows).subspan(begin, end - begin),
                 [&](std::string& text, const NodeRow* row) { AppendNodeRow(text, *row, report); });
  object.Close();
  return out;
}

std::string PreemptionsJson(const PreemptionsReport& report) {
  std::string out;
  JsonObject object(out);
  AppendJsonList(object.Key("preemptions"), report.preemptions,
                 [](std::string& text, const PreemptionReport& preemption) {
                   JsonObject one(text);
                   AppendPodName(one, preemption.pod);
                   one.Add("time", FormatMicroTime(preemption.at));
                   one.AddUnlessEmpty("message", preemption.message);
                   one.Add("node", preemption.node);
                   one.AddNumber("victimCount", Number(preemption.victim_count));
                   one.AddUnlessEmpty("victims", preemption.victims);
                 });
  if (report.more > 0) object.AddNumber("morePreemptions", Number(report.more));
  AddSearched(object, report.searched);
  object.Close();
  return out;
}

std::string PluginsJson(const PluginsReport& report) {
  std::string out;
  JsonObject object(out);
  AppendJsonList(object.Key("profiles"), report.profiles, &AppendProfile);
  AddSearched(object, report.searched);
  object.Close();
  return out;
}

}  // namespace berth::introspection
