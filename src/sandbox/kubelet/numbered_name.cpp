#include "sandbox/kubelet/numbered_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace berth::sandbox {

std::string NumberedName(std::string_view pattern, std::int64_t number) {
  const auto first = pattern.find('#');
  if (first == std::string_view::npos) return std::string(pattern);
  const auto end = std::min(pattern.find_first_not_of('#', first), pattern.size());
  return fmt::format("{}{:0{}}{}", pattern.substr(0, first), number, end - first, pattern.substr(end));
}

std::string PatternProblem(std::string_view pattern, std::int64_t count) {
  const auto first = pattern.find('#');
  if (first == std::string_view::npos) {
    return count == 1 ? std::string() : fmt::format("needs # for the number, as in \"{}-##\"", pattern);
  }
  const auto end = pattern.find_first_not_of('#', first);
  const bool one_run = end == std::string_view::npos || pattern.find('#', end) == std::string_view::npos;
  return one_run ? std::string() : "may have # in one place only";
}

}  // namespace berth::sandbox
