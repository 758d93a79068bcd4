#include "scheduler/introspection/node_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <tuple>

#include "base/json_text.hpp"
#include "kubernetes/api/quantity.hpp"

namespace berth::introspection {
namespace {

constexpr std::size_t kMostNamesOfPods = 10;  // of one reason

std::int64_t Number(std::size_t number) { return static_cast<std::int64_t>(number); }

// In the unit of Kubernetes: "1500m", "8Gi", "3".
std::string AmountOf(const NodeResource& resource) {
  if (resource.name == "cpu") return api::Quantity::FromMilli(resource.requested).Canonical();
  api::Quantity amount = api::Quantity::FromInteger(resource.requested);
  const bool bytes = resource.name == "memory" || resource.name == "ephemeral-storage" ||
                     resource.name.starts_with("hugepages-");
  if (bytes) amount.FormatAs(api::Quantity::Parse("1Ki").value());
  return amount.Canonical();
}

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
                   one.Add("requested", AmountOf(resource));
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
      amount.Add("resource", resource.name).Add("requested", AmountOf(resource));
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
    one.AddRaw("seconds", fmt::format("{:.6g}", use.seconds));
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

std::string PluginsJson(const PluginsReport& report) {
  std::string out;
  JsonObject object(out);
  AppendJsonList(object.Key("profiles"), report.profiles, &AppendProfile);
  AddSearched(object, report.searched);
  object.Close();
  return out;
}

}  // namespace berth::introspection
