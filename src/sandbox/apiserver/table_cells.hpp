// The cells of a table row, by kind.
#pragma once

#include "base/clock.hpp"
#include "sandbox/store/document.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

// As many cells as TableColumns(type) has columns.
json::array TableCells(const ResourceType& type, const json::object& document, WallTime now);

}  // namespace berth::sandbox
