// Equality of resource lists.
#pragma once

#include <algorithm>

#include "kubernetes/api/objects.hpp"

namespace berth::api {

// Whether both lists have the same resources with exactly equal amounts, in any notation: "1Gi" equals
// "1024Mi".
inline bool SameAmounts(const ResourceList& a, const ResourceList& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.Compare(y.second) == 0;
  });
}

}  // namespace berth::api
