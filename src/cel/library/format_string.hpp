// string.format(list): cel-go's ext.Strings version 2, which prints numbers for the locale en_US.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cel/value.hpp"

namespace berth::cel {

// One clause of a format string: %s, %d, %.3f...
struct FormatClause {
  char kind = 's';
  std::optional<int> precision;
};

// Parses a format string with `count` arguments. Calls `text` with what is copied and `clause` with each
// clause and the index of its argument; `clause` returns an error text, or an empty one. Returns the error,
// or an empty text, and the number of arguments that were used. `constant`: the arguments are not values yet;
// cel-go then finds a missing clause before a missing argument.
std::string ParseFormat(std::string_view format, std::int64_t count, bool constant,
                        const std::function<void(std::string_view)>& text,
                        const std::function<std::string(const FormatClause&, std::int64_t)>& clause,
                        std::int64_t& used);

// Appends a formatted value; returns an error text, or an empty one.
std::string FormatArgument(const FormatClause& clause, const Value& value, std::string& out, Budget& budget);

// The error text for an argument of a type that the clause does not accept.
std::string WrongFormatType(char kind, std::string_view type);

}  // namespace berth::cel
