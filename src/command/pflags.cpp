#include "command/pflags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <memory>

#include "base/go_duration.hpp"
#include "base/nearest.hpp"
#include "log/log.hpp"

namespace berth::command {
namespace {

constexpr std::size_t kHelpWidth = 110;

std::string Normalized(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::optional<bool> ParseBool(std::string_view text) {
  for (const auto* yes : {"1", "t", "T", "TRUE", "true", "True"}) {
    if (text == yes) return true;
  }
  for (const auto* no : {"0", "f", "F", "FALSE", "false", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

Expected<std::int64_t> ParseInt(std::string_view text, int bits) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc::invalid_argument || rest != end)
    return Invalid(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
  const bool fits = bits == 64 || value == static_cast<std::int32_t>(value);
  if (error == std::errc::result_out_of_range || !fits)
    return Invalid(fmt::format("strconv.ParseInt: parsing \"{}\": value out of range", text));
  return value;
}

// One line of comma-separated values as Go's encoding/csv reads it.
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

void AppendWrapped(std::string& text, std::string_view words, std::size_t indent) {
  std::size_t column = indent;
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (column > indent && column + 1 + end > kHelpWidth) {
      text += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      text += ' ';
      ++column;
    }
    text += words.substr(0, end);
    column += end;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

}  // namespace

void PFlags::String(std::string name, std::string& out, std::string help) {
  Add({std::move(name), "string", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         out = text;
         return {};
       },
       [&out] { return out; }});
}

void PFlags::Bool(std::string name, bool& out, std::string help) {
  Add({std::move(name), "", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         const auto value = ParseBool(text);
         if (!value) return Invalid(fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text));
         out = *value;
         return {};
       },
       [&out] { return std::string(out ? "true" : "false"); }, "true"});
}

void PFlags::Number(int bits, std::string type, std::string& name, std::int64_t& out, std::string& help) {
  Add({std::move(name), std::move(type), std::move(help),
       [&out, bits](const std::string& text) -> Expected<void> {
         BERTH_TRY(out, ParseInt(text, bits));
         return {};
       },
       [&out] { return fmt::format("{}", out); }});
}

void PFlags::Float(std::string name, double& out, std::string help) {
  Add({std::move(name), "float32", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         const char* end = text.data() + text.size();
         double value = 0;
         const auto [rest, error] = std::from_chars(text.data(), end, value);
         if (error != std::errc{} || rest != end)
           return Invalid(fmt::format("strconv.ParseFloat: parsing \"{}\": invalid syntax", text));
         out = value;
         return {};
       },
       [&out] { return fmt::format("{}", out); }});
}

void PFlags::Duration(std::string name, berth::Duration& out, std::string help) {
  Add({std::move(name), "duration", std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         const auto value = ParseGoDuration(text);
         const bool number = !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.';
         });
         if (!value && number) return Invalid(fmt::format("time: missing unit in duration \"{}\"", text));
         if (!value) return Invalid(fmt::format("time: invalid duration \"{}\"", text));
         out = *value;
         return {};
       },
       [&out] { return FormatGoDuration(out); }});
}

void PFlags::Strings(std::string name, std::vector<std::string>& out, std::string help) {
  Add({std::move(name), "strings", std::move(help),
       [&out, first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
         BERTH_TRY(auto fields, ParseCsv(text));
         if (std::exchange(*first, false)) out.clear();
         out.insert(out.end(), fields.begin(), fields.end());
         return {};
       },
       [&out] { return out.empty() ? std::string() : fmt::format("[{}]", fmt::join(out, ",")); }});
}

void PFlags::Int32s(std::string name, std::vector<std::int64_t>& out, std::string help) {
  Add({std::move(name), "int32Slice", std::move(help),
       [&out, first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
         std::vector<std::int64_t> values;
         for (std::size_t at = 0; at <= text.size();) {
           const std::size_t end = std::min(text.find(',', at), text.size());
           BERTH_TRY(values.emplace_back(), ParseInt(std::string_view(text).substr(at, end - at), 32));
           at = end + 1;
         }
         if (std::exchange(*first, false)) out.clear();
         out.insert(out.end(), values.begin(), values.end());
         return {};
       },
       [&out] { return out.empty() ? std::string() : fmt::format("[{}]", fmt::join(out, ",")); }});
}

void PFlags::List(std::string name, std::string type, std::vector<std::string>& out, std::string help) {
  Add({std::move(name), std::move(type), std::move(help),
       [&out](const std::string& text) -> Expected<void> {
         out.push_back(text);
         return {};
       },
       [&out] { return fmt::format("{}", fmt::join(out, ",")); }});
}

void PFlags::Add(Spec spec) {
  if (sections_.empty()) Section("Flags");
  sections_.back().flags.push_back(flags_.size());
  std::string text = spec.show();
  if (text == "false" || text == "0" || text == "0s") text.clear();
  if (spec.type == "string" && !text.empty()) text = fmt::format("\"{}\"", text);
  flags_.push_back({std::move(spec), std::move(text)});
}

std::string PFlags::Flag::Names() const {
  return letter == 0 ? "--" + spec.name : fmt::format("-{}, --{}", letter, spec.name);
}

bool PFlags::Given(std::string_view name) const {
  return std::ranges::any_of(flags_, [&](const Flag& flag) { return flag.spec.name == name && flag.given; });
}

Expected<PFlags::Flag*> PFlags::FindLong(std::string_view name) {
  const std::string wanted = Normalized(name);
  for (Flag& flag : flags_) {
    if (flag.spec.name == wanted) return &flag;
  }
  std::vector<std::string> names;
  for (const Flag& flag : flags_) names.push_back("--" + flag.spec.name);
  const std::string near = Nearest("--" + wanted, names);
  return Invalid(
      fmt::format("unknown flag: --{}{}", name, near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

Expected<PFlags::Flag*> PFlags::FindShort(const std::string& arg) {
  for (Flag& flag : flags_) {
    if (flag.letter == arg[1]) return &flag;
  }
  return Invalid(fmt::format("unknown shorthand flag: '{}' in {}", arg[1], arg));
}

Expected<void> PFlags::Parse(std::span<const std::string> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (!arg.starts_with('-') || arg == "-" || arg == "--") {
      const bool terminator = arg == "--";
      if (terminator && i + 1 == args.size()) return {};
      const auto rest = args.subspan(terminator ? i + 1 : i);
      return Invalid(
          fmt::format("\"kube-scheduler\" does not take any arguments, got [\"{}\"]; flags are "
                      "given as --name=value",
                      fmt::join(rest, "\" \"")));
    }
    const bool is_long = arg.starts_with("--");
    const auto equals = arg.find('=');
    if (is_long && (arg[2] == '-' || arg[2] == '=')) return Invalid("bad flag syntax: " + arg);
    if (arg == "--help" || arg == "-h" || arg == "--help=true") {
      help_wanted_ = true;
      return {};
    }
    if (arg == "--help=false" || arg == "-h=false") continue;
    BERTH_TRY(Flag* const flag,
              is_long ? FindLong(std::string_view(arg).substr(2, equals - 2)) : FindShort(arg));
    std::string value;
    if (is_long ? equals != arg.npos : equals == 2) {
      value = arg.substr(equals + 1);
    } else if (!is_long && arg.size() > 2) {
      value = arg.substr(2);
    } else if (flag->spec.bare) {
      value = *flag->spec.bare;
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return Invalid(is_long ? "flag needs an argument: " + arg
                             : fmt::format("flag needs an argument: '{}' in {}", arg[1], arg));
    }
    if (auto set = flag->spec.set(value); !set) {
      std::string quoted;
      log::AppendQuoted(quoted, value);
      return Invalid(
          fmt::format("invalid argument {} for \"{}\" flag: {}", quoted, flag->Names(), set.error().message));
    }
    flag->given = true;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> PFlags::Values() const {
  std::vector<std::pair<std::string, std::string>> values;
  for (const Flag& flag : flags_) values.emplace_back(flag.spec.name, flag.spec.show());
  std::ranges::sort(values);
  return values;
}

std::string PFlags::Usage() const {
  std::string text;
  for (const Group& group : sections_) UsageOf(group, text);
  return text;
}

void PFlags::UsageOf(const Group& group, std::string& text) const {
  std::vector<std::size_t> order = group.flags;
  std::ranges::sort(order, {}, [&](std::size_t index) { return flags_[index].spec.name; });
  const auto head = [&](const Flag& flag) {
    return fmt::format("{}{}{}", flag.letter == 0 ? "      " : "  ", flag.Names(),
                       flag.spec.type.empty() ? "" : " " + flag.spec.type);
  };
  // A few long names do not push the texts of all others to the right.
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
    const std::string help = flag.default_text.empty()
                                 ? flag.spec.help
                                 : fmt::format("{} (default {})", flag.spec.help, flag.default_text);
    AppendWrapped(text, help, width + 3);
    text += '\n';
  }
}

}  // namespace berth::command
