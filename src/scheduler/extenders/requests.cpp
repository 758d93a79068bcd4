#include "scheduler/extenders/requests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"
#include "scheduler/extenders/json.hpp"

namespace berth::extenders {
namespace {

template <class T>
std::string_view TextOf(const T& object) {
  return object.text ? std::string_view(*object.text) : "null";
}

void AppendMember(std::string& out, std::string_view key, std::string_view text) {
  out += out.back() == '{' ? "\"" : ",\"";
  out += key;
  out += "\":";
  AppendGoJsonString(out, text);
}

// Calls `append` for each element; an empty list is written as `none`, like a nil slice in Go.
template <class List, class Append>
void AppendList(std::string& out, const List& list, std::string_view none, Append&& append) {
  if (std::empty(list)) {
    out += none;
    return;
  }
  AppendJsonList(out, list, [&](std::string&, const auto& one) { append(one); });
}

// The members of a pod's spec that Go encodes before nodeName, and nodeName.
constexpr std::string_view kUpToNodeName[] = {"volumes",
                                              "initContainers",
                                              "containers",
                                              "ephemeralContainers",
                                              "restartPolicy",
                                              "terminationGracePeriodSeconds",
                                              "activeDeadlineSeconds",
                                              "dnsPolicy",
                                              "nodeSelector",
                                              "serviceAccountName",
                                              "serviceAccount",
                                              "automountServiceAccountToken",
                                              "nodeName"};

// The offset at which spec.nodeName belongs in the text of a pod; npos: it has no spec.
std::size_t OffsetOfNodeName(std::string_view pod) {
  std::size_t offset = pod.npos;
  const auto offset_of = [&](const char* place) { return static_cast<std::size_t>(place - pod.data()); };
  const Json object(pod);
  if (object.kind() != Json::Kind::kObject) return offset;
  object.ForEachMember([&](std::string_view name, const Json& spec) {
    if (name != R"("spec")" || spec.kind() != Json::Kind::kObject) return;
    offset = offset_of(spec.text().data()) + 1;
    spec.ForEachMember([&](std::string_view key, const Json& value) {
      key = key.substr(1, key.size() - 2);
      if (std::ranges::find(kUpToNodeName, key) != std::end(kUpToNodeName))
        offset = offset_of(value.text().data()) + value.text().size();
    });
  });
  return offset;
}

// kube-scheduler sends its own copy of a pod, which has a node from the decision on; the text of the API
// server has none until the pod is bound.
void AppendVictim(std::string& out, const api::Pod& victim, std::string_view node) {
  const std::string_view text = TextOf(victim);
  const std::size_t offset = victim.spec.node_name.empty() ? OffsetOfNodeName(text) : text.npos;
  out += text.substr(0, offset);
  if (offset == text.npos) return;
  const bool first = text[offset - 1] == '{';
  if (!first) out += ',';
  out += "\"nodeName\":";
  AppendGoJsonString(out, node);
  if (first && text[offset] != '}') out += ',';
  out += text.substr(offset);
}

}  // namespace

std::string NamesRequest(const api::Pod& pod, std::span<const std::string* const> nodes) {
  std::size_t size = TextOf(pod).size() + 64;
  for (const std::string* name : nodes) size += name->size() + 3;
  std::string out;
  out.reserve(size);
  out += "{\"Pod\":";
  out += TextOf(pod);
  out += ",\"Nodes\":null,\"NodeNames\":";
  AppendList(out, nodes, "[]", [&](const std::string* name) { AppendGoJsonString(out, *name); });
  return out += '}';
}

std::string NodesRequest(const api::Pod& pod, std::span<const api::Node* const> nodes) {
  std::size_t size = TextOf(pod).size() + 64;
  for (const api::Node* node : nodes) size += TextOf(*node).size() + 1;
  std::string out;
  out.reserve(size);
  out += "{\"Pod\":";
  out += TextOf(pod);
  out += ",\"Nodes\":{\"metadata\":{},\"items\":";
  AppendList(out, nodes, "null", [&](const api::Node* node) { out += TextOf(*node); });
  return out += "},\"NodeNames\":null}";
}

std::string BindRequest(const api::Pod& pod, std::string_view node) {
  std::string out = "{";
  AppendMember(out, "PodName", pod.metadata.name);
  AppendMember(out, "PodNamespace", pod.metadata.ns);
  AppendMember(out, "PodUID", pod.metadata.uid);
  AppendMember(out, "Node", node);
  return out += '}';
}

std::string PreemptRequest(const api::Pod& pod, std::span<const Victims> victims, bool whole) {
  std::string out = "{\"Pod\":";
  out += TextOf(pod);
  out += whole ? ",\"NodeNameToVictims\":{" : ",\"NodeNameToVictims\":null,\"NodeNameToMetaVictims\":{";
  for (const Victims& on_node : victims) {
    if (out.back() != '{') out += ',';
    AppendGoJsonString(out, on_node.node);
    out += ":{\"Pods\":";
    AppendList(out, on_node.pods, whole ? "[]" : "null", [&](const api::Pod* victim) {
      if (whole) return AppendVictim(out, *victim, on_node.node);
      out += "{";
      AppendMember(out, "UID", victim->metadata.uid);
      out += '}';
    });
    out += fmt::format(",\"NumPDBViolations\":{}}}", on_node.violations);
  }
  return out += whole ? "},\"NodeNameToMetaVictims\":null}" : "}}";
}

}  // namespace berth::extenders
