// Random arguments of LoadAware, for searches.
#pragma once

#include <random>
#include <string>

namespace berth::bench {

// Valid arguments in YAML: every preset, with changed and additional signals, estimates of every kind,
// thresholds, hysteresis, and settings for outages. At least one signal has a threshold.
std::string RandomLoadAwareArgs(std::mt19937_64& random);

}  // namespace berth::bench
