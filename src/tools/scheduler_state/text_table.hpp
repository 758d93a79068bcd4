// Tables of texts for terminals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::scheduler_state {

using TableRow = std::vector<std::string>;

// One line per row, with the columns below each other and three spaces between them. The last cell of a row
// is not padded. Rows may have different numbers of cells.
std::string TextTable(const std::vector<TableRow>& rows);

// "45s", "12m", "3h", "5d": the age of a time, in the largest unit of which there are at least two; "0s" for
// times in the future.
std::string AgeText(std::int64_t seconds);

}  // namespace berth::scheduler_state
