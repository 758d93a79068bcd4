#include "scheduler/devices/properties.hpp"

#include <variant>

namespace berth::devices {

std::string ValueText(const api::DeviceAttribute& attribute) {
  struct Format {
    std::string operator()(std::monostate) const { return "of an unknown type"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(const std::string& value) const { return '"' + value + '"'; }
    std::string operator()(const api::DeviceAttribute::Version& version) const { return version.text; }
  };
  return std::visit(Format{}, attribute.value);
}

}  // namespace berth::devices
