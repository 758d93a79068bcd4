#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "tools/scheduler_perf/template_syntax.hpp"

namespace berth::scheduler_perf {
namespace {

using Arguments = std::vector<TemplateValue>;
using Result = Expected<TemplateValue>;

// The value of the text as a float64, or as an int of 64 bits.
Expected<double> ToReal(const TemplateValue& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) {
    double parsed = 0;
    const char* const end = text->data() + text->size();
    if (const auto read = std::from_chars(text->data(), end, parsed);
        read.ec == std::errc() && read.ptr == end)
      return parsed;
  }
  return Invalid(fmt::format("expected a number, got {}", Print(value)));
}

// Go's conversion of a float64 to int truncates.
Result ToWhole(double value) {
  constexpr double kMost = 9e18;
  if (!(std::abs(value) < kMost))
    return Invalid(fmt::format("{} is not in the range of whole numbers", value));
  return static_cast<std::int64_t>(value);
}

Expected<double> Fold(const Arguments& arguments, double start,
                      const std::function<double(double, double)>& step) {
  double result = start;
  for (const TemplateValue& argument : arguments) {
    BERTH_TRY(const double value, ToReal(argument));
    result = step(result, value);
  }
  return result;
}
Expected<double> Pair(const Arguments& arguments, const std::function<Expected<double>(double, double)>& of) {
  BERTH_TRY(const double first, ToReal(arguments[0]));
  BERTH_TRY(const double second, ToReal(arguments[1]));
  return of(first, second);
}
Expected<double> Add(const Arguments& arguments) { return Fold(arguments, 0, std::plus<>()); }
Expected<double> Multiply(const Arguments& arguments) { return Fold(arguments, 1, std::multiplies<>()); }
Expected<double> Subtract(const Arguments& arguments) {
  return Pair(arguments, [](double a, double b) -> Expected<double> { return a - b; });
}
Expected<double> Divide(const Arguments& arguments) {
  return Pair(arguments, [](double a, double b) -> Expected<double> {
    if (b == 0) return Invalid("division by zero");
    return a / b;
  });
}

template <Expected<double> (*kFunction)(const Arguments&)>
Result Real(const Arguments& arguments) {
  BERTH_TRY(const double value, kFunction(arguments));
  return value;
}
template <Expected<double> (*kFunction)(const Arguments&)>
Result Whole(const Arguments& arguments) {
  BERTH_TRY(const double value, kFunction(arguments));
  return ToWhole(value);
}

Result Mod(const Arguments& arguments) {
  BERTH_TRY(const double first, ToReal(arguments[0]));
  BERTH_TRY(const double second, ToReal(arguments[1]));
  BERTH_TRY(const TemplateValue a, ToWhole(first));
  BERTH_TRY(const TemplateValue b, ToWhole(second));
  if (std::get<std::int64_t>(b) == 0) return Invalid("division by zero");
  return std::get<std::int64_t>(a) % std::get<std::int64_t>(b);
}

Result Int(const Arguments& arguments) {
  BERTH_TRY(const double value, ToReal(arguments[0]));
  return ToWhole(value);
}

Result Json(const Arguments& arguments) {
  std::string out;
  if (const auto* value = std::get_if<const yaml::Value*>(&arguments[0])) {
    yaml::AppendJson(out, **value, yaml::MemberOrder::kByName);
  } else if (const auto* text = std::get_if<std::string>(&arguments[0])) {
    yaml::AppendJson(out, yaml::Value::Text(*text));
  } else if (std::holds_alternative<std::monostate>(arguments[0])) {
    out = "null";
  } else {
    out = Print(arguments[0]);
  }
  return out;
}

// The first true argument or the last one; the first false one or the last one.
Result Or(const Arguments& arguments) {
  const auto found = std::ranges::find_if(arguments, IsTrue);
  return found == arguments.end() ? arguments.back() : *found;
}
Result And(const Arguments& arguments) {
  const auto found = std::ranges::find_if_not(arguments, IsTrue);
  return found == arguments.end() ? arguments.back() : *found;
}
Result Not(const Arguments& arguments) { return !IsTrue(arguments[0]); }

// -1, 0 or 1. Go compares only values of the same type; nil differs from all others.
Expected<int> Compare(const TemplateValue& a, const TemplateValue& b) {
  if (std::holds_alternative<std::monostate>(a) || std::holds_alternative<std::monostate>(b))
    return a.index() == b.index() ? 0 : -1;
  if (a.index() != b.index() || std::holds_alternative<const yaml::Value*>(a))
    return Invalid(fmt::format("{} and {} have types that cannot be compared", Print(a), Print(b)));
  return a < b ? -1 : b < a ? 1 : 0;
}
template <bool (*kHolds)(int)>
Result Comparison(const Arguments& arguments) {
  BERTH_TRY(const int order, Compare(arguments[0], arguments[1]));
  return kHolds(order);
}
bool IsLess(int order) { return order < 0; }
bool IsLessOrEqual(int order) { return order <= 0; }
bool IsGreater(int order) { return order > 0; }
bool IsGreaterOrEqual(int order) { return order >= 0; }
bool IsEqual(int order) { return order == 0; }
bool IsDifferent(int order) { return order != 0; }

struct Function {
  std::string_view name;
  std::size_t least, most;  // arguments
  Result (*call)(const Arguments&);
};
constexpr std::size_t kAny = 100;

constexpr Function kFunctions[] = {
    {"AddFloat", 0, kAny, Real<Add>},
    {"AddInt", 0, kAny, Whole<Add>},
    {"DivideFloat", 2, 2, Real<Divide>},
    {"DivideInt", 2, 2, Whole<Divide>},
    {"Int", 1, 1, Int},
    {"JSON", 1, 1, Json},
    {"Mod", 2, 2, Mod},
    {"MultiplyFloat", 0, kAny, Real<Multiply>},
    {"MultiplyInt", 0, kAny, Whole<Multiply>},
    {"SubtractFloat", 2, 2, Real<Subtract>},
    {"SubtractInt", 2, 2, Whole<Subtract>},
    {"and", 1, kAny, And},
    {"eq", 2, 2, Comparison<IsEqual>},
    {"ge", 2, 2, Comparison<IsGreaterOrEqual>},
    {"gt", 2, 2, Comparison<IsGreater>},
    {"le", 2, 2, Comparison<IsLessOrEqual>},
    {"lt", 2, 2, Comparison<IsLess>},
    {"ne", 2, 2, Comparison<IsDifferent>},
    {"not", 1, 1, Not},
    {"or", 1, kAny, Or},
};

// A float64 as %v prints it: the fewest digits that identify it, with an exponent below 1e-4 and from 1e6.
std::string PrintReal(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  constexpr double kLeast = 1e-4, kMost = 1e6;
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= kLeast && size < kMost);
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, value,
                                     plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {text, written.ptr};
}

}  // namespace

bool IsTemplateFunction(std::string_view name) {
  return std::ranges::find(kFunctions, name, &Function::name) != std::end(kFunctions);
}

const std::vector<std::string>& TemplateFunctions() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Function& function : kFunctions) names.emplace_back(function.name);
    return names;
  }();
  return kNames;
}

Expected<TemplateValue> CallTemplateFunction(const std::string& name, const Arguments& arguments) {
  const Function& function = *std::ranges::find(kFunctions, name, &Function::name);
  if (arguments.size() < function.least || arguments.size() > function.most) {
    return Invalid(fmt::format("{}: expected {} argument{}, got {}", name, function.least,
                               function.least == 1 ? "" : "s", arguments.size()));
  }
  auto result = function.call(arguments);
  if (!result) return std::unexpected(std::move(result).error().In(name));
  return result;
}

bool IsTrue(const TemplateValue& value) {
  struct Visitor {
    bool operator()(std::monostate) const { return false; }
    bool operator()(bool flag) const { return flag; }
    bool operator()(std::int64_t number) const { return number != 0; }
    bool operator()(double number) const { return number != 0; }
    bool operator()(const std::string& text) const { return !text.empty(); }
    bool operator()(const yaml::Value* of) const { return !of->items.empty() || !of->members.empty(); }
  };
  return std::visit(Visitor(), value);
}

std::string Print(const TemplateValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "<no value>"; }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return PrintReal(number); }
    std::string operator()(const std::string& text) const { return text; }
    // Go's form of lists and maps ("map[a:1]") is of no use in YAML.
    std::string operator()(const yaml::Value* of) const {
      std::string out;
      yaml::AppendJson(out, *of);
      return out;
    }
  };
  return std::visit(Visitor(), value);
}

}  // namespace berth::scheduler_perf
