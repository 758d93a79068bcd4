// Expressions that select devices (spec.selectors[].cel.expression of device classes and resource claims), as
// k8s.io/dynamic-resource-allocation v0.37.1 compiles and evaluates them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "cel/cel.hpp"
#include "kubernetes/api/quantity.hpp"

namespace berth::cel {

// A version attribute, unparsed.
struct VersionText {
  std::string text;
};

// monostate: a kind of value that this release does not know.
using DeviceAttributeValue =
    std::variant<std::monostate, std::int64_t, bool, std::string, VersionText, std::vector<std::int64_t>,
                 std::vector<bool>, std::vector<std::string>, std::vector<VersionText>>;

// What an expression can read of a device.
struct DeviceProperties {
  std::string driver;  // also the domain of names without one
  bool allow_multiple_allocations = false;
  std::vector<std::pair<std::string, DeviceAttributeValue>> attributes;  // by qualified name
  std::vector<std::pair<std::string, api::Quantity>> capacity;
};

// The variable `device`. Created once per device (or per group of equal devices) and used by all expressions.
// Errors: "attribute <name>: parse semantic version: ...", "attribute <name>: unsupported attribute value".
Expected<Value> MakeDevice(const DeviceProperties& properties);

// The environment of stored expressions: the variable `device` and Kubernetes' libraries.
const Environment& DeviceEnvironment();

// A compiled selector. Immutable; any thread.
class DeviceExpression {
 public:
  // The text of the error is what follows "CEL compile error: ".
  static Expected<DeviceExpression> Compile(std::string_view expression);

  // Whether the device matches. The text of the error is what follows "CEL runtime error: ". `cost` and
  // `effort` (see Evaluation) are set if they are not null.
  Expected<bool> Matches(const Value& device, const EvaluationOptions& options = {},
                         std::uint64_t* cost = nullptr, std::uint64_t* effort = nullptr) const;
  // An upper estimate of the bytes that the expression takes.
  std::size_t Memory() const { return program_.Memory(); }

 private:
  explicit DeviceExpression(Program program) : program_(std::move(program)) {}
  Program program_;
};

// What an expression names of a device: its driver, an attribute or a capacity.
struct NamedProperty {
  enum class Kind : std::uint8_t { kDriver, kAttribute, kCapacity };
  Kind kind = Kind::kDriver;
  std::string domain{};  // of attributes and capacities
  std::string id{};
};
// In the order of the text, each once. For explanations.
std::vector<NamedProperty> NamedProperties(std::string_view expression);

}  // namespace berth::cel
