// Reading of recorded scenarios.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

namespace berth::replay {

// A text member; empty if there is none.
inline std::string Text(simdjson::dom::element from, std::string_view key) {
  std::string_view text;
  return from[key].get(text) == simdjson::SUCCESS ? std::string(text) : "";
}

// A Boolean member; false if there is none.
inline bool Flag(simdjson::dom::element from, std::string_view key) {
  bool flag = false;
  return from[key].get(flag) == simdjson::SUCCESS && flag;
}

}  // namespace berth::replay
