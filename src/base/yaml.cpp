#include "base/yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <regex>

#include "base/json_text.hpp"

namespace berth::yaml {
namespace {

constexpr int kDepthMax = 100;

// --- scalars of YAML ---

// The number as encoding/json writes a float64.
std::string JsonNumber(double value) {
  const double magnitude = std::fabs(value);
  std::string text = fmt::format("{}", value);
  if (magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21)) {
    if (const auto e = text.find("e-0"); e != std::string::npos) text.erase(e + 2, 1);
    return text;
  }
  if (text.find('e') == std::string::npos) return text;
  text = fmt::format("{:.12f}", value);
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// Parses an integer as strconv.ParseInt with base 0: 0x, 0o, 0b and a leading 0 are prefixes. Returns decimal
// text, or nullopt.
std::optional<std::string> Integer(std::string text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    text.erase(0, letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  const auto is_digit = [](unsigned char c) { return std::isxdigit(c) != 0; };
  if (text.empty() || !std::ranges::all_of(text, is_digit)) return std::nullopt;
  errno = 0;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text.c_str(), &end, base);
  if (errno != 0 || end != text.c_str() + text.size()) return std::nullopt;
  if (negative && value > 9223372036854775808ULL) return std::nullopt;
  return (negative && value != 0 ? "-" : "") + std::to_string(value);
}

std::optional<std::string> NumberOf(const std::string& plain) {
  if (plain.empty()) return std::nullopt;
  static const std::regex float_form(R"([-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?)");
  const char first = plain[0];
  if (first != '.' && first != '-' && first != '+' && (first < '0' || first > '9')) return std::nullopt;
  std::string digits;
  std::ranges::remove_copy(plain, std::back_inserter(digits), '_');
  if (first != '.') {
    if (auto integer = Integer(digits)) return integer;
  }
  if (plain.size() > 64 || !std::regex_match(digits, float_form)) return std::nullopt;
  const double value = std::strtod(digits.c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  return JsonNumber(value);
}

// Plain scalars by YAML 1.1 as in Kubernetes' parser; quoted ones are strings.
Value ScalarOf(const YAML::Node& node) {
  std::string text = node.Scalar();
  if (node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str") return Value::Text(std::move(text));
  const auto is_one_of = [&](std::initializer_list<const char*> words) {
    return std::ranges::any_of(words, [&](const char* word) { return text == word; });
  };
  if (is_one_of({"", "~", "null", "Null", "NULL"})) return Value::Null();
  if (is_one_of({"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"}))
    return Value::Bool(true);
  if (is_one_of({"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"}))
    return Value::Bool(false);
  Value value = Value::Text(std::move(text));
  if (auto number = NumberOf(value.text)) {
    value.kind = Value::Kind::kNumber;
    value.text = std::move(*number);
  }
  return value;
}

// --- YAML ---

// What Go calls the plain scalars that YAML has for numbers and JSON has not; empty for others.
std::string_view InfiniteName(const YAML::Node& node, const Value& scalar) {
  if (scalar.kind != Value::Kind::kString || node.Tag() == "!" || node.Tag() == "tag:yaml.org,2002:str")
    return "";
  std::string_view text = scalar.text;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == ".inf" || text == ".Inf" || text == ".INF") return negative ? "-Inf" : "+Inf";
  const bool signless = text.size() == scalar.text.size();
  return signless && (text == ".nan" || text == ".NaN" || text == ".NAN") ? "NaN" : "";
}

class YamlReader {
 public:
  explicit YamlReader(std::size_t text_size) : values_max_(text_size + 100'000) {}

  Expected<Value> Read(const YAML::Node& node, int depth) {
    if (depth > kDepthMax)
      return Invalid(
          fmt::format("yaml: line {}: nested deeper than {} levels", node.Mark().line + 1, kDepthMax));
    // Only references to anchors can expand a file to more values than it has characters.
    if (++values_ > values_max_) return Invalid("yaml: document contains excessive aliasing");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return Value::Null();
      case YAML::NodeType::Scalar: {
        Value scalar = ScalarOf(node);
        if (const auto infinite = InfiniteName(node, scalar); !infinite.empty())
          return Invalid(fmt::format("json: unsupported value: {}", infinite));
        return scalar;
      }
      case YAML::NodeType::Sequence: {
        Value list = Value::List();
        for (const auto& item : node) {
          BERTH_TRY(list.items.emplace_back(), Read(item, depth + 1));
        }
        return list;
      }
      case YAML::NodeType::Map:
        break;
    }
    return ReadMap(node, depth);
  }

  std::vector<std::string> duplicates;

 private:
  Expected<Value> ReadMap(const YAML::Node& node, int depth) {
    Value map = Value::Map();
    for (const auto& entry : node) {
      if (!entry.first.IsScalar())
        return Invalid(fmt::format("yaml: line {}: a key must be plain text", entry.first.Mark().line + 1));
      const Value key = ScalarOf(entry.first);
      if (key.kind == Value::Kind::kString && key.text == "<<" && entry.first.Tag() != "!") {
        BERTH_RETURN_IF_ERROR(Merge(entry.second, depth, map));
        continue;
      }
      const std::string name = key.kind == Value::Kind::kNull ? entry.first.Scalar() : key.text;
      BERTH_RETURN_IF_ERROR(Put(name, entry, depth, map));
    }
    return map;
  }

  template <class Entry>
  Expected<void> Put(const std::string& name, const Entry& entry, int depth, Value& map) {
    BERTH_TRY(Value member, Read(entry.second, depth + 1));
    if (map.Find(name) != nullptr) {
      const int line = entry.second.Mark().line >= 0 ? entry.second.Mark().line : entry.first.Mark().line;
      duplicates.push_back(fmt::format("line {}: key \"{}\" already set in map", line + 1, name));
    }
    map.Set(name, std::move(member));
    return {};
  }

  // Merges the members of another map, or of several ("<<").
  Expected<void> Merge(const YAML::Node& source, int depth, Value& map) {
    if (depth > kDepthMax || (!source.IsMap() && !source.IsSequence()))
      return Invalid("yaml: map merge requires map or sequence of maps as the value");
    for (const auto& entry : source) {
      if (source.IsSequence()) {
        BERTH_RETURN_IF_ERROR(Merge(entry, depth + 1, map));
      } else if (entry.first.IsScalar()) {
        BERTH_RETURN_IF_ERROR(Put(entry.first.Scalar(), entry, depth, map));
      }
    }
    return {};
  }

  const std::size_t values_max_;
  std::size_t values_ = 0;
};

// --- JSON ---

// Receives Boost's events and builds the tree: Boost's own would hide members that occur twice.
struct TreeBuilder {
  using error_code = boost::json::error_code;
  using view = boost::json::string_view;
  constexpr static std::size_t max_object_size = std::size_t(-1);
  constexpr static std::size_t max_array_size = std::size_t(-1);
  constexpr static std::size_t max_key_size = std::size_t(-1);
  constexpr static std::size_t max_string_size = std::size_t(-1);

  Value root;
  std::vector<std::string> duplicates;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return Open(Value::Map()); }
  bool on_object_end(std::size_t, error_code&) { return Close(); }
  bool on_array_begin(error_code&) { return Open(Value::List()); }
  bool on_array_end(std::size_t, error_code&) { return Close(); }
  bool on_key_part(view part, std::size_t, error_code&) { return Append(key_text_, part); }
  bool on_key(view part, std::size_t, error_code&) {
    Append(key_text_, part);
    keys_.back() = std::move(key_text_);
    key_text_.clear();
    return true;
  }
  bool on_string_part(view part, std::size_t, error_code&) { return Append(text_, part); }
  bool on_string(view part, std::size_t, error_code&) {
    Append(text_, part);
    Put(Value::Text(std::move(text_)));
    text_.clear();
    return true;
  }
  bool on_number_part(view part, error_code&) { return Append(text_, part); }
  bool on_int64(std::int64_t, view part, error_code&) { return PutNumber(part); }
  bool on_uint64(std::uint64_t, view part, error_code&) { return PutNumber(part); }
  bool on_double(double, view part, error_code&) { return PutNumber(part); }
  bool on_bool(bool value, error_code&) { return Put(Value::Bool(value)); }
  bool on_null(error_code&) { return Put(Value::Null()); }
  bool on_comment_part(view, error_code&) { return true; }
  bool on_comment(view, error_code&) { return true; }

 private:
  static bool Append(std::string& text, view part) {
    text.append(part.data(), part.size());
    return true;
  }
  bool PutNumber(view part) {
    Append(text_, part);
    Value number = Value::Text(std::move(text_));
    number.kind = Value::Kind::kNumber;
    text_.clear();
    return Put(std::move(number));
  }
  bool Open(Value value) {
    open_.push_back(std::move(value));
    keys_.emplace_back();
    return true;
  }
  bool Close() {
    Value value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    return Put(std::move(value));
  }
  std::string PathOf(const std::string& key) const {
    std::string path;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      if (open_[i].kind == Value::Kind::kList) {
        path += fmt::format("[{}]", open_[i].items.size());
      } else {
        path += (path.empty() ? "" : ".") + keys_[i];
      }
    }
    return path.empty() ? key : path + "." + key;
  }
  bool Put(Value value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().kind == Value::Kind::kList) {
      open_.back().items.push_back(std::move(value));
    } else {
      const std::string& key = keys_.back();
      if (open_.back().Find(key) != nullptr)
        duplicates.push_back(fmt::format("duplicate field \"{}\"", PathOf(key)));
      open_.back().Set(key, std::move(value));
    }
    return true;
  }

  std::vector<Value> open_;        // from the outermost
  std::vector<std::string> keys_;  // for each open value, the current member
  std::string key_text_;
  std::string text_;
};

Expected<ParsedText> ParseJson(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::json::basic_parser<TreeBuilder> parser(options);
  boost::json::error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  const bool rest = text.substr(read).find_first_not_of(" \t\r\n") != std::string_view::npos;
  if (error || rest) {
    const bool cut = error == boost::json::error::incomplete;
    const auto line = 1 + std::ranges::count(text.substr(0, read), '\n');
    return Invalid(fmt::format(
        "couldn't get version/kind; json parse error: {}; line {} of the JSON text",
        cut ? "unexpected end of JSON input" : (error ? error.message() : "text after the end"), line));
  }
  ParsedText parsed{std::move(parser.handler().root), true, std::move(parser.handler().duplicates)};
  return parsed;
}

// Go visits YAML by sorted keys, since it is converted to JSON through a map; JSON in file order.
void Number(Value& value, bool by_key, std::uint32_t& next) {
  value.order = next++;
  for (Value& item : value.items) Number(item, by_key, next);
  std::vector<std::pair<std::string, Value>*> members;
  for (auto& member : value.members) members.push_back(&member);
  if (by_key) std::ranges::sort(members, {}, [](const auto* member) { return member->first; });
  for (auto* member : members) Number(member->second, by_key, next);
}

}  // namespace

Value::Value() = default;
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

namespace {

Value Scalar(Value::Kind kind, std::string text) {
  Value value;
  value.kind = kind;
  value.text = std::move(text);
  return value;
}

}  // namespace

Value Value::Bool(bool value) { return Scalar(Kind::kBool, value ? "true" : "false"); }
Value Value::Number(std::int64_t value) { return Scalar(Kind::kNumber, std::to_string(value)); }
Value Value::Float(double value) {
  return Scalar(Kind::kNumber, fmt::format("{}", static_cast<float>(value)));
}
Value Value::Text(std::string value) { return Scalar(Kind::kString, std::move(value)); }
Value Value::List() { return Scalar(Kind::kList, ""); }
Value Value::Map() { return Scalar(Kind::kMap, ""); }

const Value* Value::Find(std::string_view key) const {
  const auto found =
      std::ranges::find(members, key, [](const auto& member) { return std::string_view(member.first); });
  return found == members.end() ? nullptr : &found->second;
}

Value* Value::Find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).Find(key)); }

Value& Value::Set(std::string_view key, Value value) {
  if (Value* member = Find(key)) return *member = std::move(value);
  return members.emplace_back(std::string(key), std::move(value)).second;
}

void Value::Remove(std::string_view key) {
  std::erase_if(members, [&](const auto& member) { return member.first == key; });
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.text != b.text || a.items != b.items || a.members.size() != b.members.size())
    return false;
  return std::ranges::all_of(a.members, [&](const auto& member) {
    const Value* other = b.Find(member.first);
    return other != nullptr && *other == member.second;
  });
}

Expected<ParsedText> ParseYaml(std::string_view text) {
  try {
    ParsedText parsed;
    YamlReader reader(text.size());
    BERTH_TRY(parsed.root, reader.Read(YAML::Load(std::string(text)), 0));
    if (!reader.duplicates.empty())
      parsed.duplicates.push_back(
          fmt::format("yaml: unmarshal errors:\n  {}", fmt::join(reader.duplicates, "\n  ")));
    return parsed;
  } catch (const YAML::Exception& error) {
    return Invalid(fmt::format("yaml: line {}: {}", error.mark.line + 1, error.msg));
  }
}

Expected<ParsedText> ParseText(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  const bool json = begin != std::string_view::npos && text[begin] == '{';
  BERTH_TRY(ParsedText parsed, json ? ParseJson(text) : ParseYaml(text));
  std::uint32_t next = 1;
  Number(parsed.root, !json, next);
  return parsed;
}

Expected<Value> ParseValue(std::string_view text) {
  BERTH_TRY(ParsedText parsed, ParseYaml(text));
  if (!parsed.duplicates.empty()) return Invalid(parsed.duplicates.front());
  return std::move(parsed.root);
}

Expected<std::vector<Expected<Value>>> ParseStream(std::string_view text) {
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(std::string(text));
  } catch (const YAML::Exception& error) {
    return Invalid(fmt::format("line {}: {}", error.mark.line + 1, error.msg));
  }
  std::vector<Expected<Value>> values;
  YamlReader reader(text.size());
  for (const YAML::Node& document : documents) values.push_back(reader.Read(document, 0));
  return values;
}

void AppendJson(std::string& out, const Value& value, MemberOrder order) {
  switch (value.kind) {
    case Value::Kind::kNull:
      out += "null";
      return;
    case Value::Kind::kBool:
    case Value::Kind::kNumber:
      out += value.text;
      return;
    case Value::Kind::kString:
      return AppendJsonString(out, value.text);
    case Value::Kind::kList:
      out += '[';
      for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (i > 0) out += ',';
        AppendJson(out, value.items[i], order);
      }
      out += ']';
      return;
    case Value::Kind::kMap:
      break;
  }
  std::vector<const std::pair<std::string, Value>*> members;
  for (const auto& member : value.members) members.push_back(&member);
  if (order == MemberOrder::kByName)
    std::ranges::sort(members, {}, [](const auto* member) -> const std::string& { return member->first; });
  out += '{';
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(out, members[i]->first);
    out += ':';
    AppendJson(out, members[i]->second, order);
  }
  out += '}';
}

}  // namespace berth::yaml
