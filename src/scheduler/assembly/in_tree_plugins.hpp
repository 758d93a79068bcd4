// The plugins built into Berth.
#pragma once

#include "scheduler/runtime/registry.hpp"

namespace berth::assembly {

runtime::Registry InTreePlugins();

}  // namespace berth::assembly
