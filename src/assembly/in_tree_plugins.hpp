// The plugins that come with Berth.
#pragma once

#include "runtime/registry.hpp"

namespace berth::assembly {

runtime::Registry InTreePlugins();

}  // namespace berth::assembly
