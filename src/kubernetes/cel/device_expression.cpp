#include "kubernetes/cel/device_expression.hpp"

#include <algorithm>

#include "cel/library/semver.hpp"
#include "cel/read_paths.hpp"
#include "kubernetes/cel/quantity_library.hpp"

namespace berth::cel {
namespace {

constexpr const char* kDeviceType = "kubernetes.DRADevice";
// The API server accepts 10 KiB; longer expressions were not stored by it.
constexpr std::size_t kMaxExpressionSize = 10 * 1024;
// When an attribute or capacity is missing, kube-scheduler's message recommends these forms.
constexpr const char* kMissingKeyHint =
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for "
    "optional fields";

Environment MakeDeviceEnvironment() {
  Environment environment;
  AddQuantityLibrary(environment.functions());
  environment.set_size_limit(kMaxExpressionSize);
  // An attribute is a scalar or a list.
  const TypePtr attributes = MapOf(StringType(), MapOf(StringType(), DynType()));
  const TypePtr capacity = MapOf(StringType(), MapOf(StringType(), QuantityType()));
  environment.AddObject(kDeviceType, {{"driver", StringType()},
                                      {"allowMultipleAllocations", BoolType()},
                                      {"attributes", attributes},
                                      {"capacity", capacity}});
  environment.AddVariable("device", ObjectOf(kDeviceType));
  return environment;
}

Expected<Value> Version(const VersionText& version) {
  auto parsed = SemanticVersion::Parse(version.text);
  if (!parsed) return Invalid("parse semantic version: " + parsed.error().message);
  return SemverValue(std::move(*parsed));
}

template <class T>
Expected<Value> Scalar(const T& value) {
  if constexpr (std::is_same_v<T, std::int64_t>) return Value::Int(value);
  if constexpr (std::is_same_v<T, bool>) return Value::Bool(value);
  if constexpr (std::is_same_v<T, std::string>) return Value::String(value);
  if constexpr (std::is_same_v<T, VersionText>) return Version(value);
}

struct AttributeToValue {
  Expected<Value> operator()(std::monostate) const { return Invalid("unsupported attribute value"); }
  template <class T>
  Expected<Value> operator()(const T& value) const {
    return Scalar(value);
  }
  template <class T>
  Expected<Value> operator()(const std::vector<T>& values) const {
    std::vector<Value> elements;
    for (const T& value : values) {
      BERTH_TRY(Value element, Scalar(value));
      elements.push_back(std::move(element));
    }
    return Value::List(std::move(elements));
  }
};

// Values by domain and identifier.
class Domains {
 public:
  explicit Domains(const std::string& driver) : driver_(driver) {}

  void Add(const std::string& qualified_name, Value value) {
    const std::size_t slash = qualified_name.find('/');
    const std::string domain = slash == std::string::npos ? driver_ : qualified_name.substr(0, slash);
    const std::string id = slash == std::string::npos ? qualified_name : qualified_name.substr(slash + 1);
    auto found = std::find_if(domains_.begin(), domains_.end(),
                              [&](const auto& entry) { return entry.first == domain; });
    if (found == domains_.end()) found = domains_.insert(domains_.end(), {domain, {}});
    found->second.emplace_back(Value::String(id), std::move(value));
  }

  // Unknown domains are empty maps.
  Value ToValue() {
    std::vector<std::pair<Value, Value>> entries;
    for (auto& [domain, values] : domains_)
      entries.emplace_back(Value::String(domain), Value::Map(std::move(values)));
    return Value::MapWithDefault(std::move(entries), Value::Map({}));
  }

 private:
  const std::string& driver_;
  std::vector<std::pair<std::string, std::vector<std::pair<Value, Value>>>> domains_;
};

// cel-go's conversion of a result to Go's bool.
Expected<bool> ToBool(const Value& value) {
  const auto from = [](const std::string& type) {
    return "type conversion error from " + type + " to 'bool'";
  };
  switch (value.kind()) {
    case ValueKind::kBool:
      return value.as_bool();
    case ValueKind::kInt:
      return Invalid("unsupported type conversion from 'int' to bool");
    case ValueKind::kUint:
      return Invalid("unsupported type conversion from 'uint' to bool");
    case ValueKind::kString:
      return Invalid("unsupported native conversion from string to 'bool'");
    case ValueKind::kDouble:
      return Invalid(from("Double"));
    case ValueKind::kBytes:
      return Invalid(from("Bytes"));
    case ValueKind::kDuration:
      return Invalid(from("'Duration'"));
    case ValueKind::kTimestamp:
      return Invalid(from("'Timestamp'"));
    case ValueKind::kList:
      return Invalid(from("list"));
    case ValueKind::kMap:
      return Invalid(from("map"));
    case ValueKind::kType:
      return Invalid("type conversion not supported for 'type'");
    case ValueKind::kOptional:
      return value.optional().IsAbsent() ? Invalid("optional.none() dereference") : ToBool(value.optional());
    case ValueKind::kOpaque: {
      const std::string name = GoTypeName(value);
      return Invalid(from("'" + name.substr(name.rfind('.') + 1) + "'"));
    }
    default:
      return Invalid(from("'" + RuntimeTypeName(value) + "'"));
  }
}

}  // namespace

const Environment& DeviceEnvironment() {
  static const Environment environment = MakeDeviceEnvironment();
  return environment;
}

Expected<Value> MakeDevice(const DeviceProperties& properties) {
  Domains attributes(properties.driver);
  for (const auto& [name, attribute] : properties.attributes) {
    Expected<Value> value = std::visit(AttributeToValue(), attribute);
    if (!value) return std::unexpected(std::move(value).error().In("attribute " + name));
    attributes.Add(name, std::move(*value));
  }
  Domains capacity(properties.driver);
  for (const auto& [name, quantity] : properties.capacity) capacity.Add(name, QuantityValue(quantity));
  return Value::Map(
      {{Value::String("driver"), Value::String(properties.driver)},
       {Value::String("allowMultipleAllocations"), Value::Bool(properties.allow_multiple_allocations)},
       {Value::String("attributes"), attributes.ToValue()},
       {Value::String("capacity"), capacity.ToValue()}});
}

Expected<DeviceExpression> DeviceExpression::Compile(std::string_view expression) {
  CompileError error;
  auto program = DeviceEnvironment().Compile(expression, error);
  if (!program && error.phase == CompileError::Phase::kCheck)
    return Invalid("compilation failed: " + error.message);
  const Type& type = program ? *program->type() : *error.type;
  if (type.kind != TypeKind::kBool && type.kind != TypeKind::kDyn) {
    return Invalid("must evaluate to bool or the unknown type, not " + TypeText(type));
  }
  if (!program) return Invalid("program instantiation failed: " + error.message);
  return DeviceExpression(std::move(*program));
}

Expected<bool> DeviceExpression::Matches(const Value& device, const EvaluationOptions& options,
                                         std::uint64_t* cost, std::uint64_t* effort) const {
  const Evaluation evaluation = program_.Evaluate({&device, 1}, options);
  if (cost != nullptr) *cost = evaluation.cost;
  if (effort != nullptr) *effort = evaluation.effort;
  const Value& value = evaluation.value;
  if (value.IsError()) {
    std::string message = value.text();
    if (message.find("no such key:") != std::string::npos) message += kMissingKeyHint;
    return Invalid(std::move(message));
  }
  Expected<bool> matches = ToBool(value);
  if (matches) return matches;
  return Invalid("CEL result of type " + RuntimeTypeName(value) +
                 " could not be converted to bool: " + matches.error().message);
}

std::vector<NamedProperty> NamedProperties(std::string_view expression) {
  using Kind = NamedProperty::Kind;
  std::vector<NamedProperty> properties;
  for (const Path& path : ReadPaths(expression, "device")) {
    if (path[0] == "driver") properties.push_back({Kind::kDriver});
    if (path.size() < 3) continue;
    if (path[0] == "attributes") properties.push_back({Kind::kAttribute, path[1], path[2]});
    if (path[0] == "capacity") properties.push_back({Kind::kCapacity, path[1], path[2]});
  }
  return properties;
}

}  // namespace berth::cel
