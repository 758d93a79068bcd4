// Which annotations objects keep when they are decoded.
#pragma once

#include <string>

namespace berth::api {

// Keeps these, too, from now on: a plugin reads them. Before anything is decoded on another thread.
void KeepAnnotation(std::string key);

}  // namespace berth::api
