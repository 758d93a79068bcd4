// How long a simulated pod runs and how it ends.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// A pod's annotations. "30s", "5m", "1h30m" (a Go duration): how long its containers run before they end.
constexpr std::string_view kRunFor = "sandbox.berth.dev/run-for";
// With what exit code they end; 0 without it.
constexpr std::string_view kExitCode = "sandbox.berth.dev/exit-code";

struct RunPlan {
  std::optional<Duration> runs_for;  // nothing: for ever
  std::int64_t exit_code = 0;
};

// By the annotations; else, of pods that are not always restarted, by the command of the first container: the
// sum of its `sleep`s and the number after its last `exit` ("sh -c 'sleep 5; exit 1'"; `false` is 1), at once
// if there is a command without either; else `otherwise` for pods that a Job controls, and for ever for all
// others.
RunPlan RunPlanOf(const json::object& pod, Duration otherwise);

// A Go duration; nothing if it is none, or a negative one.
std::optional<Duration> ParseSpan(std::string_view text);

}  // namespace berth::sandbox
