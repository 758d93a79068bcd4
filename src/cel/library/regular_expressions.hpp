// Regular expressions in Go's syntax.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cel/value.hpp"

namespace re2 {
class RE2;
}

namespace berth::cel {

// Compiles a pattern; null and the text of Go's error if it is wrong or if the budget is exhausted.
std::shared_ptr<const re2::RE2> CompilePattern(const std::string& pattern, std::string& error,
                                               Budget& budget);
// For the constant patterns of one expression.
inline constexpr std::uint64_t kPatternBudget = 20'000'000;
// The bytes that a compiled pattern takes at most; it grows while it matches.
std::size_t PatternMemory(const re2::RE2& pattern);

// What follows spends for the text and the size of the pattern's program.
Value MatchPattern(const re2::RE2& pattern, const std::string& text, Budget& budget);
// The leftmost match, or an empty string.
Value FindPattern(const re2::RE2& pattern, const std::string& text, Budget& budget);
// At most `limit` successive matches, all if `limit` is negative.
Value FindAllPattern(const re2::RE2& pattern, const std::string& text, std::int64_t limit, Budget& budget);

}  // namespace berth::cel
