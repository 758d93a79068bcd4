// Files of objects. YAML is converted to JSON first, so that there is one decoder with one set of rules.
#include <fmt/format.h>
#include <simdjson.h>
#include <yaml-cpp/yaml.h>

#include <optional>

#include "kubernetes/api/decode.hpp"
#include "base/json_text.hpp"

namespace berth::api {
namespace {

Expected<void> SplitList(const simdjson::dom::element& root, const std::string& location, Documents& out);
Expected<std::string> YamlToJson(const YAML::Node& node, int depth);

constexpr int kDepthMax = 100;

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

bool IsJsonNumber(const std::string& text) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  return parser.parse(text).get(element) == simdjson::SUCCESS && element.is_number();
}

// Plain scalars with Kubernetes' rules (YAML 1.1 booleans, the spellings of null, numbers); quoted ones are
// strings.
std::string ScalarToJson(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return JsonString(text);
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return "null";
  for (const auto* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"}) {
    if (text == yes) return "true";
  }
  for (const auto* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"}) {
    if (text == no) return "false";
  }
  return IsJsonNumber(text) ? text : JsonString(text);
}

Expected<std::string> YamlToJson(const YAML::Node& node, int depth) {
  if (depth > kDepthMax) return Invalid(fmt::format("nested deeper than {} levels", kDepthMax));
  std::string out;
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return "null";
    case YAML::NodeType::Scalar:
      return ScalarToJson(node);
    case YAML::NodeType::Sequence:
      for (const auto& item : node) {
        BERTH_TRY(const std::string json, YamlToJson(item, depth + 1));
        out += (out.empty() ? "" : ",") + json;
      }
      return "[" + out + "]";
    case YAML::NodeType::Map:
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) return Invalid("a key is not a string");
        BERTH_TRY(const std::string json, YamlToJson(entry.second, depth + 1));
        out += (out.empty() ? "" : ",") + JsonString(entry.first.Scalar()) + ":" + json;
      }
      return "{" + out + "}";
  }
  return "null";
}

// One parsed document: an object, or a List (also nested, as kubectl prints for several kinds).
Expected<void> SplitList(const simdjson::dom::element& root, const std::string& location, Documents& out) {
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) return Invalid(location + ": expected a Kubernetes object");
  std::string_view kind;
  if (object["kind"].get(kind) != simdjson::SUCCESS || kind.empty())
    return Invalid(location + ": kind: Required value");
  simdjson::dom::array items;
  if (!kind.ends_with("List") || object["items"].get(items) != simdjson::SUCCESS) {
    out.objects.push_back({std::string(kind), simdjson::minify(root), location});
    return {};
  }
  const std::string item_kind(kind.substr(0, kind.size() - 4));
  std::size_t index = 0;
  for (const auto& item : items) {
    const std::string place = fmt::format("{}, items[{}]", location, index++);
    std::string_view own_kind;
    if (item["kind"].get(own_kind) != simdjson::SUCCESS && !item_kind.empty()) {
      // Typed lists (PodList) omit the kind in their items.
      out.objects.push_back({item_kind, simdjson::minify(item), place});
    } else if (auto split = SplitList(item, place, out); !split) {
      out.errors.push_back(split.error().message);
    }
  }
  return {};
}

Expected<void> AddJson(std::string_view text, const std::string& location, Documents& out) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root)) {
    return Invalid(fmt::format("{}: not valid JSON: {}", location, simdjson::error_message(error)));
  }
  return SplitList(root, location, out);
}

}  // namespace

Expected<Documents> SplitDocuments(std::string_view text) {
  Documents out;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return out;
  if (text[first] == '{') {
    if (auto whole = AddJson(text, "document 1", out)) return out;
    // Not JSON, or several JSON documents: YAML's flow style covers both, and its error message is better.
    out = {};
  }
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(std::string(text));
  } catch (const YAML::Exception& error) {
    return Invalid(fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!documents[i].IsDefined() || documents[i].IsNull()) continue;
    const std::string location = fmt::format("document {}", i + 1);
    auto json = YamlToJson(documents[i], 0);
    auto added = json ? AddJson(*json, location, out)
                      : Expected<void>(std::unexpected(std::move(json).error().In(location)));
    if (!added) out.errors.push_back(added.error().message);
  }
  return out;
}

}  // namespace berth::api
