// Precompiled for every test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precompiled/standard.hpp"
