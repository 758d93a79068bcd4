// Precompiled for every source file of a module that depends on scheduler/framework: the plugin interfaces,
// the node table and the API objects, which most of these files include. Files still include what they use.
#pragma once

#include "precompiled/standard.hpp"
#include "scheduler/framework/factory.hpp"
#include "scheduler/framework/handle.hpp"
#include "scheduler/framework/plugin.hpp"
