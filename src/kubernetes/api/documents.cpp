// Files of objects. YAML is converted to JSON first, so that there is one decoder with one set of rules.
#include <fmt/format.h>
#include <simdjson.h>

#include <optional>

#include "base/yaml.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::api {
namespace {

// The group of "group/version" in the object; empty: the core group.
std::string GroupOf(const simdjson::dom::element& object) {
  std::string_view version;
  if (object["apiVersion"].get(version) != simdjson::SUCCESS) return "";
  const std::size_t slash = version.find('/');
  return std::string(version.substr(0, slash == std::string_view::npos ? 0 : slash));
}

// One parsed document: an object, or a List of them (nested Lists too, as kubectl prints for several kinds).
Expected<void> SplitList(const simdjson::dom::element& root, const std::string& location, Documents& out) {
  simdjson::dom::object object;
  if (root.get(object) != simdjson::SUCCESS) return Invalid(location + ": expected a Kubernetes object");
  std::string_view kind;
  if (object["kind"].get(kind) != simdjson::SUCCESS || kind.empty())
    return Invalid(location + ": kind: Required value");
  simdjson::dom::array items;
  if (!kind.ends_with("List") || object["items"].get(items) != simdjson::SUCCESS) {
    out.objects.push_back({std::string(kind), GroupOf(root), simdjson::minify(root), location});
    return {};
  }
  const std::string item_kind(kind.substr(0, kind.size() - 4));
  std::size_t index = 0;
  for (const auto& item : items) {
    const std::string place = fmt::format("{}, items[{}]", location, index++);
    std::string_view own_kind;
    if (item["kind"].get(own_kind) != simdjson::SUCCESS && !item_kind.empty()) {
      // Typed lists (PodList) omit kind and version in their items.
      out.objects.push_back({item_kind, GroupOf(root), simdjson::minify(item), place});
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
  BERTH_TRY(const auto documents, yaml::ParseStream(text));
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const std::string location = fmt::format("document {}", i + 1);
    if (!documents[i]) {
      out.errors.push_back(fmt::format("{}: {}", location, documents[i].error().message));
      continue;
    }
    if (documents[i]->kind == yaml::Value::Kind::kNull) continue;
    std::string json;
    yaml::AppendJson(json, *documents[i]);
    if (auto added = AddJson(json, location, out); !added) out.errors.push_back(added.error().message);
  }
  return out;
}

}  // namespace berth::api
