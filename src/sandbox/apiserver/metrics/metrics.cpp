#include "sandbox/apiserver/metrics/metrics.hpp"

#include <fmt/format.h>

#include <map>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/list.hpp"

namespace berth::sandbox {
namespace {

constexpr std::int64_t kIdleMilliCpu = 1;
constexpr std::int64_t kIdleBytes = 16 << 20;
constexpr std::int64_t kSystemMilliCpu = 50;
constexpr std::int64_t kSystemBytes = 512 << 20;

struct Usage {
  std::int64_t milli_cpu = 0;
  std::int64_t bytes = 0;

  Usage& operator+=(const Usage& other) {
    milli_cpu += other.milli_cpu;
    bytes += other.bytes;
    return *this;
  }
  json::object ToJson() const {
    return {{"cpu", fmt::format("{}m", milli_cpu)}, {"memory", fmt::format("{}Ki", bytes / 1024)}};
  }
};

std::int64_t Requested(const json::object& container, std::string_view resource, bool milli,
                       std::int64_t otherwise) {
  const json::object* requests = FindObject(container, "resources.requests");
  const json::value* value = requests != nullptr ? Find(*requests, resource) : nullptr;
  if (value == nullptr || !value->is_string()) return otherwise;
  const auto quantity = api::Quantity::Parse(value->get_string());
  if (!quantity) return otherwise;
  return milli ? quantity->MilliValue() : quantity->Value();
}

Usage UsageOf(const json::object& container) {
  return {Requested(container, "cpu", true, kIdleMilliCpu),
          Requested(container, "memory", false, kIdleBytes)};
}

json::object Item(const Object& object, std::string_view kind, const std::string& now) {
  const Document document = object.Parse();
  json::object metadata{{"name", object.name}};
  if (!object.ns.empty()) metadata["namespace"] = object.ns;
  metadata["creationTimestamp"] = now;
  if (const json::object* labels = FindObject(document.root(), "metadata.labels"))
    metadata["labels"] = *labels;
  return {{"kind", kind},
          {"apiVersion", "metrics.k8s.io/v1beta1"},
          {"metadata", std::move(metadata)},
          {"timestamp", now},
          {"window", "10s"}};
}

bool Runs(const json::object& pod) { return FindString(pod, "status.phase") == "Running"; }

template <class Visit>
void ForEachContainer(const json::object& pod, Visit&& visit) {
  const json::array* containers = FindArray(pod, "spec.containers");
  for (const auto& container : containers != nullptr ? *containers : json::array()) {
    if (container.is_object()) visit(container.get_object());
  }
}

// nullopt for pods that do not run.
std::optional<json::object> PodMetrics(const Object& pod, const std::string& now) {
  const Document document = pod.Parse();
  if (!Runs(document.root())) return std::nullopt;
  json::array containers;
  ForEachContainer(document.root(), [&](const json::object& container) {
    containers.push_back(
        json::object{{"name", FindString(container, "name")}, {"usage", UsageOf(container).ToJson()}});
  });
  json::object item = Item(pod, "PodMetrics", now);
  item["containers"] = std::move(containers);
  return item;
}

std::map<std::string, Usage, std::less<>> UsageByNode(const Store& store) {
  std::map<std::string, Usage, std::less<>> by_node;
  for (const auto& [_, pod] : store.All(Known().pods)) {
    if (pod->fields[0].empty()) continue;  // spec.nodeName
    const Document document = pod->Parse();
    if (!Runs(document.root())) continue;
    ForEachContainer(document.root(),
                     [&](const json::object& container) { by_node[pod->fields[0]] += UsageOf(container); });
  }
  return by_node;
}

}  // namespace

bool IsMetrics(const ApiRequest& request) {
  return request.path.size() > 3 && request.path[0] == "apis" && request.path[1] == "metrics.k8s.io" &&
         request.path[2] == "v1beta1";
}

ApiResult<std::string> AnswerMetrics(Verbs& verbs, ApiRequest& request) {
  if (request.method != "GET") return MethodNotAllowed();
  const auto& path = request.path;
  std::size_t at = 3;
  if (path[at] == "namespaces" && path.size() > at + 2) {
    request.ns = path[at + 1];
    at += 2;
  }
  const bool nodes = path[at] == "nodes";
  if ((!nodes && path[at] != "pods") || path.size() > at + 2) return NoSuchResource();
  request.type = nodes ? &Known().nodes : &Known().pods;
  if (path.size() == at + 2) request.name = path[at + 1];
  const std::string now = FormatTime(verbs.clock().WallNow());
  const auto by_node = nodes ? UsageByNode(verbs.store()) : std::map<std::string, Usage, std::less<>>();
  const auto metrics_of = [&](const Object& object) -> std::optional<json::object> {
    if (!nodes) return PodMetrics(object, now);
    Usage usage{kSystemMilliCpu, kSystemBytes};
    if (const auto pods = by_node.find(object.name); pods != by_node.end()) usage += pods->second;
    json::object item = Item(object, "NodeMetrics", now);
    item["usage"] = usage.ToJson();
    return item;
  };
  if (!request.name.empty()) {
    const ObjectPtr object = verbs.store().Get(*request.type, request.place().key());
    const auto metrics = object ? metrics_of(*object) : std::nullopt;
    if (!metrics) return NotFound(*request.type, request.name);
    return json::serialize(*metrics) + "\n";
  }
  BERTH_TRY(const Selector selector, ParseSelector(request));
  json::array items;
  for (const auto& [_, object] : verbs.store().All(*request.type)) {
    if (!selector.Matches(*object)) continue;
    if (auto metrics = metrics_of(*object)) items.push_back(std::move(*metrics));
  }
  return json::serialize(json::object{{"kind", nodes ? "NodeMetricsList" : "PodMetricsList"},
                                      {"apiVersion", "metrics.k8s.io/v1beta1"},
                                      {"metadata", json::object()},
                                      {"items", std::move(items)}}) +
         "\n";
}

}  // namespace berth::sandbox
