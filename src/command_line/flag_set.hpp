// Flags with the rules of Go's pflag, on which kube-scheduler's users and manifests depend: --name=value and
// --name value, --flag for booleans, '_' for '-', -v=5, -v 5 and -v5. The last occurrence takes effect. Flags
// and other arguments may be mixed.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "command_line/completion.hpp"

namespace berth::command_line {

// Columns of the help text of flags and commands.
inline constexpr std::size_t kHelpWidth = 110;

// The accepted numbers, both ends included.
template <typename T>
struct Range {
  T least = std::numeric_limits<T>::lowest();
  T most = std::numeric_limits<T>::max();
};

class FlagSet {
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
    bool hidden = false;      // accepted, but neither in the help nor in Values
    std::string note = {};    // follows the help in parentheses
    Completer complete = {};  // the values for completion; empty: unknown, or names of files
  };

  // Starts a section of the help with this heading for the following flags.
  void Section(std::string title) { sections_.push_back({std::move(title), {}}); }

  // Variables hold the defaults and must outlive this object.
  void String(std::string name, std::string& out, std::string help, std::string type = "string");
  void Path(std::string name, std::string& out, std::string help) {
    String(std::move(name), out, std::move(help), "FILE");
  }
  // One of `values`. The error names the values and the nearest one.
  void Choice(std::string name, std::string& out, std::vector<std::string> values, std::string help);
  // Some of `values`, comma-separated. The first occurrence replaces the default, further ones append. `type`
  // follows the name in the help; empty: the values.
  void Choices(std::string name, std::vector<std::string>& out, std::vector<std::string> values,
               std::string help, std::string type = {});
  void Bool(std::string name, bool& out, std::string help);
  // `--name` sets `out` to false.
  void NegatedBool(std::string name, bool& out, std::string help);
  // Whole numbers. Values outside the range are errors.
  template <std::integral T>
  void Integer(std::string name, T& out, std::string help, Range<T> range = {}) {
    Add({.name = std::move(name),
         .type = "int",
         .help = std::move(help),
         .set = [&out, range](const std::string& text) -> Expected<void> {
           BERTH_TRY(out, ParseInteger(text, range));
           return {};
         },
         .show = [&out] { return std::to_string(out); },
         .note = RangeNote(range)});
  }
  // Comma-separated. The first occurrence replaces the default, further ones append.
  template <std::integral T>
  void Integers(std::string name, std::vector<T>& out, std::string help, Range<T> range = {}) {
    Add({.name = std::move(name),
         .type = "ints",
         .help = std::move(help),
         .set = [&out, range,
                 first = std::make_shared<bool>(true)](const std::string& text) -> Expected<void> {
           std::vector<T> values;
           for (const std::string& field : SplitAtCommas(text)) {
             BERTH_TRY(values.emplace_back(), ParseInteger(field, range));
           }
           if (std::exchange(*first, false)) out.clear();
           out.insert(out.end(), values.begin(), values.end());
           return {};
         },
         .show =
             [&out] {
               std::string text;
               for (const T value : out) text += (text.empty() ? "" : ",") + std::to_string(value);
               return text;
             },
         .note = RangeNote(range)});
  }
  void Real(std::string name, double& out, std::string help, Range<double> range = {});
  void Int(std::string name, std::int64_t& out, std::string help) { Number(64, "int", name, out, help); }
  void Int32(std::string name, std::int64_t& out, std::string help) { Number(32, "int32", name, out, help); }
  void Float(std::string name, double& out, std::string help);
  // A duration as Go writes it: "1m30s".
  void Duration(std::string name, berth::Duration& out, std::string help);
  // The same within a range. A number without unit means seconds.
  void Duration(std::string name, berth::Duration& out, std::string help, Range<berth::Duration> range);
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
  // The values of the flag that was added last, for completion.
  void CompleteWith(Completer completer) { flags_.back().spec.complete = std::move(completer); }
  // The flag that was added last must be given: CheckRequired fails without it.
  void Require();

  // Errors are pflag's texts, followed by the closest existing flag.
  Expected<void> Parse(std::span<const std::string> args);
  // Parses the flags before the first other argument, which is at the returned index of `args`.
  Expected<std::size_t> ParseLeading(std::span<const std::string> args);
  // Parses the arguments before a word as far as they are valid, and returns the candidates for the word if
  // it is a flag or the value of one. nullopt: it is another argument.
  std::optional<Candidates> Complete(std::span<const std::string> before, const std::string& word);
  // The same if only leading flags belong to this set. The index is that of the first other argument.
  struct LeadingCompletion {
    std::optional<Candidates> candidates;
    std::size_t others = 0;
  };
  LeadingCompletion CompleteLeading(std::span<const std::string> before, const std::string& word);

  // An error that names the first required flag that was not given.
  Expected<void> CheckRequired() const;
  // The other arguments of the last Parse.
  const std::vector<std::string>& arguments() const { return others_; }
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
    bool required = false;

    std::string Names() const;  // "-v, --v", as in errors
    bool TakesFile() const;
    Candidates Values(std::string_view word) const;
    Expected<void> Set(const std::string& value);
  };
  struct Group {
    std::string title;
    std::vector<std::size_t> flags;  // indices
  };
  template <std::integral T>
  using Widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  template <std::integral T>
  static Expected<T> ParseInteger(const std::string& text, Range<T> range) {
    BERTH_TRY(const auto value,
              ParseWidest(text, Range<Widest<T>>{range.least, range.most}, RangeNote(range)));
    return static_cast<T>(value);
  }
  // "from 1 to 26", "at least 1"; empty if the range is that of a wide type.
  template <std::integral T>
  static std::string RangeNote(Range<T> range) {
    if (range.most != Range<T>{}.most || sizeof(T) < sizeof(int))
      return "from " + std::to_string(range.least) + " to " + std::to_string(range.most);
    const bool any = range.least == Range<T>{}.least;
    return any ? std::string() : "at least " + std::to_string(range.least);
  }
  static Expected<std::int64_t> ParseWidest(const std::string& text, Range<std::int64_t> range,
                                            const std::string& note);
  static Expected<std::uint64_t> ParseWidest(const std::string& text, Range<std::uint64_t> range,
                                             const std::string& note);
  static std::vector<std::string> SplitAtCommas(const std::string& text);

  void Number(int bits, std::string type, std::string& name, std::int64_t& out, std::string& help);
  Expected<Flag*> FindLong(std::string_view name);
  Expected<Flag*> FindShort(char letter, const std::string& arg);
  Expected<std::size_t> ParseFlag(std::span<const std::string> args, std::size_t i);
  Expected<std::size_t> ParseLong(std::span<const std::string> args, std::size_t i);
  Expected<std::size_t> ParseShort(std::span<const std::string> args, std::size_t i);
  std::string Suggestion(const std::string& flag) const;
  Candidates NamesOfFlags(const std::string& word) const;
  const Flag* FindExisting(const std::string& arg) const;
  void UsageOf(const Group& group, std::string& text) const;

  std::vector<Flag> flags_;
  std::vector<Group> sections_;
  std::vector<std::string> others_;
};

}  // namespace berth::command_line
