#include "command/pflags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/nearest.hpp"

namespace berth::command {
namespace {

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

}  // namespace

void PFlags::String(std::string name, std::string& out, std::string help) {
  flags_.push_back({std::move(name), std::move(help), out.empty() ? "" : fmt::format("\"{}\"", out), false, 0,
                    false, [&out](const std::string& text) -> Expected<void> {
                      out = text;
                      return {};
                    }});
}

void PFlags::List(std::string name, std::vector<std::string>& out, std::string help) {
  flags_.push_back({std::move(name), std::move(help), "", false, 0, false,
                    [&out](const std::string& text) -> Expected<void> {
                      out.push_back(text);
                      return {};
                    }});
}

void PFlags::Bool(std::string name, bool& out, std::string help) {
  flags_.push_back({std::move(name), std::move(help), out ? "true" : "", true, 0, false,
                    [&out](const std::string& text) -> Expected<void> {
                      const auto value = ParseBool(text);
                      if (!value)
                        return Invalid(
                            fmt::format("strconv.ParseBool: parsing \"{}\": invalid syntax", text));
                      out = *value;
                      return {};
                    }});
}

void PFlags::Integer(std::string name, std::int64_t& out, std::string help) {
  flags_.push_back({std::move(name), std::move(help), fmt::format("{}", out), false, 0, false,
                    [&out](const std::string& text) -> Expected<void> {
                      std::int64_t value = 0;
                      const auto [end, error] =
                          std::from_chars(text.data(), text.data() + text.size(), value);
                      if (error != std::errc{} || end != text.data() + text.size()) {
                        return Invalid(fmt::format("strconv.ParseInt: parsing \"{}\": invalid syntax", text));
                      }
                      out = value;
                      return {};
                    }});
}

PFlags::Flag* PFlags::Find(std::string_view name) {
  const std::string wanted = Normalized(name);
  const auto found = std::ranges::find(flags_, wanted, &Flag::name);
  return found == flags_.end() ? nullptr : &*found;
}

bool PFlags::Given(std::string_view name) const {
  const auto found = std::ranges::find(flags_, name, &Flag::name);
  return found != flags_.end() && found->given;
}

Expected<void> PFlags::Parse(std::span<const std::string> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--help" || arg == "-h") {
      help_wanted_ = true;
      return {};
    }
    Flag* flag = nullptr;
    std::string shown;
    const auto equals = arg.find('=');
    if (arg.starts_with("--") && arg.size() > 2) {
      shown = arg.substr(0, equals);
      flag = Find(std::string_view(shown).substr(2));
      if (flag == nullptr) {
        std::vector<std::string> names;
        for (const Flag& known : flags_) names.push_back("--" + known.name);
        const std::string near = Nearest(shown, names);
        return Invalid(fmt::format("unknown flag: {}{}", shown,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
      }
    } else if (arg.starts_with("-") && arg.size() > 1) {
      shown = arg.substr(0, 2);
      const auto found = std::ranges::find(flags_, arg[1], &Flag::letter);
      if (found == flags_.end())
        return Invalid(fmt::format("unknown shorthand flag: '{}' in {}", arg[1], arg));
      flag = &*found;
    } else {
      return Invalid(fmt::format("\"kube-scheduler\" does not take any arguments, got [\"{}\"]", arg));
    }
    std::string value;
    if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (!arg.starts_with("--") && arg.size() > 2) {
      value = arg.substr(2);
    } else if (flag->is_bool) {
      value = "true";
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return Invalid(fmt::format("flag needs an argument: {}", shown));
    }
    if (auto set = flag->set(value); !set) {
      return Invalid(
          fmt::format("invalid argument \"{}\" for \"{}\" flag: {}", value, shown, set.error().message));
    }
    flag->given = true;
  }
  return {};
}

std::string PFlags::Usage() const {
  std::string text;
  for (const Flag& flag : flags_) {
    const std::string name = flag.letter == 0 ? fmt::format("      --{}", flag.name)
                                              : fmt::format("  -{}, --{}", flag.letter, flag.name);
    text += fmt::format("{:<38} {}{}\n", name, flag.help,
                        flag.default_text.empty() ? "" : fmt::format(" (default {})", flag.default_text));
  }
  return text;
}

}  // namespace berth::command
