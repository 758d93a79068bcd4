// The annotations that decoded objects keep.
#pragma once

#include <string>

namespace berth::api {

// Registers an annotation that a plugin reads; decoders then keep it. Call before any other thread decodes.
void KeepAnnotation(std::string key);

}  // namespace berth::api
