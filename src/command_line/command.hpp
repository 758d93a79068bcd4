// A command of a program: its help, its flags, its arguments and its subcommands.
//
//   command_line::Command command("berth config check", "Checks configuration files.");
//   command.flags().Path("output", output, "output file");
//   command.Arguments("FILE", files, "configuration files");
//   if (const auto code = command.Parse(args)) return *code;
//
// Errors are printed in one line to standard error; they name the flag or the argument, what was expected,
// and the nearest existing name.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "command_line/flag_set.hpp"

namespace berth::command_line {

class Command {
 public:
  // `name`: all words that select the command, such as "berth config check". `about`: whole sentences; the
  // first one describes the command.
  Command(std::string name, std::string about);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  // The flags; --help and -h are among them.
  FlagSet& flags() { return flags_; }

  // A line of the section "Examples" in the help.
  void Example(std::string line) { examples_.push_back(std::move(line)); }

  // One argument that must be given; arguments have the order of these calls.
  void Argument(std::string name, std::string& out, std::string help);
  // One argument that may be absent; follows all others.
  void OptionalArgument(std::string name, std::string& out, std::string help);
  // All further arguments, at least one.
  void Arguments(std::string name, std::vector<std::string>& out, std::string help);

  // Likewise, or none.
  void OptionalArguments(std::string name, std::vector<std::string>& out, std::string help);

  // The values of arguments, for completion. An argument named FILE is completed by names of files, too.
  void CompleteArguments(Completer completer) { completer_ = std::move(completer); }

  // `run` gets the arguments after the subcommand's name and returns the exit code.
  using Run = std::function<int(std::span<const std::string> args)>;
  void Subcommand(std::string name, std::string summary, Run run);

  // Parses all arguments, without the command's own name. nullopt: the caller continues. Otherwise the exit
  // code: 0 after --help and after a completion (completion.hpp), 1 after an error, or that of a subcommand,
  // which may follow the command's own flags. With subcommands, "help NAME..." is "NAME... --help".
  std::optional<int> Parse(std::span<const std::string> args);
  std::optional<int> Parse(int argc, const char* const* argv);
  // The same for a command that does nothing by itself: a missing subcommand is an error.
  int Dispatch(std::span<const std::string> args);

  std::string Help() const;

 private:
  struct Positional {
    std::string name;
    std::string help;
    std::vector<std::string>* list = nullptr;  // exactly one of list and one is set
    std::string* one = nullptr;
    bool required = true;
  };
  struct Child {
    std::string name;
    std::string summary;
    Run run;
  };

  Expected<void> Assign(const std::vector<std::string>& given);
  Expected<const Child*> FindChild(const std::string& name) const;
  std::optional<int> Complete(std::span<const std::string> args);
  Candidates CompleteArgument(const std::string& word) const;
  std::string UsageLine() const;

  std::string name_;
  std::string about_;
  std::vector<std::string> examples_;
  FlagSet flags_;
  bool help_ = false;
  bool needs_subcommand_ = false;
  std::vector<Positional> positionals_;
  std::vector<Child> children_;
  Completer completer_;  // empty: the arguments are not completed
};

// The exit code of a command: the value, or 1 after an error, which is printed as "Error: <message>" to
// standard error.
int ExitCode(const Expected<int>& result);

}  // namespace berth::command_line
