// Finds values in JSON text without reading them; private to this module. For texts that the parser rejects
// as a whole because of one value: an integer beyond 64 bits, deep nesting, invalid UTF-8.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace berth::api::json {

// The text of a member's value; the first if there are several. nullopt if `object` is not the text of an
// object, has no such member, or ends before the value does. Names with escapes are not found. Linear in the
// text's size, without recursion; only strings and brackets are recognised.
std::optional<std::string_view> MemberText(std::string_view object, std::string_view name);

// The texts of a list's items; nullopt if it is not the text of a list or is incomplete.
std::optional<std::vector<std::string_view>> ItemTexts(std::string_view list);

}  // namespace berth::api::json
