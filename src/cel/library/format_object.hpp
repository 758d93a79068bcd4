// Named formats, values of type kubernetes.NamedFormat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cel/value.hpp"

namespace berth::cel {

struct FormatObject final : OpaqueObject {
  FormatObject(std::string n, std::vector<std::string> (*v)(const std::string&), int size)
      : name(std::move(n)), validate(v), regex_size(size) {}
  const TypePtr& type() const override;
  Value Equal(const OpaqueObject& other) const override;
  std::string Text() const override { return name; }
  std::string GoTypeName() const override { return "cel.Format"; }

  const std::string name;
  // Returns why a text does not have the format; empty if it has.
  std::vector<std::string> (*const validate)(const std::string&);
  const int regex_size;  // for the cost of validation
};

// Null if the value is no format.
const FormatObject* FormatOf(const Value& value);

}  // namespace berth::cel
