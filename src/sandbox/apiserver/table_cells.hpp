// The cells of a table row, by kind.
#pragma once

#include "base/clock.hpp"
#include "sandbox/store/document.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// As many cells as TableColumns(type) has columns.
json::array TableCells(const ResourceType& type, const json::object& document, WallTime now);

// RFC 3339, with Z or an offset, without the fraction; the nearest time from 1970 to 2262, and the epoch if
// the text is not a time.
WallTime ParseTime(std::string_view text);

}  // namespace berth::sandbox
