// Appends formatted text to a string.
#pragma once

#include <fmt/format.h>

#include <string>

namespace berth {

// Out of line: each file that calls fmt::format_to with a back inserter compiles the whole formatter again.
void AppendFormatted(std::string& text, fmt::string_view format, fmt::format_args arguments);

// As fmt::format_to with a back inserter for `text`.
template <typename... T>
void AppendFormat(std::string& text, fmt::format_string<T...> format, T&&... arguments) {
  AppendFormatted(text, format, fmt::make_format_args(arguments...));
}

}  // namespace berth
