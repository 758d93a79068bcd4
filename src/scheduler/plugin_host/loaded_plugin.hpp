// A plugin of a loaded library as the scheduler knows plugins: it takes part at the extension points for
// which its table has functions. What it does wrong (a status that does not belong to the point, rows that do
// not exist) becomes an error of the attempt that names plugin and function.
#pragma once

#include "scheduler/framework/factory.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// `table` as ReadLibrary gave it; what it points to lasts as long as the process.
framework::Factory FactoryOf(const berth_plugin& table);

}  // namespace berth::plugin_host
