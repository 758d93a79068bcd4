// Flags with the rules of Go's pflag, on which kube-scheduler's users and manifests depend: --name=value and
// --name value, --flag for booleans, '_' for '-', -v=5, -v 5 and -v5. The last occurrence takes effect. Flags
// and other arguments may be mixed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace berth::process {

class PFlags {
 public:
  // A flag of a custom type. `type` follows the name in the help; `show` returns the value as text.
  struct Spec {
    std::string name;
    std::string type;
    std::string help;
    std::function<Expected<void>(const std::string&)> set;
    std::function<std::string()> show;
    // the value if none is given; nullopt: the next argument is the value
    std::optional<std::string> bare = {};
    bool hidden = false;  // accepted, but neither in the help nor in Values
  };

  // Starts a section of the help with this heading for the following flags.
  void Section(std::string title) { sections_.push_back({std::move(title), {}}); }

  // Variables hold the defaults and must outlive this object.
  void String(std::string name, std::string& out, std::string help);
  void Bool(std::string name, bool& out, std::string help);
  void Int(std::string name, std::int64_t& out, std::string help) { Number(64, "int", name, out, help); }
  void Int32(std::string name, std::int64_t& out, std::string help) { Number(32, "int32", name, out, help); }
  void Float(std::string name, double& out, std::string help);
  void Duration(std::string name, berth::Duration& out, std::string help);
  // A size in bytes as a Kubernetes quantity ("64Mi"), from 0 to 1Pi.
  void Size(std::string name, std::uint64_t& bytes, std::string help);
  // The same in MiB, hidden: the former form of a Size.
  void HiddenMebibytes(std::string name, std::uint64_t& bytes);
  // Comma-separated, fields with commas in double quotes. The first occurrence replaces the default, further
  // ones append.
  void Strings(std::string name, std::vector<std::string>& out, std::string help);
  void Int32s(std::string name, std::vector<std::int64_t>& out, std::string help);
  // Every occurrence appends its value unchanged.
  void List(std::string name, std::string type, std::vector<std::string>& out, std::string help);
  // key=value pairs, separated by commas. Every occurrence adds to the map; the first one clears the default.
  void StringMap(std::string name, std::string type, std::map<std::string, std::string>& out,
                 std::string help);
  void Add(Spec spec);
  // A one-letter name for the flag that was added last.
  void Shorthand(char letter) { flags_.back().letter = letter; }

  // Errors are pflag's texts, followed by the closest existing flag.
  Expected<void> Parse(std::span<const std::string> args);
  // An error if there was a non-empty argument that is not a flag.
  Expected<void> CheckNoArguments() const;
  // True if the flag was given.
  bool IsSet(std::string_view name) const;
  // Name and value of every flag, ordered by name.
  std::vector<std::pair<std::string, std::string>> Values() const;
  std::string Usage() const;

 private:
  struct Flag {
    Spec spec;
    std::string default_text;  // empty: not shown
    char letter = 0;
    bool given = false;

    std::string Names() const;  // "-v, --v", as in errors
    Expected<void> Set(const std::string& value);
  };
  struct Group {
    std::string title;
    std::vector<std::size_t> flags;  // indices
  };
  void Number(int bits, std::string type, std::string& name, std::int64_t& out, std::string& help);
  Expected<Flag*> FindLong(std::string_view name);
  Expected<Flag*> FindShort(char letter, const std::string& arg);
  Expected<std::size_t> ParseLong(std::span<const std::string> args, std::size_t i);
  Expected<std::size_t> ParseShort(std::span<const std::string> args, std::size_t i);
  void UsageOf(const Group& group, std::string& text) const;

  std::vector<Flag> flags_;
  std::vector<Group> sections_;
  std::vector<std::string> others_;
};

}  // namespace berth::process
