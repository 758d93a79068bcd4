// Timings of one scheduling attempt, for trace collectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace berth::tracing {

struct AttemptTrace {
  // An extension point, named as in metrics; spans the calls of all its plugins.
  struct Part {
    std::string_view name;    // a literal
    std::string_view status;  // the status code as in metrics (a literal); "Error" is a failure
    MonoTime begin, end;
  };

  std::string pod{}, uid{};  // "namespace/name"
  std::string profile{};
  std::int32_t attempt = 0;
  MonoTime begin{}, end{};
  std::string result{};   // scheduled, unschedulable, error
  std::string node{};     // empty: none
  std::string message{};  // of a failure
  std::vector<Part> parts{};
};

// Where traces go. Called on the scheduler loop's thread; must not block.
class Tracer {
 public:
  virtual ~Tracer() = default;
  // Whether to trace the next attempt. Decides by random sampling if the sampling ratio is below 1.
  virtual bool ShouldTrace() = 0;
  // Takes the trace of a completed attempt.
  virtual void Finished(AttemptTrace trace) = 0;
};

// Traces nothing.
class NoTracer final : public Tracer {
 public:
  bool ShouldTrace() override { return false; }
  void Finished(AttemptTrace) override {}
};

}  // namespace berth::tracing
