#include "kubernetes/client/yaml_reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/json_text.hpp"
#include "http/base64.hpp"

namespace berth::client::yaml {

struct Reader::Node {
  YAML::Node node;
  std::string path;
  std::optional<std::string>* error;  // shared by a document

  std::string Below(std::string_view key) const {
    return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
  }
  YAML::Node Field(std::string_view key) const {
    // Iterates because indexing a mapping with non-scalar keys throws, and indexing creates missing keys.
    for (const auto& entry : node) {
      if (entry.first.IsScalar() && entry.first.Scalar() == key) return entry.second;
    }
    return YAML::Node(YAML::NodeType::Undefined);
  }
  void Say(const std::string& where, std::string_view problem) const {
    if (*error) return;
    *error = where.empty() ? std::string(problem) : fmt::format("{}: {}", where, problem);
  }
};

namespace {

template <std::size_t N>
bool OneOf(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, text) != words.end();
}

constexpr std::array<std::string_view, 11> kTrue{"y",    "Y",    "yes", "Yes", "YES", "true",
                                                 "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse{"n",     "N",     "no",  "No",  "NO", "false",
                                                  "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};

bool Plain(const YAML::Node& node) { return node.IsScalar() && node.Tag() == "?"; }

bool IsNumber(const std::string& text) {
  if (text.find_first_of("0123456789") == text.npos) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size();
}

// The type of a node by YAML 1.1 rules.
std::string_view TypeOf(const YAML::Node& node) {
  if (!node.IsDefined() || node.IsNull()) return "null";
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (!Plain(node)) return "text";
  const std::string& text = node.Scalar();
  if (OneOf(text, kNull)) return "null";
  if (OneOf(text, kTrue) || OneOf(text, kFalse)) return "a boolean";
  return IsNumber(text) ? "a number" : "text";
}

bool Absent(const YAML::Node& node) { return TypeOf(node) == "null"; }

std::string Wanted(std::string_view what, const YAML::Node& found) {
  return fmt::format("expected {}, got {}", what, TypeOf(found));
}

constexpr int kDepthMax = 100;

// 0x10, .5 and +1 are valid numbers in YAML, not in JSON.
void AppendNumber(const std::string& text, std::string& out) {
  const auto digits = text.find_first_not_of('-');
  const bool leading_zero = digits + 1 < text.size() && text[digits] == '0';
  if (text.find_first_not_of("-0123456789") == text.npos && !leading_zero) {
    out += text;
  } else {
    out += fmt::format("{}", std::strtod(text.c_str(), nullptr));
  }
}

// Values that are nested too deeply become null.
void AppendJson(const YAML::Node& node, std::string& out, int depth = 0) {
  if (depth > kDepthMax) {
    out += "null";
    return;
  }
  const std::string_view type = TypeOf(node);
  if (type == "a map") {
    out += '{';
    for (const auto& entry : node) {
      if (out.back() != '{') out += ',';
      AppendJsonString(out, entry.first.IsScalar() ? entry.first.Scalar() : "");
      out += ':';
      AppendJson(entry.second, out, depth + 1);
    }
    out += '}';
  } else if (type == "a list") {
    out += '[';
    for (const auto& item : node) {
      if (out.back() != '[') out += ',';
      AppendJson(item, out, depth + 1);
    }
    out += ']';
  } else if (type == "text") {
    AppendJsonString(out, node.Scalar());
  } else if (type == "null") {
    out += "null";
  } else if (type == "a boolean") {
    out += OneOf(node.Scalar(), kTrue) ? "true" : "false";
  } else {
    AppendNumber(node.Scalar(), out);
  }
}

}  // namespace

void Reader::Text(std::string_view key, std::string& out) const {
  const YAML::Node field = node_->Field(key);
  if (Absent(field)) return;
  if (TypeOf(field) != "text") return node_->Say(node_->Below(key), Wanted("text", field));
  out = field.Scalar();
}

void Reader::Boolean(std::string_view key, bool& out) const {
  const YAML::Node field = node_->Field(key);
  if (Absent(field)) return;
  if (TypeOf(field) != "a boolean") return node_->Say(node_->Below(key), Wanted("a boolean", field));
  out = OneOf(field.Scalar(), kTrue);
}

void Reader::Texts(std::string_view key, std::vector<std::string>& out) const {
  const YAML::Node field = node_->Field(key);
  if (Absent(field)) return;
  if (!field.IsSequence()) return node_->Say(node_->Below(key), Wanted("a list", field));
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (TypeOf(field[i]) != "text") {
      return node_->Say(fmt::format("{}[{}]", node_->Below(key), i), Wanted("text", field[i]));
    }
    out.push_back(field[i].Scalar());
  }
}

void Reader::Base64(std::string_view key, std::string& out) const {
  std::string text;
  Text(key, text);
  auto decoded = http::DecodeBase64(text);
  if (!decoded) return node_->Say(node_->Below(key), "illegal base64 data");
  out = std::move(*decoded);
}

std::string Reader::Json(std::string_view key) const {
  const YAML::Node field = node_->Field(key);
  std::string out;
  if (!Absent(field)) AppendJson(field, out);
  return out;
}

std::optional<Reader> Reader::Map(std::string_view key) const {
  const YAML::Node field = node_->Field(key);
  if (Absent(field)) return std::nullopt;
  if (!field.IsMap()) {
    node_->Say(node_->Below(key), Wanted("a map", field));
    return std::nullopt;
  }
  return Reader(std::make_shared<const Node>(field, node_->Below(key), node_->error));
}

void Reader::EachItem(std::string_view key, const std::function<void(const Reader&)>& visit) const {
  const YAML::Node field = node_->Field(key);
  if (Absent(field)) return;
  if (!field.IsSequence()) return node_->Say(node_->Below(key), Wanted("a list", field));
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::string path = fmt::format("{}[{}]", node_->Below(key), i);
    if (!field[i].IsMap()) return node_->Say(path, Wanted("a map", field[i]));
    visit(Reader(std::make_shared<const Node>(field[i], path, node_->error)));
  }
}

void Reader::EachKey(const std::function<void(const std::string&)>& visit) const {
  for (const auto& entry : node_->node) {
    if (entry.first.IsScalar()) visit(entry.first.Scalar());
  }
}

void Reader::Fail(std::string_view problem) const { node_->Say(node_->path, problem); }

std::optional<std::string> ReadDocument(std::string_view text,
                                        const std::function<void(const Reader&)>& read) {
  std::optional<std::string> error;
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    if (Absent(root)) return std::nullopt;
    if (!root.IsMap()) return Wanted("a map", root);
    read(Reader(std::make_shared<const Reader::Node>(root, "", &error)));
  } catch (const YAML::Exception& problem) {
    return fmt::format("yaml: {}", problem.what());
  }
  return error;
}

}  // namespace berth::client::yaml
