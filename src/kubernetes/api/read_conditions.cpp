#include "kubernetes/api/read_conditions.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace berth::api {

bool IsReadOnNodes(const PodCondition& condition) {
  return condition.type == "DisruptionTarget" || condition.type == "PodResizePending";
}

bool SameReadConditions(const PodStatus& a, const PodStatus& b) {
  return std::ranges::equal(std::views::filter(std::as_const(a.conditions), IsReadOnNodes),
                            std::views::filter(std::as_const(b.conditions), IsReadOnNodes));
}

}  // namespace berth::api
