// Properties of the terminal that standard output may be.
#pragma once

#include <cstddef>

#include "kubernetes/client/environment.hpp"

namespace berth::explain {

struct Terminal {
  bool colour = false;    // a terminal that is not "dumb", and NO_COLOR is unset or empty
  std::size_t width = 0;  // columns; 0: not a terminal
};

Terminal StandardOutput(const client::Environment& environment);

}  // namespace berth::explain
