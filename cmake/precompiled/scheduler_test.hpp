// Precompiled for every test of a module that depends on scheduler/framework.
#pragma once

#include "precompiled/scheduler.hpp"
#include "precompiled/test.hpp"
