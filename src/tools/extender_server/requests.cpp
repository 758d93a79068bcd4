#include "tools/extender_server/requests.hpp"

#include <fmt/format.h>

#include <charconv>

#include "scheduler/extenders/json.hpp"

namespace berth::extender_server {
namespace {

using extenders::Json;

// A value in an error text, truncated to a readable length.
std::string Shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  const std::string_view text = value.text();
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "...";
}

Error Wrong(std::string_view field, std::string_view expected, const Json& value) {
  return {ErrorCode::kInvalid, fmt::format("{}: expected {}, got {}", field, expected, Shown(value))};
}

Expected<Json> ReadObject(std::string_view body) {
  auto value = extenders::FirstValue(body);
  if (!value) return Invalid(fmt::format("the body is not JSON: {}", value.error().message));
  if (value->kind() != Json::Kind::kObject)
    return std::unexpected(
        Wrong("the body", "an object such as {\"Pod\":{...},\"NodeNames\":[...]}", *value));
  return value;
}

// The member of that name, ignoring case; the last of several; null if absent.
Json Member(const Json& object, std::string_view name) {
  Json found;
  object.ForEachMember([&](std::string_view key, const Json& value) {
    if (extenders::IsKey(key, name)) found = value;
  });
  return found;
}

Expected<std::string> Text(const Json& object, std::string_view name, std::string_view field) {
  const Json value = Member(object, name);
  if (value.is_null()) return std::string();
  if (value.kind() != Json::Kind::kString) return std::unexpected(Wrong(field, "a string", value));
  return value.String();
}

Expected<api::PodPtr> ReadPod(const Json& body, api::Decoder& decoder) {
  const Json value = Member(body, "Pod");
  if (value.kind() != Json::Kind::kObject) return std::unexpected(Wrong("Pod", "a pod", value));
  auto pod = decoder.Object<api::Pod>(value.text());
  if (!pod) return Invalid("Pod." + pod.error().message);
  if (pod->metadata.name.empty()) return Invalid("Pod.metadata.name: expected a name, got none");
  api::ApplyDefaults(*pod);
  return std::make_shared<const api::Pod>(std::move(*pod));
}

// Calls visit(field, item) for each item; stops at the first error.
template <class Call>
Expected<void> EachItem(const Json& list, std::string_view field, Call&& call) {
  Expected<void> outcome;
  std::size_t index = 0;
  list.ForEachItem([&](const Json& item) {
    if (outcome) outcome = call(fmt::format("{}[{}]", field, index), item);
    ++index;
  });
  return outcome;
}

Expected<void> ReadNames(const Json& list, NodesRequest& request) {
  if (list.kind() != Json::Kind::kArray) return std::unexpected(Wrong("NodeNames", "a list of names", list));
  std::size_t index = 0;
  Expected<void> outcome;
  list.ForEachItem([&](const Json& item) {
    if (outcome && item.kind() != Json::Kind::kString)
      outcome = std::unexpected(Wrong(fmt::format("NodeNames[{}]", index), "a name", item));
    if (outcome) request.names.push_back(item.String());
    ++index;
  });
  return outcome;
}

Expected<void> ReadNodes(const Json& list, NodesRequest& request) {
  if (list.kind() != Json::Kind::kObject) return std::unexpected(Wrong("Nodes", "a NodeList", list));
  const Json items = Member(list, "items");
  if (items.is_null()) return {};
  if (items.kind() != Json::Kind::kArray)
    return std::unexpected(Wrong("Nodes.items", "a list of nodes", items));
  return EachItem(items, "Nodes.items", [&](const std::string& field, const Json& node) -> Expected<void> {
    if (node.kind() != Json::Kind::kObject) return std::unexpected(Wrong(field, "a node", node));
    const Json metadata = Member(node, "metadata");
    if (metadata.kind() != Json::Kind::kObject)
      return std::unexpected(Wrong(field + ".metadata", "an object with a name", metadata));
    BERTH_TRY(std::string name, Text(metadata, "name", field + ".metadata.name"));
    if (name.empty()) return Invalid(field + ".metadata.name: expected a name, got none");
    request.names.push_back(std::move(name));
    request.objects.push_back(node.text());
    return {};
  });
}

// The UID of a victim; a whole pod has it in its metadata.
Expected<std::string> UidOf(const Json& pod, bool whole, const std::string& field) {
  if (pod.kind() != Json::Kind::kObject) return std::unexpected(Wrong(field, "a pod", pod));
  if (!whole) return Text(pod, "UID", field + ".UID");
  const Json metadata = Member(pod, "metadata");
  if (metadata.kind() != Json::Kind::kObject)
    return std::unexpected(Wrong(field + ".metadata", "an object with a uid", metadata));
  return Text(metadata, "uid", field + ".metadata.uid");
}

Expected<NodeVictims> ReadVictims(const Json& value, bool whole, const std::string& field) {
  NodeVictims victims;
  if (value.is_null()) return victims;
  if (value.kind() != Json::Kind::kObject) return std::unexpected(Wrong(field, "victims", value));
  const Json number = Member(value, "NumPDBViolations");
  if (!number.is_null()) {
    const std::string_view text = number.text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), victims.violations);
    if (error != std::errc{} || end != text.data() + text.size())
      return std::unexpected(Wrong(field + ".NumPDBViolations", "an integer", number));
  }
  const Json pods = Member(value, "Pods");
  if (pods.is_null()) return victims;
  if (pods.kind() != Json::Kind::kArray) return std::unexpected(Wrong(field + ".Pods", "a list", pods));
  BERTH_RETURN_IF_ERROR(
      EachItem(pods, field + ".Pods", [&](const std::string& at, const Json& pod) -> Expected<void> {
        BERTH_TRY(victims.uids.emplace_back(), UidOf(pod, whole, at));
        return {};
      }));
  return victims;
}

}  // namespace

Expected<NodesRequest> DecodeNodesRequest(std::shared_ptr<const std::string> body, api::Decoder& decoder) {
  NodesRequest request;
  request.body = std::move(body);
  BERTH_TRY(const Json value, ReadObject(*request.body));
  BERTH_TRY(request.pod, ReadPod(value, decoder));
  const Json names = Member(value, "NodeNames");
  const Json nodes = Member(value, "Nodes");
  if (!names.is_null()) {
    BERTH_RETURN_IF_ERROR(ReadNames(names, request));
  } else if (!nodes.is_null()) {
    request.whole = true;
    BERTH_RETURN_IF_ERROR(ReadNodes(nodes, request));
  } else {
    return Invalid("NodeNames, Nodes: expected one of them, got null for both");
  }
  return request;
}

Expected<PreemptRequest> DecodePreemptRequest(const std::string& body, api::Decoder& decoder) {
  PreemptRequest request;
  BERTH_TRY(const Json value, ReadObject(body));
  BERTH_TRY(request.pod, ReadPod(value, decoder));
  const Json meta = Member(value, "NodeNameToMetaVictims");
  const bool whole = meta.is_null();
  const Json map = whole ? Member(value, "NodeNameToVictims") : meta;
  const std::string_view field = whole ? "NodeNameToVictims" : "NodeNameToMetaVictims";
  if (map.is_null())
    return Invalid("NodeNameToMetaVictims, NodeNameToVictims: expected one of them, got null for both");
  if (map.kind() != Json::Kind::kObject)
    return std::unexpected(Wrong(field, "a map from node to victims", map));
  Expected<void> outcome;
  map.ForEachMember([&](std::string_view key, const Json& member) {
    if (!outcome) return;
    const std::string node = extenders::Unquoted(key);
    auto victims = ReadVictims(member, whole, fmt::format("{}[{}]", field, node));
    if (!victims) {
      outcome = std::unexpected(std::move(victims).error());
      return;
    }
    victims->node = node;
    request.nodes.push_back(std::move(*victims));
  });
  BERTH_RETURN_IF_ERROR(outcome);
  return request;
}

Expected<BindRequest> DecodeBindRequest(const std::string& body) {
  BERTH_TRY(const Json value, ReadObject(body));
  BindRequest request;
  BERTH_TRY(request.pod, Text(value, "PodName", "PodName"));
  BERTH_TRY(request.ns, Text(value, "PodNamespace", "PodNamespace"));
  BERTH_TRY(request.uid, Text(value, "PodUID", "PodUID"));
  BERTH_TRY(request.node, Text(value, "Node", "Node"));
  for (const auto& [field, text] :
       {std::pair("PodName", &request.pod), std::pair("PodNamespace", &request.ns),
        std::pair("PodUID", &request.uid), std::pair("Node", &request.node)}) {
    if (text->empty()) return Invalid(fmt::format("{}: expected a string, got none", field));
  }
  return request;
}

}  // namespace berth::extender_server
