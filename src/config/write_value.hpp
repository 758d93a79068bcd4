// Writes a tree as text: YAML as Kubernetes' own writer, byte for byte, or compact JSON.
#pragma once

#include <string>

#include "config/value.hpp"

namespace berth::config {

// Keys sorted, lists not indented, text quoted only if it would otherwise be read as another type; ends with
// a newline.
std::string ToYaml(const Value& value);

// Keys sorted, no spaces.
std::string ToJson(const Value& value);

}  // namespace berth::config
