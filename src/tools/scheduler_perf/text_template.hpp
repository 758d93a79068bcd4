// Templates in the language of Go's text/template, as far as the object templates of scheduler_perf use it.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/yaml.hpp"

namespace berth::scheduler_perf {

// Supported: texts, comments, {{- and -}}, pipelines with parentheses and |, fields (.a.b), variables
// ($a := ...), if, else if, else, range over numbers, lists and maps, with; the functions and, or, not, eq,
// ne, lt, le, gt, ge, and those of scheduler_perf: AddInt, SubtractInt, MultiplyInt, DivideInt, AddFloat,
// SubtractFloat, MultiplyFloat, DivideFloat, Mod, Int, JSON. Anything else is an error.
//
// Values have Go's types: a whole number of a function or of `range` is an int, a number of the data a
// float64. They are printed as Go prints them (1e+06 for the float64 1000000). Immutable.
class TextTemplate {
 public:
  // Errors name the line. At most 1 MiB and 100 levels.
  static Expected<TextTemplate> Parse(std::string_view text);
  ~TextTemplate();
  TextTemplate(TextTemplate&&) noexcept;
  TextTemplate& operator=(TextTemplate&&) noexcept;

  // Whether every execution gives the same text.
  bool constant() const;
  // `data`: a map; `index` and `count` are its members Index and Count, both ints. At most 4 MiB of text and
  // 1,000,000 steps.
  Expected<std::string> Execute(const yaml::Value& data, std::int64_t index, std::int64_t count) const;

  struct Node;

 private:
  explicit TextTemplate(std::vector<Node> nodes);
  std::vector<Node> nodes_;
};

}  // namespace berth::scheduler_perf
