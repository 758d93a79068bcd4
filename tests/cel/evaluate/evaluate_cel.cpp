// Reads one JSON object per line from the standard input, compiles its "expression" and evaluates it on its
// "device", and writes one JSON object per line: the result as a device selector and as an expression of any
// type. tests/cel/main.go writes the same objects with cel-go.
//
//   evaluate_cel --replay FILE.zst
//
// reads requests with cel-go's replies from a file and compares.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <iostream>
#include <string>

#include "kubernetes/cel/device_expression.hpp"
#include "testing/replay_main.hpp"

namespace {

namespace json = boost::json;
using namespace berth::cel;

template <class T>
std::vector<T> ReadList(const json::value& value) {
  std::vector<T> list;
  for (const json::value& element : value.as_array()) {
    if constexpr (std::is_same_v<T, VersionText>)
      list.push_back({std::string(element.as_string())});
    else if constexpr (std::is_same_v<T, std::string>)
      list.emplace_back(element.as_string());
    else
      list.push_back(json::value_to<T>(element));
  }
  return list;
}

DeviceAttributeValue ReadAttribute(const json::object& attribute) {
  for (const auto& [kind, value] : attribute) {
    if (kind == "int") return json::value_to<std::int64_t>(value);
    if (kind == "bool") return value.as_bool();
    if (kind == "string") return std::string(value.as_string());
    if (kind == "version") return VersionText{std::string(value.as_string())};
    if (kind == "ints") return ReadList<std::int64_t>(value);
    if (kind == "bools") return ReadList<bool>(value);
    if (kind == "strings") return ReadList<std::string>(value);
    if (kind == "versions") return ReadList<VersionText>(value);
  }
  return {};
}

DeviceProperties ReadDevice(const json::object& device) {
  DeviceProperties properties;
  properties.driver = std::string(device.at("driver").as_string());
  properties.allow_multiple_allocations = device.at("multiple").as_bool();
  for (const auto& [name, attribute] : device.at("attributes").as_object()) {
    properties.attributes.emplace_back(name, ReadAttribute(attribute.as_object()));
  }
  for (const auto& [name, text] : device.at("capacity").as_object()) {
    properties.capacity.emplace_back(name, *berth::api::Quantity::Parse(std::string(text.as_string())));
  }
  return properties;
}

json::object EvaluateSelector(const std::string& expression, const berth::Expected<Value>& device,
                              const EvaluationOptions& options) {
  json::object result;
  const auto selector = DeviceExpression::Compile(expression);
  if (!selector) {
    result["compile"] = selector.error().message;
    return result;
  }
  if (!device) {
    result["error"] = device.error().message;
    return result;
  }
  std::uint64_t cost = 0;
  const auto matches = selector->Matches(*device, options, &cost);
  if (matches)
    result["matches"] = *matches;
  else
    result["error"] = matches.error().message;
  result["cost"] = cost;
  return result;
}

json::object EvaluateAny(const std::string& expression, const Value& device,
                         const EvaluationOptions& options) {
  json::object result;
  CompileError error;
  const auto program = DeviceEnvironment().Compile(expression, error);
  if (!program) {
    result[error.phase == CompileError::Phase::kPlan ? "plan" : "compile"] = error.message;
    return result;
  }
  result["type"] = TypeText(*program->type());
  const Evaluation evaluation = program->Evaluate({&device, 1}, options);
  if (evaluation.value.IsError())
    result["error"] = evaluation.value.text();
  else
    result["value"] = FormatValue(evaluation.value);
  result["cost"] = evaluation.cost;
  return result;
}

json::object Reply(const json::object& request) {
  const std::string expression(request.at("expression").as_string());
  EvaluationOptions options;
  if (const json::value* limit = request.if_contains("limit")) {
    options.cost_limit = json::value_to<std::uint64_t>(*limit);
  }
  const auto device = MakeDevice(ReadDevice(request.at("device").as_object()));
  json::object reply;
  reply["selector"] = EvaluateSelector(expression, device, options);
  if (device) reply["any"] = EvaluateAny(expression, *device, options);
  return reply;
}

int Replay(const std::string& path) {
  constexpr std::size_t kLeastCases = berth::testing::Repetitions(1000);  // fewer indicate a broken recording
  std::size_t cases = 0;
  std::size_t differences = 0;
  berth::testing::ForEachLine(path, [&](std::string_view line) {
    ++cases;
    const json::object recorded = json::parse(line).as_object();
    const json::object got = Reply(recorded);
    if (got == recorded.at("reply").as_object()) return;
    if (++differences <= 10) {
      fmt::print("{}\n  cel-go {}\n  berth  {}\n", std::string(recorded.at("expression").as_string()),
                 json::serialize(recorded.at("reply")), json::serialize(got));
    }
  });
  fmt::print("{} cases, {} differences\n", cases, differences);
  return differences == 0 && cases >= kLeastCases ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--replay") return Replay(argv[2]);
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << json::serialize(Reply(json::parse(line).as_object())) << '\n' << std::flush;
  }
  return 0;
}
