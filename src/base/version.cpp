#include "base/version.hpp"

namespace berth {

std::string_view BerthVersion() { return BERTH_VERSION; }

}  // namespace berth
