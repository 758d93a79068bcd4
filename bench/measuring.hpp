// What several benchmarks in one process share.
#pragma once

#include <fmt/format.h>
#include <jemalloc/jemalloc.h>
#include <sys/resource.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/workloads.hpp"
#include "config/feature_gates.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::bench {

// Ends the program with exit code 1.
[[noreturn]] inline void Stop(const std::string& message) {
  fmt::print(stderr, "Error: {}\n", message);
  std::exit(1);
}

// Values of --feature-gates; ends the program if they are not valid.
inline config::FeatureGates GatesOf(std::span<const std::string> values) {
  std::vector<std::string> notes;
  auto gates = config::FeatureGates::Parse(values, notes);
  if (!gates) Stop(gates.error().message);
  return *std::move(gates);
}

// CPU time of this process, in all threads.
inline double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Keeps freed memory for the next round, like a scheduler that has been running for long. Otherwise a
// benchmark would measure how fast the machine provides new pages (microseconds each on virtual machines).
inline void KeepFreedMemory() {
  ssize_t never = -1;
  for (const char* setting : {"arenas.dirty_decay_ms", "arena.0.dirty_decay_ms"}) {
    if (mallctl(setting, nullptr, nullptr, &never, sizeof(never)) != 0)
      Stop(fmt::format("jemalloc rejects {}", setting));
  }
}

// Calls take(std::shared_ptr<const T>) with the object of the event; T is its kind. Kinds that the scheduler
// does not know are ignored. Ends the program if the object cannot be decoded.
template <class Take>
void Decode(api::Decoder& decoder, const Event& event, Take&& take) {
  api::AllKinds::ForEach([&]<class T>() {
    if (T::kKind != event.kind) return;
    auto decoded = decoder.Object<T>(event.object);
    if (!decoded) Stop(fmt::format("{} {}: {}", event.kind, event.object, decoded.error().message));
    take(std::make_shared<const T>(std::move(*decoded)));
  });
}

}  // namespace berth::bench
