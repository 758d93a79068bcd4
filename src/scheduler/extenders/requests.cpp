#include "scheduler/extenders/requests.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"

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
      if (whole) {
        out += TextOf(*victim);
        return;
      }
      out += "{";
      AppendMember(out, "UID", victim->metadata.uid);
      out += '}';
    });
    out += fmt::format(",\"NumPDBViolations\":{}}}", on_node.violations);
  }
  return out += whole ? "},\"NodeNameToMetaVictims\":null}" : "}}";
}

}  // namespace berth::extenders
