// Vectors indexed by ids, which grow as ids appear; private to this module.
#pragma once

#include <cstddef>
#include <vector>

namespace berth::cluster {

// The element at `index`; elements up to it are added with default values.
template <class T>
T& At(std::vector<T>& list, std::size_t index) {
  if (index >= list.size()) list.resize(index + 1);
  return list[index];
}

}  // namespace berth::cluster
