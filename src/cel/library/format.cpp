// Kubernetes' library of named formats.
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "cel/functions.hpp"
#include "cel/library/format_object.hpp"
#include "cel/library/url.hpp"
#include "cel/times.hpp"

namespace berth::cel {
namespace {

using Reasons = std::vector<std::string>;

constexpr const char* kLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr const char* kSubdomain = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
constexpr const char* kOldLabel = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr const char* kKey = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;

// Go's $ matches at the end of the text only, like RE2's.
template <const char* const& pattern>
bool MatchesAll(const std::string& text) {
  static const re2::RE2 compiled(pattern);
  return re2::RE2::FullMatch(text, compiled);
}

std::string TooLong(std::size_t limit) { return "must be no more than " + std::to_string(limit) + " bytes"; }

std::string WrongForm(std::string message, std::initializer_list<const char*> examples,
                      const std::string& pattern) {
  message += " (e.g. ";
  bool first = true;
  for (const char* example : examples) {
    if (!first) message += " or ";
    first = false;
    message += "'" + std::string(example) + "', ";
  }
  return message + "regex used for validation is '" + pattern + "')";
}

Reasons Label(const std::string& text) {
  Reasons reasons;
  if (text.size() > kMaxLabel) reasons.push_back(TooLong(kMaxLabel));
  if (MatchesAll<kLabel>(text)) return reasons;
  reasons.push_back(
      MatchesAll<kSubdomain>(text)
          ? "must not contain dots"
          : WrongForm("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or "
                      "'-', and must start and end with an alphanumeric character",
                      {"my-name", "123-abc"}, kLabel));
  return reasons;
}

Reasons Subdomain(const std::string& text) {
  Reasons reasons;
  if (text.size() > kMaxSubdomain) reasons.push_back(TooLong(kMaxSubdomain));
  if (!MatchesAll<kSubdomain>(text)) {
    reasons.push_back(
        WrongForm("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
                  "'-' or '.', and must start and end with an alphanumeric character",
                  {"example.com"}, kSubdomain));
  }
  return reasons;
}

Reasons OldLabel(const std::string& text) {
  Reasons reasons;
  if (text.size() > kMaxLabel) reasons.push_back(TooLong(kMaxLabel));
  if (!MatchesAll<kOldLabel>(text)) {
    reasons.push_back(
        WrongForm("a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with "
                  "an alphabetic character, and end with an alphanumeric character",
                  {"my-name", "abc-123"}, kOldLabel));
  }
  return reasons;
}

// A name may get a suffix: a dash at its end is allowed.
template <Reasons (*validate)(const std::string&)>
Reasons Prefix(const std::string& text) {
  if (text.size() <= 1 || text.back() != '-') return validate(text);
  return validate(text.substr(0, text.size() - 2) + "a");
}

constexpr const char* kKeyMessage =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character";

std::string WrongKey(const std::string& prefix) {
  return WrongForm(prefix + kKeyMessage, {"MyName", "my.name", "123-abc"}, kKey);
}

Reasons QualifiedName(const std::string& text) {
  Reasons reasons;
  const auto slashes = std::count(text.begin(), text.end(), '/');
  if (slashes > 1) {
    return {WrongKey("a valid label key ") +
            " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
  }
  const std::size_t slash = text.find('/');
  const std::string name = slash == text.npos ? text : text.substr(slash + 1);
  if (slash == 0) {
    reasons.push_back("prefix part must be non-empty");
  } else if (slash != text.npos) {
    for (const std::string& reason : Subdomain(text.substr(0, slash)))
      reasons.push_back("prefix part " + reason);
  }
  if (name.empty()) {
    reasons.push_back("name part must be non-empty");
  } else if (name.size() > kMaxLabel) {
    reasons.push_back("name part " + TooLong(kMaxLabel));
  }
  if (!MatchesAll<kKey>(name)) reasons.push_back(WrongKey("name part "));
  return reasons;
}

Reasons LabelValue(const std::string& text) {
  Reasons reasons;
  if (text.size() > kMaxLabel) reasons.push_back(TooLong(kMaxLabel));
  if (!text.empty() && !MatchesAll<kKey>(text)) {
    reasons.push_back(
        WrongForm("a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
                  "or '.', and must start and end with an alphanumeric character",
                  {"MyValue", "my_value", "12345"}, "(" + std::string(kKey) + ")?"));
  }
  return reasons;
}

Reasons Uri(const std::string& text) {
  const auto url = Url::ParseRequest(text);
  return url ? Reasons() : Reasons{url.error().message};
}

constexpr const char* kUuid = "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";
constexpr const char* kBase64 =
    "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})";
constexpr const char* kTime = "([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))";

bool IsFullDate(const std::string& text) {
  return text.size() == 10 && ParseTimestamp(text + "T00:00:00Z").kind() != ValueKind::kAbsent;
}

Reasons Uuid(const std::string& text) {
  return MatchesAll<kUuid>(text) ? Reasons() : Reasons{"does not match the UUID format"};
}
Reasons Byte(const std::string& text) {
  return MatchesAll<kBase64>(text) ? Reasons() : Reasons{"invalid base64"};
}
Reasons FullDate(const std::string& text) { return IsFullDate(text) ? Reasons() : Reasons{"invalid date"}; }

Reasons DateTime(const std::string& text) {
  Reasons invalid = {"invalid datetime"};
  std::string lower = text;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  }
  const std::size_t t = lower.find('t');
  if (lower.size() < 4 || t == lower.npos || !IsFullDate(lower.substr(0, t))) return invalid;
  const std::size_t next = lower.find('t', t + 1);
  const std::string time = lower.substr(t + 1, next == lower.npos ? next : next - t - 1);
  if (!MatchesAll<kTime>(time)) return invalid;
  const bool in_range = time.substr(0, 2) <= "23" && time.substr(3, 2) <= "59" && time.substr(6, 2) <= "59";
  return in_range ? Reasons() : invalid;
}

struct NamedFormat {
  const char* function;  // behind "format."
  const char* name;
  Reasons (*validate)(const std::string&);
  int regex_size;
};

constexpr std::array kFormats = {
    NamedFormat{"dns1123Label", "DNS1123Label", Label, 30},
    NamedFormat{"dns1123Subdomain", "DNS1123Subdomain", Subdomain, 60},
    NamedFormat{"dns1035Label", "DNS1035Label", OldLabel, 30},
    NamedFormat{"qualifiedName", "QualifiedName", QualifiedName, 60},
    NamedFormat{"dns1123LabelPrefix", "DNS1123LabelPrefix", Prefix<Label>, 30},
    NamedFormat{"dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", Prefix<Subdomain>, 60},
    NamedFormat{"dns1035LabelPrefix", "DNS1035LabelPrefix", Prefix<OldLabel>, 30},
    NamedFormat{"labelValue", "LabelValue", LabelValue, 40},
    NamedFormat{"uri", "URI", Uri, 1103},
    NamedFormat{"uuid", "uuid", Uuid, 70},
    NamedFormat{"byte", "byte", Byte, 84},
    NamedFormat{"date", "date", FullDate, 71},
    NamedFormat{"datetime", "datetime", DateTime, 71},
};

const TypePtr& NamedFormatType() {
  static const TypePtr type = ObjectOf("kubernetes.NamedFormat");
  return type;
}

Value FormatValueOf(const NamedFormat& format) {
  return Value::FromObject(ValueKind::kOpaque,
                           new FormatObject(format.name, format.validate, format.regex_size));
}

template <std::size_t index>
Value ConstantFormat(CallContext&, Arguments) {
  return FormatValueOf(kFormats[index]);
}

template <std::size_t... indexes>
void AddConstants(FunctionRegistry& registry, std::index_sequence<indexes...>) {
  (registry.AddGlobal(std::string("format.") + kFormats[indexes].function,
                      std::string("format.") + kFormats[indexes].function, {}, NamedFormatType(),
                      ConstantFormat<indexes>),
   ...);
}

Value Named(CallContext&, Arguments args) {
  for (const NamedFormat& format : kFormats) {
    if (args[0].text() == format.function) return Value::Optional(FormatValueOf(format));
  }
  return Value::NoOptional();
}

Value ValidateFormat(CallContext& context, Arguments args) {
  if (!context.budget.Spend(4 * args[1].text().size())) return {};
  std::vector<Value> reasons;
  for (std::string& reason : FormatOf(args[0])->validate(args[1].text())) {
    reasons.push_back(Value::String(std::move(reason)));
  }
  return reasons.empty() ? Value::NoOptional() : Value::Optional(Value::List(std::move(reasons)));
}

}  // namespace

const TypePtr& FormatObject::type() const { return NamedFormatType(); }

Value FormatObject::Equal(const OpaqueObject& other) const {
  return Value::Bool(name == static_cast<const FormatObject&>(other).name);
}

const FormatObject* FormatOf(const Value& value) {
  return value.kind() == ValueKind::kOpaque ? dynamic_cast<const FormatObject*>(&value.opaque()) : nullptr;
}

void AddKubernetesFormat(FunctionRegistry& registry) {
  AddConstants(registry, std::make_index_sequence<kFormats.size()>());
  registry.AddMember("validate", "format-validate", {NamedFormatType(), StringType()},
                     OptionalOf(ListOf(StringType())), ValidateFormat);
  registry.AddGlobal("format.named", "format-named", {StringType()}, OptionalOf(NamedFormatType()), Named);
}

}  // namespace berth::cel
