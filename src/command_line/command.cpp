#include "command_line/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>

#include "base/nearest.hpp"
#include "base/text_layout.hpp"

namespace berth::command_line {
namespace {

constexpr const char* kHelp = "help";  // the subcommand that every command with subcommands has

// Lines of "  name   text", the texts below each other.
void AppendList(std::string& text, std::string_view title,
                const std::vector<std::pair<std::string_view, std::string_view>>& rows) {
  std::size_t width = 0;
  for (const auto& [name, about] : rows) width = std::max(width, name.size());
  text += fmt::format("\n{}:\n\n", title);
  for (const auto& [name, about] : rows) {
    text += fmt::format("  {:<{}}   ", name, width);
    AppendWrapped(text, about, width + 5, kHelpWidth);
    text += '\n';
  }
}

}  // namespace

Command::Command(std::string name, std::string about) : name_(std::move(name)), about_(std::move(about)) {
  flags_.Bool("help", help_, "Prints this help.");
  flags_.Shorthand('h');
}

void Command::Argument(std::string name, std::string& out, std::string help) {
  positionals_.push_back({.name = std::move(name), .help = std::move(help), .one = &out});
}

void Command::OptionalArgument(std::string name, std::string& out, std::string help) {
  positionals_.push_back({.name = std::move(name), .help = std::move(help), .one = &out, .required = false});
}

void Command::Arguments(std::string name, std::vector<std::string>& out, std::string help) {
  positionals_.push_back({.name = std::move(name), .help = std::move(help), .list = &out});
}

void Command::OptionalArguments(std::string name, std::vector<std::string>& out, std::string help) {
  positionals_.push_back({.name = std::move(name), .help = std::move(help), .list = &out, .required = false});
}

void Command::Subcommand(std::string name, std::string summary, Run run) {
  children_.push_back({std::move(name), std::move(summary), std::move(run)});
}

std::optional<int> Command::Parse(int argc, const char* const* argv) {
  const std::vector<std::string> args(argv + std::min(argc, 1), argv + argc);
  return Parse(args);
}

std::optional<int> Command::Parse(std::span<const std::string> args) {
  if (IsCompletion(args)) return Complete(args.subspan(1));
  const Child* child = nullptr;
  std::vector<std::string> asking_help;  // the arguments of the child after "help"
  const auto parsed = [&]() -> Expected<void> {
    if (!children_.empty()) {
      BERTH_TRY(const std::size_t at, flags_.ParseLeading(args));
      if (help_) return {};
      if (at < args.size() && args[at] == kHelp) {
        help_ = at + 1 == args.size();
        if (help_) return {};
        BERTH_TRY(child, FindChild(args[at + 1]));
        asking_help.assign(args.begin() + static_cast<std::ptrdiff_t>(at) + 2, args.end());
        asking_help.emplace_back("--help");
        args = asking_help;
        return {};
      }
      if (at < args.size()) {
        BERTH_TRY(child, FindChild(args[at]));
        args = args.subspan(at + 1);
        return {};
      }
    } else {
      BERTH_RETURN_IF_ERROR(flags_.Parse(args));
      if (help_) return {};
    }
    BERTH_RETURN_IF_ERROR(flags_.CheckRequired());
    return Assign(flags_.arguments());
  }();
  if (!parsed) return ExitCode(std::unexpected(parsed.error()));
  if (help_) {
    fmt::print("{}", Help());
    return 0;
  }
  if (child != nullptr) return child->run(args);
  return std::nullopt;
}

// The last argument is the word to complete; a request without any completes an empty one.
std::optional<int> Command::Complete(std::span<const std::string> args) {
  const std::string word = args.empty() ? "" : args.back();
  const auto before = args.first(args.empty() ? 0 : args.size() - 1);
  if (children_.empty()) {
    std::optional<Candidates> candidates = flags_.Complete(before, word);
    Print(candidates ? *candidates : CompleteArgument(word));
    return 0;
  }
  const FlagSet::LeadingCompletion leading = flags_.CompleteLeading(before, word);
  auto rest = args.subspan(std::min(leading.others, args.size()));
  if (!leading.candidates && rest.size() > 1 && rest.front() == kHelp) rest = rest.subspan(1);
  if (!leading.candidates && rest.size() > 1) {
    const auto child = FindChild(rest.front());
    if (!child) {
      Print({});
      return 0;
    }
    std::vector<std::string> request(rest.begin(), rest.end());
    request.front() = kCompletionRequest;
    return (*child)->run(request);
  }
  Candidates candidates;
  for (const Child& child : children_) candidates.Offer(word, child.name, child.summary);
  candidates.Offer(word, kHelp, "prints the help of a command");
  Print(leading.candidates ? *leading.candidates : candidates);
  return 0;
}

Candidates Command::CompleteArgument(const std::string& word) const {
  Candidates candidates;
  candidates.files = std::ranges::any_of(
      positionals_, [](const Positional& positional) { return positional.name.contains("FILE"); });
  if (!completer_) return candidates;
  for (std::string& value : completer_()) candidates.Offer(word, std::move(value));
  return candidates;
}

int Command::Dispatch(std::span<const std::string> args) {
  needs_subcommand_ = true;
  if (const auto code = Parse(args)) return *code;
  std::vector<std::string_view> names;
  for (const Child& child : children_) names.push_back(child.name);
  return ExitCode(Invalid(fmt::format("missing command: expected one of {} ({} --help lists all)",
                                      fmt::join(names, ", "), name_)));
}

Expected<const Command::Child*> Command::FindChild(const std::string& name) const {
  const auto found = std::ranges::find(children_, name, &Child::name);
  if (found != children_.end()) return &*found;
  std::vector<std::string> names;
  for (const Child& child : children_) names.push_back(child.name);
  const std::string near = Nearest(name, names);
  return Invalid(fmt::format("unknown command \"{}\"{} ({} --help lists all)", name,
                             near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near), name_));
}

Expected<void> Command::Assign(const std::vector<std::string>& given) {
  std::size_t at = 0;
  for (const Positional& positional : positionals_) {
    if (at == given.size()) {
      if (!positional.required) break;
      return Invalid(fmt::format("missing argument {}: {}", positional.name, positional.help));
    }
    if (positional.one != nullptr) {
      *positional.one = given[at++];
    } else {
      positional.list->assign(given.begin() + static_cast<std::ptrdiff_t>(at), given.end());
      at = given.size();
    }
  }
  if (at < given.size())
    return Invalid(fmt::format("unexpected argument: {} (usage: {})", given[at], UsageLine()));
  return {};
}

std::string Command::UsageLine() const {
  std::string line = name_;
  if (!children_.empty()) line += needs_subcommand_ ? " <command>" : " [command]";
  for (const Positional& positional : positionals_) {
    const std::string name = positional.list != nullptr ? positional.name + "..." : positional.name;
    line += positional.required ? " " + name : " [" + name + "]";
  }
  return line + " [flags]";
}

std::string Command::Help() const {
  std::string text;
  for (std::size_t at = 0; at <= about_.size();) {
    const std::size_t end = std::min(about_.find('\n', at), about_.size());
    AppendWrapped(text, std::string_view(about_).substr(at, end - at), 0, kHelpWidth);
    text += '\n';
    at = end + 1;
  }
  text += fmt::format("\nUsage:\n  {}\n", UsageLine());
  if (!examples_.empty()) {
    text += "\nExamples:\n";
    for (const std::string& line : examples_) text += fmt::format("  {}\n", line);
  }
  std::vector<std::pair<std::string_view, std::string_view>> rows;
  for (const Positional& positional : positionals_) rows.emplace_back(positional.name, positional.help);
  if (!rows.empty()) AppendList(text, "Arguments", rows);
  rows.clear();
  for (const Child& child : children_) rows.emplace_back(child.name, child.summary);
  if (!rows.empty()) AppendList(text, "Commands", rows);
  text += "\n" + flags_.Usage();
  if (!children_.empty()) text += fmt::format("\nSee {} <command> --help for details.\n", name_);
  return text;
}

int ExitCode(const Expected<int>& result) {
  if (!result) fmt::print(stderr, "Error: {}\n", result.error().message);
  return result.value_or(1);
}

}  // namespace berth::command_line
