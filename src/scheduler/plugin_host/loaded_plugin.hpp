// Adapts a plugin of a loaded library to the framework's interfaces. It takes part at the extension points
// for which its table has functions. Invalid results (a status that is not allowed at the extension point,
// rows that do not exist) become errors of the attempt that name plugin and function.
#pragma once

#include "scheduler/framework/factory.hpp"
#include "scheduler/plugin_host/berth_plugin.h"

namespace berth::plugin_host {

// `table` must come from ReadLibrary; the data that it points to must live as long as the process.
framework::Factory FactoryOf(const berth_plugin& table);

}  // namespace berth::plugin_host
