// CEL expressions: parsing, checking and evaluation end, within the cost limit, with a value or an error, and
// give the same result twice.
#include "kubernetes/cel/device_expression.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth::cel;
using berth::fuzz::Require;

const Value& Device() {
  static const Value device = *MakeDevice({.driver = "gpu.example.com",
                                           .allow_multiple_allocations = true,
                                           .attributes = {{"model", std::string("A100")},
                                                          {"index", std::int64_t{3}},
                                                          {"healthy", true},
                                                          {"version", VersionText{"1.2.3"}},
                                                          {"links", std::vector<std::string>{"a", "b"}}},
                                           .capacity = {{"memory", *berth::api::Quantity::Parse("40Gi")}}});
  return device;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::uint64_t kCostLimit = 2000;
  const std::string_view expression = berth::fuzz::Text(data, size);
  CompileError error;
  const auto program = DeviceEnvironment().Compile(expression, error);
  const auto selector = DeviceExpression::Compile(expression);
  if (!program) {
    Require(!error.message.empty(), "an expression without a program has an error");
    Require(!selector.has_value(), "a selector is an expression");
    return 0;
  }
  EvaluationOptions options;
  options.cost_limit = kCostLimit;
  const Evaluation first = program->Evaluate({&Device(), 1}, options);
  const Evaluation second = program->Evaluate({&Device(), 1}, options);
  Require(!first.value.IsAbsent(), "an evaluation has a result");
  Require(first.cost == second.cost, "the cost is the same every time");
  Require(FormatValue(first.value) == FormatValue(second.value), "the result is the same every time");
  if (first.cost > kCostLimit) Require(first.value.IsError(), "an evaluation beyond the limit is an error");
  if (selector) (void)selector->Matches(Device(), options);
  return 0;
}
