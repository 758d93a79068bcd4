// Whole files in, "-" for standard input.
#pragma once

#include <string>

#include "base/result.hpp"

namespace berth::process {

// Errors read like Go's: "open /x: no such file or directory".
Expected<std::string> ReadWholeFile(const std::string& path);

}  // namespace berth::process
