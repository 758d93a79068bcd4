// The version of Berth.
#pragma once

#include <string_view>

namespace berth {

// As in the build files: "0.1.0".
std::string_view BerthVersion();

}  // namespace berth
