// Reads whole files; "-" is standard input.
#pragma once

#include <string>

#include "base/result.hpp"

namespace berth::process {

// Errors have Go's form: "open /x: no such file or directory".
Expected<std::string> ReadWholeFile(const std::string& path);

}  // namespace berth::process
