// Text with several owners.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

// Immutable; a copy is cheap, and threads may read it at the same time. Null: there is none.
using SharedText = std::shared_ptr<const std::string>;

inline SharedText ShareText(std::string text) { return std::make_shared<const std::string>(std::move(text)); }
// Valid as long as an owner exists; empty if there is none.
inline std::string_view TextOf(const SharedText& text) {
  return text == nullptr ? std::string_view() : *text;
}

}  // namespace berth
