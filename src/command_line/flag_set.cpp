#include "command_line/flag_set.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "base/go_duration.hpp"
#include "base/go_quote.hpp"
#include "base/go_scalars.hpp"
#include "base/nearest.hpp"
#include "base/text_layout.hpp"
#include "base/trim.hpp"
#include "kubernetes/api/quantity.hpp"

namespace berth::command_line {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 50;

std::string SizeText(std::uint64_t bytes) {
  static constexpr std::string_view kUnits[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", bytes, kUnits[unit]);
}

std::string Normalized(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

bool IsFlag(std::string_view arg) { return arg.starts_with('-') && arg != "-"; }

// The error text of time.ParseDuration.
std::string WhatIsWrongWithDuration(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('-') || rest.starts_with('+')) rest.remove_prefix(1);
  while (!rest.empty()) {
    const std::size_t number = std::min(rest.find_first_not_of("0123456789."), rest.size());
    const std::string_view digits = rest.substr(0, number);
    if (digits.empty() || digits == "." || std::ranges::count(digits, '.') > 1) break;
    rest.remove_prefix(number);
    const std::string_view unit = rest.substr(0, std::min(rest.find_first_of("0123456789."), rest.size()));
    if (unit.empty()) return "missing unit in duration " + GoQuote(text);
    if (!ParseGoDuration("1" + std::string(unit)))
      return fmt::format("unknown unit {} in duration {}", GoQuote(unit), GoQuote(text));
    rest.remove_prefix(unit.size());
  }
  return "invalid duration " + GoQuote(text);
}

Expected<bool> ParseBool(const std::string& text) {
  const auto value = ParseGoBool(text);
  if (!value) return Invalid(fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text));
  return *value;
}

Expected<void> CheckChoice(const std::string& text, const std::vector<std::string>& values) {
  if (std::ranges::find(values, text) != values.end()) return {};
  const std::string near = Nearest(text, values);
  return Invalid(fmt::format("expected {}{}", fmt::join(values, ", "),
                             near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

// `note`: the range, as in the help.
auto ExpectedNumber(std::string_view kind, std::string_view note) {
  const std::string_view link = note.starts_with("at least") ? " of " : note.empty() ? "" : " ";
  return Invalid(fmt::format("expected {}{}{}", kind, link, note));
}

// Parses one line of comma-separated values like Go's encoding/csv.
Expected<std::vector<std::string>> ParseCsv(std::string_view text) {
  std::vector<std::string> fields;
  if (text.empty()) return fields;
  std::size_t at = 0;
  while (true) {
    std::string field;
    if (at < text.size() && text[at] == '"') {
      for (++at;; ++at) {
        if (at >= text.size())
          return Invalid(fmt::format(
              "parse error on line 1, column {}: extraneous or missing \" in quoted-field", text.size() + 1));
        if (text[at] != '"') {
          field += text[at];
        } else if (at + 1 < text.size() && text[at + 1] == '"') {
          field += text[at++];
        } else {
          break;
        }
      }
      if (++at < text.size() && text[at] != ',')
        return Invalid(
            fmt::format("parse error on line 1, column {}: extraneous or missing \" in quoted-field", at));
    } else {
      const std::size_t end = std::min(text.find(',', at), text.size());
      field = text.substr(at, end - at);
      if (const auto quote = field.find('"'); quote != field.npos)
        return Invalid(
            fmt::format("parse error on line 1, column {}: bare \" in non-quoted-field", at + quote + 1));
      at = end;
    }
    fields.push_back(std::move(field));
    if (at >= text.size()) return fields;
    ++at;
  }
}

}  // namespace

void FlagSet::String(std::string name, std::string& out, std::string help, std::string type) {
  Add({std::move(name), std::move(type), std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         out = text;
         return {};
       },
       [&out] { return out; }});
}

void FlagSet::Choice(std::string name, std::string& out, std::vector<std::string> values, std::string help) {
  std::string type = fmt::format("{}", fmt::join(values, "|"));
  Add({std::move(name), std::move(type), std::move(help),
       [&out, values](const std::string& text) -> Expected<void> {
         BERTH_RETURN_IF_ERROR(CheckChoice(text, values));
         out = text;
         return {};
       },
       [&out] { return out; }});
  CompleteWith([values = std::move(values)] { return values; });
}

void FlagSet::Choices(std::string name, std::vector<std::string>& out, std::vector<std::string> values,
                      std::string help, std::string type) {
  if (type.empty()) type = fmt::format("{},...", fmt::join(values, "|"));
  Add({std::move(name), std::move(type), std::move(help),
       [&out, values, first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
         const std::vector<std::string> chosen = SplitAtCommas(text);
         for (const std::string& one : chosen) BERTH_RETURN_IF_ERROR(CheckChoice(one, values));
         if (std::exchange(*first, false)) out.clear();
         out.insert(out.end(), chosen.begin(), chosen.end());
         return {};
       },
       [&out] { return fmt::format("{}", fmt::join(out, ",")); }});
  CompleteWith([values = std::move(values)] { return values; });
}

void FlagSet::NegatedBool(std::string name, bool& out, std::string help) {
  Add({std::move(name), "", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         BERTH_TRY(const bool value, ParseBool(text));
         out = !value;
         return {};
       },
       [&out] { return std::string(out ? "false" : "true"); }, "true"});
}

Expected<std::int64_t> FlagSet::ParseWidest(const std::string& text, Range<std::int64_t> range,
                                            const std::string& note) {
  const auto value = ParseGoInt(text, 64);
  if (!value || *value < range.least || *value > range.most) return ExpectedNumber("a whole number", note);
  return *value;
}

Expected<std::uint64_t> FlagSet::ParseWidest(const std::string& text, Range<std::uint64_t> range,
                                             const std::string& note) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  bool valid = at == end && error == std::errc();
  if (const auto number = ParseGoInt(text, 64)) {  // also hexadecimal, octal and binary numbers
    valid = *number >= 0;
    value = static_cast<std::uint64_t>(*number);
  }
  if (!valid || value < range.least || value > range.most) return ExpectedNumber("a whole number", note);
  return value;
}

std::vector<std::string> FlagSet::SplitAtCommas(const std::string& text) {
  std::vector<std::string> fields;
  if (text.empty()) return fields;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

void FlagSet::Real(std::string name, double& out, std::string help, Range<double> range) {
  const std::string note =
      range.most == Range<double>{}.most ? "" : fmt::format("from {} to {}", range.least, range.most);
  Add({.name = std::move(name),
       .type = "float",
       .help = std::move(help),
       .set = [&out, range, note](const std::string& text) -> Expected<void> {
         double value = 0;
         const char* const end = text.data() + text.size();
         const auto [at, error] = std::from_chars(text.data(), end, value);
         if (at != end || error != std::errc() || !(value >= range.least && value <= range.most))
           return ExpectedNumber("a number", note);
         out = value;
         return {};
       },
       .show = [&out] { return fmt::format("{}", out); },
       .note = note});
}

void FlagSet::Bool(std::string name, bool& out, std::string help) {
  Add({std::move(name), "", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         BERTH_TRY(out, ParseBool(text));
         return {};
       },
       [&out] { return std::string(out ? "true" : "false"); }, "true"});
}

void FlagSet::Number(int bits, std::string type, std::string& name, std::int64_t& out, std::string& help) {
  Add({std::move(name), std::move(type), std::move(help),
       [&out, bits](const std::string& text) -> Expected<void> {
         BERTH_TRY(out, ParseGoInt(text, bits));
         return {};
       },
       [&out] { return fmt::format("{}", out); }});
}

void FlagSet::Float(std::string name, double& out, std::string help) {
  Add({std::move(name), "float32", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         BERTH_TRY(out, ParseGoFloat32(text));
         return {};
       },
       [&out] { return fmt::format("{}", out); }});
}

void FlagSet::Duration(std::string name, berth::Duration& out, std::string help) {
  Add({std::move(name), "duration", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         const auto value = ParseGoDuration(text);
         if (!value) return Invalid("time: " + WhatIsWrongWithDuration(text));
         out = *value;
         return {};
       },
       [&out] { return FormatGoDuration(out); }});
}

void FlagSet::Duration(std::string name, berth::Duration& out, std::string help,
                       Range<berth::Duration> range) {
  const std::string note =
      fmt::format("from {} to {}", FormatGoDuration(range.least), FormatGoDuration(range.most));
  Add({.name = std::move(name),
       .type = "duration",
       .help = std::move(help),
       .set = [&out, range, note](const std::string& text) -> Expected<void> {
         const bool has_unit = text.find_first_not_of("0123456789.+-") != text.npos;
         const auto value = ParseGoDuration(has_unit || text.empty() ? text : text + "s");
         if (!value || *value < range.least || *value > range.most)
           return Invalid(fmt::format("expected a duration such as 1m30s {}", note));
         out = *value;
         return {};
       },
       .show = [&out] { return FormatGoDuration(out); },
       .note = note});
}

void FlagSet::Size(std::string name, std::uint64_t& bytes, std::string help) {
  Add({std::move(name), "quantity", std::move(help),
       [&bytes](const std::string& text) -> Expected<void> {
         const auto quantity = api::Quantity::Parse(text);
         if (!quantity)
           return Invalid(fmt::format("{}: expected a size such as 64Mi", quantity.error().message));
         if (quantity->Compare(api::Quantity()) < 0 ||
             quantity->Compare(api::Quantity::FromInteger(std::int64_t{kMaxSize})) > 0)
           return Invalid("expected a size from 0 to 1Pi, such as 64Mi");
         bytes = static_cast<std::uint64_t>(quantity->Value());
         return {};
       },
       [&bytes] { return SizeText(bytes); }});
}

void FlagSet::HiddenMebibytes(std::string name, std::uint64_t& bytes) {
  Add({.name = std::move(name),
       .type = "int",
       .help = "",
       .set = [&bytes](const std::string& text) -> Expected<void> {
         BERTH_TRY(const std::int64_t mebibytes, ParseGoInt(text, 64));
         if (mebibytes < 0 || mebibytes > kMaxSize >> 20)
           return Invalid(fmt::format("expected a number of MiB from 0 to {}", kMaxSize >> 20));
         bytes = static_cast<std::uint64_t>(mebibytes) << 20;
         return {};
       },
       .show = [&bytes] { return fmt::format("{}", bytes >> 20); },
       .hidden = true});
}

void FlagSet::Strings(std::string name, std::vector<std::string>& out, std::string help) {
  Add({std::move(name), "strings", std::move(help),
       [&out, first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
         BERTH_TRY(auto fields, ParseCsv(text));
         if (std::exchange(*first, false)) out.clear();
         out.insert(out.end(), fields.begin(), fields.end());
         return {};
       },
       [&out] { return fmt::format("[{}]", fmt::join(out, ",")); }});
}

void FlagSet::Int32s(std::string name, std::vector<std::int64_t>& out, std::string help) {
  Add({std::move(name), "int32Slice", std::move(help),
       [&out, first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
         std::vector<std::int64_t> values;
         for (std::size_t at = 0; at <= text.size();) {
           const std::size_t end = std::min(text.find(',', at), text.size());
           BERTH_TRY(values.emplace_back(), ParseGoInt(std::string_view(text).substr(at, end - at), 32));
           at = end + 1;
         }
         if (std::exchange(*first, false)) out.clear();
         out.insert(out.end(), values.begin(), values.end());
         return {};
       },
       [&out] { return fmt::format("[{}]", fmt::join(out, ",")); }});
}

void FlagSet::List(std::string name, std::string type, std::vector<std::string>& out, std::string help) {
  Add({std::move(name), std::move(type), std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         out.push_back(text);
         return {};
       },
       [&out] { return fmt::format("{}", fmt::join(out, ",")); }});
}

void FlagSet::StringMap(std::string name, std::string type, std::map<std::string, std::string>& out,
                        std::string help) {
  Add({std::move(name), std::move(type), std::move(help),
       [&out, first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
         const auto count = std::ranges::count(text, '=');
         if (count == 0) return Invalid(text + " must be formatted as key=value");
         std::vector<std::string> pairs = {std::string(Trimmed(text, "\""))};
         if (count > 1) {
           BERTH_TRY(pairs, ParseCsv(text));
         }
         std::map<std::string, std::string> values;
         for (const std::string& pair : pairs) {
           const auto equals = pair.find('=');
           if (equals == pair.npos) return Invalid(pair + " must be formatted as key=value");
           values.insert_or_assign(pair.substr(0, equals), pair.substr(equals + 1));
         }
         if (std::exchange(*first, false)) out.clear();
         for (auto& [key, value] : values) out.insert_or_assign(key, std::move(value));
         return {};
       },
       [&out] {
         std::vector<std::string> pairs;
         for (const auto& [key, value] : out) pairs.push_back(fmt::format("{}={}", key, value));
         return fmt::format("[{}]", fmt::join(pairs, ","));
       }});
}

void FlagSet::Add(Spec spec) {
  if (sections_.empty()) Section("Flags");
  if (!spec.hidden) sections_.back().flags.push_back(flags_.size());
  std::string text = spec.show();
  if (text == "false" || text == "0" || text == "0s" || (text == "[]" && spec.type == "strings"))
    text.clear();  // as pflag's help, which shows empty lists of other types
  if (spec.type == "string" && !text.empty()) text = fmt::format("\"{}\"", text);
  flags_.push_back({std::move(spec), std::move(text)});
}

std::string FlagSet::Flag::Names() const {
  return letter == 0 ? "--" + spec.name : fmt::format("-{}, --{}", letter, spec.name);
}

Expected<void> FlagSet::Flag::Set(const std::string& value) {
  if (auto set = spec.set(value); !set) {
    return Invalid(
        fmt::format("invalid argument {} for \"{}\" flag: {}", GoQuote(value), Names(), set.error().message));
  }
  given = true;
  return {};
}

bool FlagSet::IsSet(std::string_view name) const {
  return std::ranges::any_of(flags_, [&](const Flag& flag) { return flag.spec.name == name && flag.given; });
}

Expected<FlagSet::Flag*> FlagSet::FindLong(std::string_view name) {
  const std::string wanted = Normalized(name);
  for (Flag& flag : flags_) {
    if (flag.spec.name == wanted) return &flag;
  }
  return Invalid(fmt::format("unknown flag: --{}{}", name, Suggestion("--" + wanted)));
}

// "; did you mean --config?", or empty if no flag is similar.
std::string FlagSet::Suggestion(const std::string& flag) const {
  std::vector<std::string> names;
  for (const Flag& existing : flags_) {
    if (!existing.spec.hidden) names.push_back("--" + existing.spec.name);
  }
  const std::string near = Nearest(flag, names);
  return near.empty() ? "" : fmt::format("; did you mean {}?", near);
}

Expected<FlagSet::Flag*> FlagSet::FindShort(char letter, const std::string& arg) {
  for (Flag& flag : flags_) {
    if (flag.letter == letter) return &flag;
  }
  // Programs with other rules accept one dash before a long name.
  const std::string suggestion = arg.size() > 2 ? Suggestion("-" + arg.substr(0, arg.find('='))) : "";
  return Invalid(fmt::format("unknown shorthand flag: '{}' in {}{}", letter, arg, suggestion));
}

Expected<void> FlagSet::Parse(std::span<const std::string> args) {
  std::vector<std::string> others;
  for (std::size_t i = 0; i < args.size();) {
    const std::string& arg = args[i];
    if (arg == "--") {
      others.insert(others.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1, args.end());
      break;
    }
    if (IsFlag(arg)) {
      BERTH_TRY(i, ParseFlag(args, i));
    } else {
      others.push_back(arg);
      ++i;
    }
  }
  others_ = std::move(others);
  return {};
}

Expected<std::size_t> FlagSet::ParseLeading(std::span<const std::string> args) {
  std::size_t i = 0;
  while (i < args.size() && IsFlag(args[i])) {
    if (args[i] == "--") return i + 1;
    BERTH_TRY(i, ParseFlag(args, i));
  }
  return i;
}

Expected<std::size_t> FlagSet::ParseFlag(std::span<const std::string> args, std::size_t i) {
  return args[i].starts_with("--") ? ParseLong(args, i) : ParseShort(args, i);
}

// ParseLong and ParseShort return the index of the next argument.
Expected<std::size_t> FlagSet::ParseLong(std::span<const std::string> args, std::size_t i) {
  const std::string& arg = args[i];
  if (arg[2] == '-' || arg[2] == '=') return Invalid("bad flag syntax: " + arg);
  const auto equals = arg.find('=');
  BERTH_TRY(Flag* const flag, FindLong(std::string_view(arg).substr(2, equals - 2)));
  if (equals != arg.npos) {
    BERTH_RETURN_IF_ERROR(flag->Set(arg.substr(equals + 1)));
  } else if (flag->spec.bare) {
    BERTH_RETURN_IF_ERROR(flag->Set(*flag->spec.bare));
  } else if (++i < args.size()) {
    BERTH_RETURN_IF_ERROR(flag->Set(args[i]));
  } else {
    return Invalid("flag needs an argument: " + arg);
  }
  return i + 1;
}

// Several letters may be combined: all but the last are switches.
Expected<std::size_t> FlagSet::ParseShort(std::span<const std::string> args, std::size_t i) {
  const std::string& arg = args[i];
  for (std::string_view letters = std::string_view(arg).substr(1); !letters.empty();
       letters.remove_prefix(1)) {
    BERTH_TRY(Flag* const flag, FindShort(letters.front(), arg));
    if (letters.size() > 2 && letters[1] == '=') {
      BERTH_RETURN_IF_ERROR(flag->Set(std::string(letters.substr(2))));
      break;
    }
    if (flag->spec.bare) {
      BERTH_RETURN_IF_ERROR(flag->Set(*flag->spec.bare));
      continue;
    }
    if (letters.size() > 1) {
      BERTH_RETURN_IF_ERROR(flag->Set(std::string(letters.substr(1))));
    } else if (++i < args.size()) {
      BERTH_RETURN_IF_ERROR(flag->Set(args[i]));
    } else {
      return Invalid(fmt::format("flag needs an argument: '{}' in {}", letters, arg));
    }
    break;
  }
  return i + 1;
}

// Flags whose type is that of kube-scheduler ("string") are recognized by their names.
bool FlagSet::Flag::TakesFile() const {
  static constexpr std::string_view kEnds[] = {"-file", "kubeconfig", "config", "-to", "-dir"};
  return spec.type == "FILE" ||
         (spec.type == "string" &&
          std::ranges::any_of(kEnds, [&](std::string_view end) { return spec.name.ends_with(end); }));
}

Candidates FlagSet::Flag::Values(std::string_view word) const {
  Candidates candidates{.files = TakesFile()};
  if (!spec.complete) return candidates;
  for (std::string& value : spec.complete()) candidates.Offer(word, std::move(value));
  return candidates;
}

Candidates FlagSet::NamesOfFlags(const std::string& word) const {
  Candidates candidates;
  for (const Flag& flag : flags_) {
    if (!flag.spec.hidden) candidates.Offer(word, "--" + flag.spec.name, flag.spec.help);
  }
  return candidates;
}

// The flag of an argument "--name", "--name=value" or "-n"; null if there is none.
const FlagSet::Flag* FlagSet::FindExisting(const std::string& arg) const {
  const std::string name = Normalized(std::string_view(arg).substr(0, arg.find('=')));
  const auto found = std::ranges::find_if(flags_, [&](const Flag& flag) {
    return name == "--" + flag.spec.name || (flag.letter != 0 && name == std::string{'-', flag.letter});
  });
  return found == flags_.end() ? nullptr : &*found;
}

FlagSet::LeadingCompletion FlagSet::CompleteLeading(std::span<const std::string> before,
                                                    const std::string& word) {
  std::size_t i = 0;
  while (i < before.size() && IsFlag(before[i])) {
    const Flag* const flag = FindExisting(before[i]);
    const bool takes_next = flag != nullptr && !flag->spec.bare && !before[i].contains('=');
    if (takes_next && i + 1 == before.size()) return {flag->Values(word), i};
    const auto next = ParseFlag(before, i);  // an invalid flag does not prevent the completion of others
    i = next ? *next : i + (takes_next ? 2 : 1);
  }
  if (i < before.size() || !word.starts_with('-')) return {std::nullopt, i};
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return {NamesOfFlags(word), i};
  const Flag* const flag = FindExisting(word);
  return {flag == nullptr ? Candidates{} : flag->Values(std::string_view(word).substr(equals + 1)), i};
}

std::optional<Candidates> FlagSet::Complete(std::span<const std::string> before, const std::string& word) {
  others_.clear();
  for (;;) {
    if (!before.empty() && before.front() == "--") {
      others_.insert(others_.end(), before.begin() + 1, before.end());
      return std::nullopt;
    }
    LeadingCompletion leading = CompleteLeading(before, word);
    if (leading.candidates) return std::move(leading.candidates);
    if (leading.others >= before.size()) return std::nullopt;
    if (before[leading.others] != "--") others_.push_back(before[leading.others++]);
    before = before.subspan(leading.others);
  }
}

void FlagSet::Require() {
  flags_.back().required = true;
  flags_.back().spec.note = "required";
}

Expected<void> FlagSet::CheckRequired() const {
  for (const Flag& flag : flags_) {
    if (flag.required && !flag.given)
      return Invalid(fmt::format("required flag \"{}\" is not set: {}", flag.Names(), flag.spec.help));
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> FlagSet::Values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Flag& flag : flags_) {
    if (!flag.spec.hidden) values.emplace_back(flag.spec.name, flag.spec.show());
  }
  std::ranges::sort(values);
  return values;
}

std::string FlagSet::Usage() const {
  std::string text;
  for (const Group& group : sections_) UsageOf(group, text);
  return text;
}

void FlagSet::UsageOf(const Group& group, std::string& text) const {
  std::vector<std::size_t> order = group.flags;
  std::ranges::sort(order, {}, [&](std::size_t index) { return flags_[index].spec.name; });
  const auto head = [&](const Flag& flag) {
    return fmt::format("{}{}{}", flag.letter == 0 ? "      " : "  ", flag.Names(),
                       flag.spec.type.empty() ? "" : " " + flag.spec.type);
  };
  // Names longer than the limit do not shift the texts of all other flags.
  std::size_t width = 0;
  for (const std::size_t index : order) width = std::max(width, head(flags_[index]).size());
  width = std::min<std::size_t>(width, 42);
  text += fmt::format("{}{}:\n\n", text.empty() ? "" : "\n", group.title);
  for (const std::size_t index : order) {
    const Flag& flag = flags_[index];
    const std::string left = head(flag);
    text += left;
    text +=
        left.size() > width ? "\n" + std::string(width + 3, ' ') : std::string(width + 3 - left.size(), ' ');
    std::string help = flag.spec.help;
    if (!flag.spec.note.empty()) help += fmt::format(" ({})", flag.spec.note);
    if (!flag.default_text.empty()) help += fmt::format(" (default {})", flag.default_text);
    AppendWrapped(text, help, width + 3, kHelpWidth);
    text += '\n';
  }
}

}  // namespace berth::command_line
