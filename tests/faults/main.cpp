#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include "observability/log/log.hpp"
#include "tests/faults/simulation.hpp"
int main(int argc, char** argv) {
  using namespace berth::faults;
  berth::log::SetVerbosity(-1);
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const bool timeline = argc > 3;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto result = Run(MakePlan(seed), timeline);
    for (const auto& line : result.timeline) fmt::print("{}\n", line);
    fmt::print("seed {} {:016x} {}\n", seed, result.digest, result.violations.empty() ? "ok" : "FAILED");
    for (const auto& v : result.violations) fmt::print("  {}\n", v);
    if (timeline) for (const auto& [k, v] : result.counts) fmt::print("  {} {}\n", k, v);
    std::fflush(stdout);
    failed += result.violations.empty() ? 0 : 1;
  }
  return failed != 0;
}
