#include "scheduler/plugins/dynamic_resources/device_selectors.hpp"

#include <boost/unordered/unordered_flat_map.hpp>
#include <optional>

#include "kubernetes/cel/device_expression.hpp"
#include "scheduler/devices/properties.hpp"
#include "scheduler/plugins/dynamic_resources/weighted_cache.hpp"

namespace berth::plugins {
namespace {

using devices::SliceDevice;

// Limits of the caches. Authors of claims choose the expressions. Full caches of results and devices are
// emptied: they are quickly filled again.
constexpr std::size_t kMostExpressionBytes = 128U << 20;
// The weights of an entry and of an expression that does not compile, in bytes. The compiler may work long
// before it finds an error.
constexpr std::size_t kEntryBytes = 1024;
constexpr std::size_t kWrongExpressionBytes = 1U << 20;
constexpr std::size_t kMaxResults = 1U << 18;
constexpr std::size_t kMaxDevices = 1U << 12;
// The effort of an evaluation that takes about as long as a step of a search.
constexpr std::uint64_t kEffortPerStep = 32;

cel::DeviceAttributeValue ValueOf(const api::DeviceAttribute& attribute) {
  struct Convert {
    cel::DeviceAttributeValue operator()(std::monostate) const { return {}; }
    cel::DeviceAttributeValue operator()(std::int64_t value) const { return value; }
    cel::DeviceAttributeValue operator()(bool value) const { return value; }
    cel::DeviceAttributeValue operator()(const std::string& value) const { return value; }
    cel::DeviceAttributeValue operator()(const api::DeviceAttribute::Version& version) const {
      return cel::VersionText{version.text};
    }
  };
  return std::visit(Convert{}, attribute.value);
}

cel::DeviceProperties PropertiesOf(std::string_view driver, const api::Device& device, bool hides_sharing) {
  cel::DeviceProperties properties;
  properties.driver = driver;
  properties.allow_multiple_allocations = device.allow_multiple_allocations && !hides_sharing;
  for (const auto& [name, attribute] : device.attributes)
    properties.attributes.emplace_back(name, ValueOf(attribute));
  for (const auto& [name, capacity] : device.capacity) properties.capacity.emplace_back(name, capacity.value);
  return properties;
}

class DeviceSelectors final : public devices::SelectorEvaluator {
 public:
  explicit DeviceSelectors(bool hides_sharing) : hides_sharing_(hides_sharing) {}
  const Answer& Evaluate(const std::string& text, std::string_view driver,
                         const SliceDevice& device) override {
    Evaluate(ExpressionOf(text), driver, device);
    return answer_;
  }
  std::string ValuesOf(const std::string& expression, std::string_view driver,
                       const SliceDevice& device) override {
    using Kind = cel::NamedProperty::Kind;
    std::string text;
    const auto add = [&](const std::string& value) { text += (text.empty() ? "" : ", ") + value; };
    for (const cel::NamedProperty& property : cel::NamedProperties(expression)) {
      if (property.kind == Kind::kDriver) {
        add("driver \"" + std::string(driver) + '"');
        continue;
      }
      // Within the driver's own domain: "model" for "gpu.example.com/model".
      const std::string full = property.domain + "/" + property.id;
      const std::string& name = property.domain == driver ? property.id : full;
      if (property.kind == Kind::kAttribute) {
        const auto* attribute = devices::FindQualified(device.device->attributes, driver, full);
        add(attribute == nullptr ? "no attribute " + name : name + " " + devices::ValueText(*attribute));
      } else {
        const auto* capacity = devices::FindQualified(device.device->capacity, driver, full);
        add(capacity == nullptr ? "no capacity " + name : name + " " + capacity->value.Canonical());
      }
    }
    return text;
  }

 private:
  struct Result {
    bool matches;
    std::uint32_t steps;
  };
  struct Expression {
    Expected<cel::DeviceExpression> program;
    boost::unordered_flat_map<std::uint64_t, Result> matches;  // by shape
  };

  // Sets the answer.
  void Evaluate(Expression& expression, std::string_view driver, const SliceDevice& device) {
    if (!expression.program) {
      answer_ = {Answer::Kind::kCompileError, expression.program.error().message, 0};
      return;
    }
    const auto known = expression.matches.find(device.shape);
    if (known != expression.matches.end()) return Found(known->second);
    const Expected<cel::Value>& value = DeviceOf(driver, device);
    std::uint64_t effort = 0;
    const Expected<bool> matches = value ? expression.program->Matches(*value, {}, nullptr, &effort)
                                         : Expected<bool>(std::unexpected(value.error()));
    const std::uint64_t steps = effort / kEffortPerStep;
    // Errors are rare and their texts may be long: they are not cached.
    if (!matches) {
      answer_ = {Answer::Kind::kRuntimeError, matches.error().message, steps};
      return;
    }
    // The results of evicted expressions count until then.
    if (++results_ > kMaxResults) {
      expressions_.ForEach([](Expression& entry) { entry.matches.clear(); });
      results_ = 1;
    }
    const Result result{*matches, static_cast<std::uint32_t>(steps)};
    expression.matches.emplace(device.shape, result);
    Found(result);
  }
  void Found(const Result& result) {
    answer_.kind = result.matches ? Answer::Kind::kMatch : Answer::Kind::kNoMatch;
    answer_.error.clear();
    answer_.steps = result.steps;
  }
  // Compilation takes no steps: the answer must not depend on what is cached.
  Expression& ExpressionOf(const std::string& text) {
    if (Expression* known = expressions_.Find(text)) return *known;
    Expression expression{cel::DeviceExpression::Compile(text), {}};
    const std::size_t compiled = expression.program ? expression.program->Memory() : kWrongExpressionBytes;
    return expressions_.Add(text, std::move(expression), kEntryBytes + text.size() + compiled);
  }
  const Expected<cel::Value>& DeviceOf(std::string_view driver, const SliceDevice& device) {
    const auto found = devices_.find(device.shape);
    if (found != devices_.end()) return found->second;
    if (devices_.size() >= kMaxDevices) devices_.clear();
    return devices_
        .emplace(device.shape, cel::MakeDevice(PropertiesOf(driver, *device.device, hides_sharing_)))
        .first->second;
  }

  const bool hides_sharing_;
  WeightedCache<Expression> expressions_{kMostExpressionBytes};
  boost::unordered_flat_map<std::uint64_t, Expected<cel::Value>> devices_;  // by shape
  std::size_t results_ = 0;                                                 // of all expressions
  Answer answer_;
};

}  // namespace

std::unique_ptr<devices::SelectorEvaluator> MakeDeviceSelectors(bool hides_sharing) {
  return std::make_unique<DeviceSelectors>(hides_sharing);
}

}  // namespace berth::plugins
