// Names with numbers as ranges.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace berth {

// Consecutive numbers at the end of names become ranges: gpu-001, gpu-002, gpu-004 and web are
// "gpu-[001-002,004], web". `names` must be sorted. At most about `most` names and groups are listed, then
// "and N more" follows.
std::string NameRanges(const std::vector<std::string>& names, std::size_t most = 8);

}  // namespace berth
