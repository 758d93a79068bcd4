// Files as commands write them: whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"

namespace berth::process {

// Readers see the old content or the new, never half of it; the file gets these permissions whatever it had
// before.
Expected<void> WriteFileAtomically(const std::string& path, std::string_view content, unsigned permissions);

}  // namespace berth::process
