// Flags by the rules of Go's pflag, which kube-scheduler's users and manifests rely on: --name=value and
// --name value, --flag for booleans, '_' for '-', -v=5, -v 5 and -v5; the last mention counts; flags and
// other arguments may be mixed.
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
  // A flag of a type of its own. `type` stands behind the name in the help; `show` is the value as text.
  struct Spec {
    std::string name;
    std::string type;
    std::string help;
    std::function<Expected<void>(const std::string&)> set;
    std::function<std::string()> show;
    std::optional<std::string> bare = {};  // the value if none is given; nothing: the next argument is it
    bool hidden = false;                   // accepted, but neither in the help nor among Values
  };

  // The flags that follow stand under this heading in the help.
  void Section(std::string title) { sections_.push_back({std::move(title), {}}); }

  // Variables hold the defaults and outlive this object.
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
  // Comma-separated, fields with commas in double quotes. The first mention replaces the default, further
  // ones add to it.
  void Strings(std::string name, std::vector<std::string>& out, std::string help);
  void Int32s(std::string name, std::vector<std::int64_t>& out, std::string help);
  // Every mention adds its value as it stands.
  void List(std::string name, std::string type, std::vector<std::string>& out, std::string help);
  // key=value pairs, comma-separated where there are several; every mention adds to the map, the first one
  // after emptying it.
  void StringMap(std::string name, std::string type, std::map<std::string, std::string>& out,
                 std::string help);
  void Add(Spec spec);
  // One letter for the flag that was added last.
  void Shorthand(char letter) { flags_.back().letter = letter; }

  // Errors are pflag's texts, with the nearest flag behind them.
  Expected<void> Parse(std::span<const std::string> args);
  // An error if there were arguments that are no flags, and not empty.
  Expected<void> CheckNoOthers() const;
  // Was the flag given?
  bool Given(std::string_view name) const;
  // Name and value of every flag, by name.
  std::vector<std::pair<std::string, std::string>> Values() const;
  std::string Usage() const;

 private:
  struct Flag {
    Spec spec;
    std::string default_text;  // empty: not worth a word
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
