// What one run of a performance test has shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace berth::scheduler_perf {

// A part of the run in which the test collects metrics.
struct Measurement {
  std::string name;            // the namespaces, or the name that the test gives
  std::uint64_t pods = 0;      // that waited at the start or were created during it
  std::uint64_t bound = 0;     // of these
  std::uint64_t attempts = 0;  // of all pods
  std::uint64_t failed_attempts = 0;
  Duration virtual_time{};  // from the start to the last binding of these pods
  // Of this process with the simulated API server, without the creation of objects from templates.
  double cpu_seconds = 0;
};

struct TestResult {
  std::string configuration;
  bool complete = false;              // false: interrupted
  std::uint64_t nodes = 0, pods = 0;  // that were created
  std::uint64_t bound = 0;
  std::uint64_t preempted = 0;
  std::uint64_t attempts = 0, failed_attempts = 0;
  Duration virtual_time{};
  double cpu_seconds = 0;
  std::vector<Measurement> measurements;
};

}  // namespace berth::scheduler_perf
