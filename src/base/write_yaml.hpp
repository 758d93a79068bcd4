// Writes a tree of values as text: YAML as Kubernetes' own writer (sigs.k8s.io/yaml), byte for byte, or
// compact JSON.
#pragma once

#include <string>

#include "base/yaml.hpp"

namespace berth::yaml {

// Keys sorted, lists not indented; ends with a newline. Texts are in double quotes if they would otherwise be
// read as another type, in single quotes if YAML does not allow them without, and literal blocks if they have
// several lines.
std::string ToYaml(const Value& value);

// Keys sorted, no spaces.
std::string ToJson(const Value& value);

}  // namespace berth::yaml
