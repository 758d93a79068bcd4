// Hash tables of texts that clients choose, such as names of objects.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <boost/unordered_map.hpp>
#include <functional>
#include <string>

#include "base/seeded_hash.hpp"

namespace berth {

// Elements do not move. The order of iteration differs between processes and must not influence decisions or
// output.
template <class T>
using TextMap = boost::unordered_map<std::string, T, SeededHash, std::equal_to<>>;

// Faster to search, but insertions and erasures move elements.
template <class T>
using FlatTextMap = boost::unordered_flat_map<std::string, T, SeededHash, std::equal_to<>>;
using FlatTextSet = boost::unordered_flat_set<std::string, SeededHash, std::equal_to<>>;

}  // namespace berth
