#include "kubernetes/cel/device_expression.hpp"

#include <gtest/gtest.h>

#include "kubernetes/cel/quantity_library.hpp"

namespace berth::cel {
namespace {

DeviceProperties Gpu() {
  return {.driver = "gpu.example.com",
          .allow_multiple_allocations = false,
          .attributes = {{"model", std::string("A100")},
                         {"index", std::int64_t{3}},
                         {"healthy", true},
                         {"driverVersion", VersionText{"1.2.3"}},
                         {"links", std::vector<std::string>{"n1", "n2"}},
                         {"other.org/index", std::int64_t{7}}},
          .capacity = {{"memory", *api::Quantity::Parse("40Gi")}}};
}

std::string Match(std::string_view expression) {
  const auto selector = DeviceExpression::Compile(expression);
  if (!selector) return "compile: " + selector.error().message;
  const auto matches = selector->Matches(*MakeDevice(Gpu()));
  if (!matches) return "error: " + matches.error().message;
  return *matches ? "yes" : "no";
}

struct Row {
  const char* name;
  const char* expression;
  const char* result;
};

TEST(DeviceExpression, SelectsDevices) {
  for (const Row& row : {
           Row{"the driver", "device.driver == 'gpu.example.com'", "yes"},
           Row{"an attribute of the driver's domain", "device.attributes['gpu.example.com'].model == 'A100'",
               "yes"},
           Row{"an attribute of another domain", "device.attributes['other.org'].index > 10", "no"},
           Row{"a boolean attribute", "device.attributes['gpu.example.com'].healthy", "yes"},
           Row{"a version",
               "device.attributes['gpu.example.com'].driverVersion.isGreaterThan(semver('1.2.0'))", "yes"},
           Row{"a list", "device.attributes['gpu.example.com'].links.includes('n2')", "yes"},
           Row{"a scalar as a list of one", "device.attributes['gpu.example.com'].model.includes('A100')",
               "yes"},
           Row{"a capacity", "device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0",
               "yes"},
           Row{"shareable devices", "device.allowMultipleAllocations", "no"},
           Row{"an unknown domain is empty", "device.attributes['x'].size() == 0", "yes"},
           Row{"in does not see the default", "'x' in device.attributes", "no"},
           Row{"a missing attribute with a default", "device.attributes['x'].?y.orValue(true)", "yes"},
           Row{"has", "has(device.attributes['gpu.example.com'].nothing)", "no"},
       }) {
    EXPECT_EQ(Match(row.expression), row.result) << row.name;
  }
}

TEST(DeviceExpression, HasKubernetesErrors) {
  for (const Row& row : {
           Row{"a missing attribute", "device.attributes['gpu.example.com'].nothing == 1",
               "error: no such key: nothing. consider using CEL optional chaining (.? followed by orValue()) "
               "or guarding "
               "the check with has() for optional fields"},
           Row{"a result of another type", "device.attributes['gpu.example.com'].index",
               "error: CEL result of type int could not be converted to bool: unsupported type conversion "
               "from 'int' to "
               "bool"},
           Row{"an expression of another type", "device.driver",
               "compile: must evaluate to bool or the unknown type, not string"},
           Row{"an unknown field", "device.name == ''",
               "compile: compilation failed: ERROR: <input>:1:7: undefined field 'name'\n | device.name == "
               "''\n | ......^"},
           Row{"a wrong constant", "device.driver.matches(string(b'\\xff'))",
               "compile: program instantiation failed: invalid UTF-8 in bytes, cannot convert to string"},
       }) {
    EXPECT_EQ(Match(row.expression), row.result) << row.name;
  }
}

TEST(DeviceExpression, CountsTheCost) {
  const auto selector = DeviceExpression::Compile("device.driver.startsWith('gpu')");
  ASSERT_TRUE(selector);
  std::uint64_t cost = 0;
  ASSERT_TRUE(selector->Matches(*MakeDevice(Gpu()), {}, &cost));
  EXPECT_EQ(cost, 3u);
  EXPECT_EQ(selector->Matches(*MakeDevice(Gpu()), {.cost_limit = 2}).error().message,
            "operation cancelled: actual cost limit exceeded");
}

TEST(DeviceExpression, PatternsAndNodesCountAsMemory) {
  const auto memory = [](std::string_view text) { return DeviceExpression::Compile(text)->Memory(); };
  EXPECT_GE(memory("device.driver.matches('^gpu')"), 256u << 10);
  EXPECT_GT(memory("device.driver == 'a' || device.driver == 'b'"), memory("device.driver == 'a'"));
}

TEST(MakeDevice, RejectsWhatKubernetesRejects) {
  DeviceProperties device = Gpu();
  device.attributes = {{"v", VersionText{"1.2"}}};
  EXPECT_EQ(MakeDevice(device).error().message,
            "attribute v: parse semantic version: No Major.Minor.Patch elements found");
  device.attributes = {{"v", std::monostate()}};
  EXPECT_EQ(MakeDevice(device).error().message, "attribute v: unsupported attribute value");
}

TEST(QuantityLibrary, Computes) {
  for (const Row& row : {
           Row{"sums", "quantity('1Gi').add(quantity('1Gi')).compareTo(quantity('2Gi')) == 0", "yes"},
           Row{"differences with integers", "quantity('1500m').sub(1).asApproximateFloat() == 0.5", "yes"},
           Row{"integers", "quantity('2k').asInteger() == 2000", "yes"},
           Row{"fractions of binary numbers have no integer", "quantity('1.5Gi').isInteger()", "no"},
           Row{"signs", "sign(quantity('-1')) == -1", "yes"},
           Row{"a sum on the right is not comparable", "quantity('2') == quantity('1').add(1)",
               "error: no such overload"},
           Row{"wrong texts", "quantity('x').isInteger()",
               "error: quantities must match the regular expression "
               "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
       }) {
    EXPECT_EQ(Match(row.expression), row.result) << row.name;
  }
}

TEST(NamedProperties, AreThoseOfTheDevice) {
  std::string named;
  for (const NamedProperty& property :
       NamedProperties("device.driver == 'd' && device.attributes['d'].model == 'A' && "
                       "device.capacity['e'].memory.isGreaterThan(quantity('1Gi')) && "
                       "device.attributes['d'].size() > 0")) {
    named += property.kind == NamedProperty::Kind::kDriver ? "driver "
             : property.kind == NamedProperty::Kind::kAttribute
                 ? "attribute " + property.domain + "/" + property.id + " "
                 : "capacity " + property.domain + "/" + property.id + " ";
  }
  EXPECT_EQ(named, "driver attribute d/model capacity e/memory ");
}

}  // namespace
}  // namespace berth::cel
