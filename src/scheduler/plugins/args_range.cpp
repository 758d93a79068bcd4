#include "scheduler/plugins/args_range.hpp"

#include <fmt/format.h>

namespace berth::plugins {

void CheckRange(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
                std::vector<std::string>& errors) {
  if (value < least || value > most)
    errors.push_back(fmt::format("{}: Invalid value: {}: must be from {} to {}", field, value, least, most));
}

}  // namespace berth::plugins
