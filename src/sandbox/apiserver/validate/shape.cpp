#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "kubernetes/api/quantity.hpp"
#include "sandbox/apiserver/validate/validate.hpp"
#include "sandbox/store/schema/schema.hpp"

namespace berth::sandbox {
namespace {

using Many = SchemaField::Many;

std::string_view GoKind(const json::value& value) {
  switch (value.kind()) {
    case json::kind::string:
      return "string";
    case json::kind::bool_:
      return "bool";
    case json::kind::object:
      return "object";
    case json::kind::array:
      return "array";
    case json::kind::null:
      return "null";
    default:
      return "number";
  }
}

// `form`: d is a digit, ~ a sign, everything else itself.
bool HasForm(std::string_view text, std::string_view form) {
  return std::ranges::equal(text, form, [](char c, char wanted) {
    if (wanted == 'd') return c >= '0' && c <= '9';
    return wanted == '~' ? c == '+' || c == '-' : c == wanted;
  });
}

constexpr std::string_view kTimeForm = "dddd-dd-ddTdd:dd:dd";

// 2006-01-02T15:04:05, an optional fraction (required in a MicroTime), and Z or an offset.
bool HasTimeForm(std::string_view text, bool micro) {
  if (!HasForm(text.substr(0, kTimeForm.size()), kTimeForm)) return false;
  text.remove_prefix(kTimeForm.size());
  std::size_t digits = 0;
  if (text.starts_with('.')) {
    digits = std::min(text.find_first_not_of("0123456789", 1), text.size()) - 1;
    if (digits == 0) return false;
    text.remove_prefix(digits + 1);
  }
  if (micro && digits != 6) return false;
  return text == "Z" || HasForm(text, "~dd:dd");
}

// The first part that is out of range, in Go's words and order; nullopt if the time exists. The text has the
// form of a time.
std::optional<std::string_view> PartOutOfRange(std::string_view text) {
  const auto number = [](std::string_view digits) {
    unsigned value = 0;
    for (const char c : digits) value = value * 10 + static_cast<unsigned>(c - '0');
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(number(text.substr(0, 4)))),
                                         std::chrono::month(number(text.substr(5, 2))),
                                         std::chrono::day(number(text.substr(8, 2)))};
  if (!date.month().ok()) return "month";
  if (number(text.substr(11, 2)) > 23) return "hour";
  if (number(text.substr(14, 2)) > 59) return "minute";
  if (number(text.substr(17, 2)) > 59) return "second";
  if (!text.ends_with('Z')) {
    // Go accepts offsets of 24 hours and of 60 minutes.
    if (number(text.substr(text.size() - 5, 2)) > 24) return "time zone offset hour";
    if (number(text.substr(text.size() - 2)) > 60) return "time zone offset minute";
  }
  return date.ok() ? std::nullopt : std::optional<std::string_view>("day");
}

// The offset at which Go's decoder fails.
std::optional<std::size_t> BadBase64At(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '/';
  };
  std::size_t letters = 0;
  std::size_t i = 0;
  for (; i < text.size() && text[i] != '='; ++i) {
    if (text[i] == '\n' || text[i] == '\r') continue;
    if (!letter(text[i])) return i;
    ++letters;
  }
  std::size_t padding = 0;
  for (; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == '\r') continue;
    if (text[i] != '=') return i;
    ++padding;
  }
  const bool whole = (letters + padding) % 4 == 0 && padding <= 2;
  return whole ? std::nullopt : std::optional(text.size() / 4 * 4);
}

// The rest of the text where Go's parser fails, and the expected layout element.
std::string WhereTimeFails(std::string_view text) {
  static constexpr std::pair<std::size_t, std::string_view> kParts[] = {
      {0, "2006"}, {4, "-"},  {5, "01"},  {7, "-"},  {8, "02"},  {10, "T"},
      {11, "15"},  {13, ":"}, {14, "04"}, {16, ":"}, {17, "05"}, {19, "Z07:00"}};
  std::size_t good = 0;
  while (good < kTimeForm.size() && HasForm(text.substr(good, 1), kTimeForm.substr(good, 1))) ++good;
  std::pair<std::size_t, std::string_view> part = kParts[0];
  for (const auto& candidate : kParts) {
    if (candidate.first <= good) part = candidate;
  }
  return fmt::format("\"{}\" as \"{}\"", text.substr(std::min(part.first, text.size())), part.second);
}

// What Go makes of a null element of a list.
json::value ZeroElement(const SchemaField& field) {
  switch (field.type) {
    case 's':
    case 'D':
    case 'B':
      return "";
    case 'i':
    case 'l':
    case 'I':
      return 0;
    case 'b':
      return false;
    case 'd':
      return 0.0;
    case 'q':
      return "0";
    case 'm':
      return json::object();
    default:
      return nullptr;
  }
}

bool IsInt32(const json::value& value) {
  return value.is_int64() && std::in_range<std::int32_t>(value.get_int64());
}
bool IsInt64(const json::value& value) {
  return value.is_int64() || (value.is_uint64() && std::in_range<std::int64_t>(value.get_uint64()));
}

std::string GoType(const SchemaField& field) {
  std::string name;
  switch (field.type) {
    case 's':
      name = "string";
      break;
    case 'i':
      name = "int32";
      break;
    case 'l':
      name = "int64";
      break;
    case 'b':
      name = "bool";
      break;
    case 'd':
      name = "float64";
      break;
    case 'q':
      name = "resource.Quantity";
      break;
    case 't':
      name = "v1.Time";
      break;
    case 'T':
      name = "v1.MicroTime";
      break;
    case 'I':
      name = "intstr.IntOrString";
      break;
    case 'B':
      name = "[]uint8";
      break;
    case 'm':
      name = fmt::format("v1.{}", field.message->name.substr(field.message->name.find('.') + 1));
      break;
    default:
      name = "interface {}";
  }
  if (field.many == Many::kList) return "[]" + name;
  if (field.many == Many::kMap) return field.type == 'q' ? "v1.ResourceList" : "map[string]" + name;
  return name;
}

// The current path; formatted only for errors.
struct Path {
  const Path* above = nullptr;
  std::string_view name;
  std::ptrdiff_t index = -1;  // of a list's element

  std::string ToString() const {
    if (index >= 0) return fmt::format("{}[{}]", above->ToString(), index);
    const std::string parent = above != nullptr ? above->ToString() : "";
    return parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
  }
};

class Checker {
 public:
  explicit Checker(const ResourceType& type) : type_(type) {}

  ApiResult<> Check(json::object& object, const SchemaMessage& message, const Path* path) {
    for (auto entry = object.begin(); entry != object.end();) {
      const SchemaField* field = message.Find(std::string_view(entry->key()));
      const Path here{path, entry->key()};
      const bool type_name = path == nullptr && (entry->key() == "kind" || entry->key() == "apiVersion");
      if (field == nullptr && !type_name && !message.open) {
        unknown_.push_back(here.ToString());
        entry = object.stable_erase(entry);
        continue;
      }
      if (field != nullptr && !entry->value().is_null())
        BERTH_RETURN_IF_ERROR(Member(entry->value(), *field, message, here));
      ++entry;
    }
    return {};
  }
  std::vector<std::string> TakeUnknown() { return std::move(unknown_); }

 private:
  ApiResult<> Member(json::value& value, const SchemaField& field, const SchemaMessage& in,
                     const Path& path) {
    if (field.many == Many::kOne) return One(value, field, in, path);
    if (field.many == Many::kList) {
      if (!value.is_array()) return Wrong(value, field, in, path);
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        json::value& element = value.get_array()[i];
        if (element.is_null()) element = ZeroElement(field);
        if (element.is_null()) continue;
        BERTH_RETURN_IF_ERROR(One(element, field, in, {&path, {}, static_cast<std::ptrdiff_t>(i)}));
      }
      return {};
    }
    if (!value.is_object()) return Wrong(value, field, in, path);
    for (auto& entry : value.get_object()) {
      if (!entry.value().is_null()) BERTH_RETURN_IF_ERROR(One(entry.value(), field, in, path));
    }
    return {};
  }

  ApiResult<> One(json::value& value, const SchemaField& field, const SchemaMessage& in, const Path& path) {
    bool good = true;
    switch (field.type) {
      case 's':
      case 'D':
        good = value.is_string();
        break;
      case 'B':
        good = value.is_string();
        if (const auto bad = good ? BadBase64At(value.get_string()) : std::nullopt)
          return Refuse(fmt::format("illegal base64 data at input byte {}", *bad));
        break;
      case 'b':
        good = value.is_bool();
        break;
      case 'i':
        good = IsInt32(value);
        break;
      case 'l':
        good = IsInt64(value);
        break;
      case 'd':
        good = value.is_number();
        break;
      case 'I':
        good = value.is_string() || IsInt32(value);
        break;
      case 't':
      case 'T':
        return Time(value, field, in, path);
      case 'q':
        return Quantity(value, field, in, path);
      case 'm':
        if (value.is_object()) return Check(value.get_object(), *field.message, &path);
        good = false;
        break;
      default:
        break;
    }
    return good ? ApiResult<>() : Wrong(value, field, in, path);
  }

  ApiResult<> Time(json::value& value, const SchemaField& field, const SchemaMessage& in, const Path& path) {
    if (!value.is_string()) return Wrong(value, field, in, path);
    const std::string_view text = value.get_string();
    const bool micro = field.type == 'T';
    if (text.empty()) {
      value = nullptr;
      return {};
    }
    if (HasTimeForm(text, micro)) {
      const auto wrong = PartOutOfRange(text);
      return wrong ? Refuse(fmt::format("parsing time \"{}\": {} out of range", text, *wrong))
                   : ApiResult<>();
    }
    const std::string_view form = micro ? "2006-01-02T15:04:05.000000Z07:00" : "2006-01-02T15:04:05Z07:00";
    return Refuse(
        fmt::format("parsing time \"{0}\" as \"{1}\": cannot parse {2}", text, form, WhereTimeFails(text)));
  }

  // Numbers are accepted as quantities, too, and become strings.
  ApiResult<> Quantity(json::value& value, const SchemaField& field, const SchemaMessage& in,
                       const Path& path) {
    if (value.is_double())
      value = json::string(fmt::format("{}", value.get_double()));
    else if (value.is_number())
      value = json::string(json::serialize(value));
    if (!value.is_string()) return Wrong(value, field, in, path);
    const auto quantity = api::Quantity::Parse(value.get_string());
    if (!quantity) return Refuse(quantity.error().message);
    const std::string canonical = quantity->Canonical();
    if (canonical != std::string_view(value.get_string())) value = json::string(canonical);
    return {};
  }

  ApiResult<> Wrong(const json::value& value, const SchemaField& field, const SchemaMessage& in,
                    const Path& path) {
    const bool number = value.is_number() && (field.type == 'i' || field.type == 'l');
    return Refuse(fmt::format("json: cannot unmarshal {}{} into Go struct field {}.{} of type {}",
                              GoKind(value), number ? " " + json::serialize(value) : "",
                              in.name.substr(in.name.find('.') + 1), path.ToString(), GoType(field)));
  }
  ApiResult<> Refuse(std::string_view why) {
    return BadRequest(fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: {2}", type_.kind,
                                  type_.version, why));
  }

  const ResourceType& type_;
  std::vector<std::string> unknown_;
};

// Patches and protobuf can nest deeper than any body that the parser accepts. managedFields are the server's.
ApiResult<> CheckNesting(const ResourceType& type, const json::object& document) {
  const auto check = [&](std::string_view parent, const auto& member, std::size_t levels) -> ApiResult<> {
    if (!IsNestedDeeper(member.value(), levels)) return {};
    return InvalidObject(type.group, type.kind, FindString(document, "metadata.name"),
                         {FieldForbidden(fmt::format("{}{}", parent, std::string_view(member.key())),
                                         fmt::format("nested deeper than {} levels", kMaxNesting))});
  };
  for (const auto& member : document) {
    const json::object* metadata = member.key() == "metadata" ? member.value().if_object() : nullptr;
    if (metadata == nullptr) {
      BERTH_RETURN_IF_ERROR(check("", member, kMaxNesting - 1));
      continue;
    }
    for (const auto& entry : *metadata) {
      if (entry.key() != "managedFields") BERTH_RETURN_IF_ERROR(check("metadata.", entry, kMaxNesting - 2));
    }
  }
  return {};
}

}  // namespace

ApiResult<> CheckShape(const ResourceType& type, json::object& document, const WriteOptions& options) {
  BERTH_RETURN_IF_ERROR(CheckNesting(type, document));
  if (type.schema == nullptr) {
    const json::value* metadata = Find(document, "metadata");
    if (metadata != nullptr && !metadata->is_object()) return BadRequest("metadata must be an object");
    return {};
  }
  Checker checker(type);
  BERTH_RETURN_IF_ERROR(checker.Check(document, *type.schema, nullptr));
  std::vector<std::string> unknown = checker.TakeUnknown();
  if (unknown.empty() || options.validation == FieldValidation::kIgnore) return {};
  for (auto& field : unknown) field = fmt::format("unknown field \"{}\"", field);
  if (options.validation == FieldValidation::kStrict) {
    return BadRequest(
        fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: strict decoding error: {2}",
                    type.kind, type.version, fmt::join(unknown, ", ")));
  }
  if (options.warnings != nullptr)
    options.warnings->insert(options.warnings->end(), unknown.begin(), unknown.end());
  return {};
}

}  // namespace berth::sandbox
