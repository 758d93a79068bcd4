// The plugins that come with Berth.
#pragma once

#include "scheduler/runtime/registry.hpp"

namespace berth::assembly {

runtime::Registry InTreePlugins();

}  // namespace berth::assembly
