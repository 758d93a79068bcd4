// A sampling CPU profiler.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace berth::service {

// While a sampler exists, a signal (SIGPROF) interrupts the running thread a hundred times per second of CPU
// time and records its stack. Costs less than one percent of CPU time; nothing without a sampler. At most one
// at a time.
class Sampler {
 public:
  static constexpr std::chrono::microseconds kPeriod{10'000};
  static constexpr int kDepth = 64;  // frames of a stack; deeper callers are left out

  // Null if there is a sampler already, or the system has no timer available.
  static std::unique_ptr<Sampler> Start(std::size_t most_samples = 200'000);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Each stack as return addresses, innermost first. Ends the sampling.
  using Stack = std::vector<std::uint64_t>;
  std::vector<Stack> Finish();

 private:
  struct Buffer;
  explicit Sampler(std::unique_ptr<Buffer> buffer);
  static void OnSignal(int);
  void Stop();

  std::unique_ptr<Buffer> buffer_;
  bool running_ = false;
};

}  // namespace berth::service
