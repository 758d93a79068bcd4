// Order of resource versions.
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace berth::api {

// The number of a metadata.resourceVersion; 0 if the text does not begin with a decimal number below 2^64.
// Of two versions of one object, the newer one has the larger number, as kube-scheduler's assume cache takes
// for granted.
inline std::uint64_t VersionNumber(std::string_view resource_version) {
  std::uint64_t number = 0;
  std::from_chars(resource_version.data(), resource_version.data() + resource_version.size(), number);
  return number;
}

}  // namespace berth::api
