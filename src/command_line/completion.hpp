// Completion of command lines in shells. The scripts of `berth completion` run the program with the request
// and the words up to the cursor, and get one candidate per line ("value<TAB>description"), then ":" and a
// number. This is the protocol of Go's cobra, so that kubectl can complete its plugins.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::command_line {

// The first argument of a request; the others are the words after the program's name, the last one is the
// word to complete, possibly empty.
inline constexpr std::string_view kCompletionRequest = "__complete";

// True if a command must not run, but complete these arguments.
bool IsCompletion(std::span<const std::string> args);

struct Candidate {
  std::string value;
  std::string description = {};  // one line
};

struct Candidates {
  std::vector<Candidate> values = {};
  bool files = false;  // names of files are possible, too

  // Adds the value if it begins with the word.
  void Offer(std::string_view word, std::string value, std::string_view description = {});
};

// Values that exist, for example in a cluster; those that do not begin with the word are left out by the
// caller. It must return within seconds. Errors are an empty list.
using Completer = std::function<std::vector<std::string>()>;

// Writes the candidates to standard output.
void Print(const Candidates& candidates);

// The shells with a script.
inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};
// Completes `program`, and kube-scheduler as a name of `berth scheduler`. Requires one of kShells.
std::string CompletionScript(std::string_view shell);

}  // namespace berth::command_line
