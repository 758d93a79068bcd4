#include "base/yaml.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>

#include "base/go_quote.hpp"
#include "base/invisible_characters.hpp"
#include "base/json_text.hpp"
#include "base/text_map.hpp"
#include "base/yaml_documents.hpp"

namespace berth::yaml {
namespace {

constexpr int kDepthMax = 100;

// --- members ---

// Finds the members of one map while it grows: Value::Find searches linearly, so that building a large map
// with it would take quadratic time.
class MemberIndex {
 public:
  // Null if there is no such member.
  Value* Find(Value& map, std::string_view key) {
    if (map.members.size() < kIndexedSize) return map.Find(key);
    for (; indexed_ < map.members.size(); ++indexed_)
      positions_.emplace(map.members[indexed_].first, indexed_);
    const auto found = positions_.find(key);
    return found == positions_.end() ? nullptr : &map.members[found->second].second;
  }
  void Set(Value& map, std::string_view key, Value value) {
    if (Value* member = Find(map, key)) {
      *member = std::move(value);
    } else {
      map.members.emplace_back(std::string(key), std::move(value));
    }
  }

 private:
  static constexpr std::size_t kIndexedSize = 16;  // most maps are smaller

  FlatTextMap<std::size_t> positions_;
  std::size_t indexed_ = 0;  // members that are in positions_
};

// --- numbers ---

// The shortest digits that identify a float: d.ddd * 10^exponent.
struct Decimal {
  std::string sign, digits;
  int exponent = 0;
};

template <class Float>
Decimal ShortestDecimal(Float value) {
  char buffer[64];
  const auto end =
      std::to_chars(std::begin(buffer), std::end(buffer), value, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  Decimal decimal;
  if (text.starts_with('-')) {
    decimal.sign = "-";
    text.remove_prefix(1);
  }
  const auto e = text.find('e');
  std::ranges::remove_copy(text.substr(0, e), std::back_inserter(decimal.digits), '.');
  decimal.exponent = std::atoi(std::string(text.substr(e + 1)).c_str());
  return decimal;
}

// strconv.FormatFloat with format 'f'.
std::string Fixed(const Decimal& decimal) {
  const auto& [sign, digits, exponent] = decimal;
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto before_point = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= before_point) return sign + digits + std::string(before_point - digits.size(), '0');
  return sign + digits.substr(0, before_point) + "." + digits.substr(before_point);
}

// strconv.FormatFloat with format 'e'; an exponent of one digit gets a zero if `wide`.
std::string Scientific(const Decimal& decimal, bool wide) {
  const auto& [sign, digits, exponent] = decimal;
  const std::string mantissa = digits.size() == 1 ? digits : digits.substr(0, 1) + "." + digits.substr(1);
  return fmt::format("{}{}e{}{:0{}}", sign, mantissa, exponent < 0 ? '-' : '+', std::abs(exponent),
                     wide ? 2 : 1);
}

// The number as encoding/json writes a float64.
std::string JsonNumber(double value) {
  const double magnitude = std::fabs(value);
  const Decimal decimal = ShortestDecimal(value);
  return magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21) ? Scientific(decimal, false)
                                                                   : Fixed(decimal);
}

// The name of a member whose key is a number: strconv.FormatFloat(value, 'g', -1, 32).
std::string KeyNumber(double value) {
  const Decimal decimal = ShortestDecimal(static_cast<float>(value));
  return decimal.exponent < -4 || decimal.exponent >= 6 ? Scientific(decimal, true) : Fixed(decimal);
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

// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool HasFloatForm(std::string_view text) {
  const auto digits = [&] {
    const auto size = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(size);
    return size > 0;
  };
  const auto one_of = [&](std::string_view characters) {
    const bool found = !text.empty() && characters.find(text[0]) != characters.npos;
    if (found) text.remove_prefix(1);
    return found;
  };
  one_of("+-");
  const bool whole = digits();
  const bool fraction = one_of(".") && digits();
  if (!whole && !fraction) return false;
  if (!one_of("eE")) return text.empty();
  one_of("+-");
  return digits() && text.empty();
}

struct Number {
  std::string text;            // as JSON
  std::optional<double> real;  // nullopt: an integer
};

std::optional<Number> NumberOf(const std::string& plain) {
  if (plain.empty()) return std::nullopt;
  const char first = plain[0];
  if (first != '.' && first != '-' && first != '+' && (first < '0' || first > '9')) return std::nullopt;
  std::string digits = plain;
  if (first != '.') {
    std::erase(digits, '_');
    if (auto integer = Integer(digits)) return Number{*std::move(integer), std::nullopt};
  }
  if (!HasFloatForm(digits)) return std::nullopt;
  const double value = std::strtod(digits.c_str(), nullptr);
  if (!std::isfinite(value)) return std::nullopt;
  return Number{JsonNumber(value), value};
}

// --- scalars of YAML ---

constexpr std::string_view kTag = "tag:yaml.org,2002:";

Value PlainScalar(std::string text) {
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
    value.text = std::move(number->text);
  }
  return value;
}

// What Go calls the plain scalars that YAML has for numbers and JSON has not; empty for others.
std::string_view InfiniteName(std::string_view text) {
  const bool negative = text.starts_with('-');
  const bool sign = negative || text.starts_with('+');
  const std::string_view name = text.substr(sign ? 1 : 0);
  if (name == ".inf" || name == ".Inf" || name == ".INF") return negative ? "-Inf" : "+Inf";
  return !sign && (name == ".nan" || name == ".NaN" || name == ".NAN") ? "NaN" : "";
}

// Plain scalars by YAML 1.1 as in Kubernetes' parser; quoted ones and those with unknown tags are strings.
Expected<Value> ScalarOf(const YAML::Node& node) {
  std::string text = node.Scalar();
  std::string_view tag = node.Tag();
  if (tag.empty() || tag == "?") return PlainScalar(std::move(text));
  if (!tag.starts_with(kTag)) return Value::Text(std::move(text));
  tag.remove_prefix(kTag.size());
  if (tag == "binary")
    return Invalid(fmt::format("yaml: line {}: !!binary is not supported", node.Mark().line + 1));
  const std::pair<std::string_view, Value::Kind> kinds[] = {{"null", Value::Kind::kNull},
                                                            {"bool", Value::Kind::kBool},
                                                            {"int", Value::Kind::kNumber},
                                                            {"float", Value::Kind::kNumber}};
  const auto* wanted = std::ranges::find(kinds, tag, &std::pair<std::string_view, Value::Kind>::first);
  if (wanted == std::end(kinds)) return Value::Text(std::move(text));
  Value value = PlainScalar(text);
  const bool infinite = tag == "float" && !InfiniteName(text).empty();
  const bool fraction = tag == "int" && value.kind == Value::Kind::kNumber && NumberOf(text)->real;
  if ((value.kind != wanted->second || fraction) && !infinite)
    return Invalid(fmt::format("yaml: cannot decode `{}` as a !!{}", text, tag));
  return value;
}

bool IsInfinite(const YAML::Node& node) {
  const std::string& tag = node.Tag();
  return (tag.empty() || tag == "?" || tag == std::string(kTag) + "float") &&
         !InfiniteName(node.Scalar()).empty();
}

// --- YAML ---

// The key of a member: its name in JSON, and Go's form of the value (%#v), which distinguishes 1 from "1".
struct Key {
  std::string name, shown;
};

Expected<Key> KeyOf(const YAML::Node& node) {
  const auto line = node.Mark().line + 1;
  if (!node.IsScalar()) return Invalid(fmt::format("yaml: line {}: a key must be plain text", line));
  BERTH_TRY(const Value value, ScalarOf(node));
  switch (value.kind) {
    case Value::Kind::kNull:
      return Invalid(fmt::format("yaml: line {}: unsupported map key of type: null", line));
    case Value::Kind::kBool:
      return Key{value.text, value.text};
    case Value::Kind::kNumber:
      break;
    default:
      return Key{value.text, GoQuote(value.text)};
  }
  if (const auto real = NumberOf(node.Scalar())->real) return Key{KeyNumber(*real), value.text};
  if (!value.text.starts_with('-') && value.text.size() >= 19 && std::stoull(value.text) > INT64_MAX)
    return Invalid(
        fmt::format("yaml: line {}: unsupported map key of type: uint64, key: {}", line, value.text));
  return Key{value.text, value.text};
}

bool IsMerge(const YAML::Node& key) {
  return key.IsScalar() && key.Scalar() == "<<" &&
         (key.Tag() == "?" || key.Tag().empty() || key.Tag() == std::string(kTag) + "merge");
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
        if (IsInfinite(node))
          return Invalid(fmt::format("json: unsupported value: {}", InfiniteName(node.Scalar())));
        return ScalarOf(node);
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
  struct Members {
    Value map = Value::Map();
    MemberIndex index;
    std::set<std::string> keys;  // as shown
  };

  Expected<Value> ReadMap(const YAML::Node& node, int depth) {
    Members members;
    BERTH_RETURN_IF_ERROR(ReadMembers(node, depth, members));
    return std::move(members.map);
  }

  Expected<void> ReadMembers(const YAML::Node& node, int depth, Members& into) {
    // Counted like values: maps that merge nothing but each other have none.
    if (depth > kDepthMax || ++values_ > values_max_)
      return Invalid("yaml: document contains excessive aliasing");
    for (const auto& entry : node) {
      if (IsMerge(entry.first)) {
        BERTH_RETURN_IF_ERROR(Merge(entry.second, depth, into));
      } else {
        BERTH_RETURN_IF_ERROR(Put(entry, depth, into));
      }
    }
    return {};
  }

  template <class Entry>
  Expected<void> Put(const Entry& entry, int depth, Members& into) {
    BERTH_TRY(Key key, KeyOf(entry.first));
    BERTH_TRY(Value member, Read(entry.second, depth + 1));
    if (!into.keys.insert(key.shown).second) {
      const int line = entry.second.Mark().line >= 0 ? entry.second.Mark().line : entry.first.Mark().line;
      duplicates.push_back(fmt::format("line {}: key {} already set in map", line + 1, key.shown));
    }
    into.index.Set(into.map, key.name, std::move(member));
    return {};
  }

  // Merges the members of another map, or of several ("<<").
  Expected<void> Merge(const YAML::Node& source, int depth, Members& into) {
    if (source.IsMap()) return ReadMembers(source, depth + 1, into);
    if (source.IsSequence()) {
      // From the last one, since earlier maps take precedence.
      for (std::size_t i = source.size(); i-- > 0;) {
        if (!source[i].IsMap()) return MergeError();
        BERTH_RETURN_IF_ERROR(ReadMembers(source[i], depth + 1, into));
      }
      return {};
    }
    return MergeError();
  }
  static std::unexpected<Error> MergeError() {
    return Invalid("yaml: map merge requires map or sequence of maps as the value");
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
    indexes_.emplace_back();
    return true;
  }
  bool Close() {
    Value value = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    indexes_.pop_back();
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
      if (indexes_.back().Find(open_.back(), key) != nullptr)
        duplicates.push_back(fmt::format("duplicate field \"{}\"", PathOf(key)));
      indexes_.back().Set(open_.back(), key, std::move(value));
    }
    return true;
  }

  std::vector<Value> open_;           // from the outermost
  std::vector<std::string> keys_;     // for each open value, the current member
  std::vector<MemberIndex> indexes_;  // for each open value
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

namespace {

// The text of a syntax error, "line 5: ...". If a character that cannot be seen is the probable cause, the
// text names it instead.
std::string SyntaxError(std::string_view text, std::size_t line, std::string_view message) {
  return FindInvisibleCharacter(text, line).value_or(fmt::format("line {}: {}", line, message));
}
std::string SyntaxError(std::string_view text, const YAML::Exception& error) {
  return SyntaxError(text, static_cast<std::size_t>(error.mark.line) + 1, error.msg);
}
// Of the documents' own checks, "yaml: line 5: ...". Others have no line.
Error SyntaxError(std::string_view text, Error error) {
  constexpr std::string_view kBegin = "yaml: line ";
  if (!error.message.starts_with(kBegin)) return error;
  const std::string_view rest = std::string_view(error.message).substr(kBegin.size());
  std::size_t line = 0;
  const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), line);
  if (code != std::errc{}) return error;
  if (auto found = FindInvisibleCharacter(text, line)) error.message = "yaml: " + *std::move(found);
  return error;
}

}  // namespace

Expected<ParsedText> ParseYaml(std::string_view text) {
  try {
    ParsedText parsed;
    YamlReader reader(text.size());
    const auto document = LoadFirstDocument(text);
    if (!document) return std::unexpected(SyntaxError(text, document.error()));
    BERTH_TRY(parsed.root, reader.Read(*document, 0));
    if (!reader.duplicates.empty())
      parsed.duplicates.push_back(
          fmt::format("yaml: unmarshal errors:\n  {}", fmt::join(reader.duplicates, "\n  ")));
    return parsed;
  } catch (const YAML::Exception& error) {
    return Invalid("yaml: " + SyntaxError(text, error));
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
    auto loaded = LoadDocuments(std::string(text));
    if (!loaded) return std::unexpected(SyntaxError(text, std::move(loaded).error()));
    documents = *std::move(loaded);
  } catch (const YAML::Exception& error) {
    return Invalid(SyntaxError(text, error));
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
