// Flags by the rules of Go's pflag, which kube-scheduler's users and manifests rely on: --name=value and
// --name value,
// --flag for booleans, '_' for '-', -v=5 and -v 5; the last mention counts; other arguments are an error.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::command {

class PFlags {
 public:
  // Variables hold the defaults and outlive the parse.
  void String(std::string name, std::string& out, std::string help);
  void Bool(std::string name, bool& out, std::string help);
  void Integer(std::string name, std::int64_t& out, std::string help);
  // Every mention adds a value.
  void List(std::string name, std::vector<std::string>& out, std::string help);
  // One letter for the flag that was added last.
  void Shorthand(char letter) { flags_.back().letter = letter; }

  // Errors are pflag's texts, with the nearest flag behind them.
  Expected<void> Parse(std::span<const std::string> args);
  bool help_wanted() const { return help_wanted_; }
  // Was the flag given?
  bool Given(std::string_view name) const;
  std::string Usage() const;

 private:
  struct Flag {
    std::string name;
    std::string help;
    std::string default_text;
    bool is_bool = false;
    char letter = 0;
    bool given = false;
    std::function<Expected<void>(const std::string&)> set;
  };
  Flag* Find(std::string_view name);

  std::vector<Flag> flags_;
  bool help_wanted_ = false;
};

}  // namespace berth::command
