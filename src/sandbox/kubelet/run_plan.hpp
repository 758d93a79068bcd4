// How long a simulated pod runs and how it ends.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.hpp"
#include "sandbox/store/document.hpp"

namespace berth::sandbox {

// Annotation of a pod: "30s", "5m", "1h30m" (a Go duration), the run time of its containers.
constexpr std::string_view kRunFor = "sandbox.berth.dev/run-for";
// Annotation of a pod: the exit code of its containers; default 0.
constexpr std::string_view kExitCode = "sandbox.berth.dev/exit-code";

struct RunPlan {
  std::optional<Duration> runs_for;  // nullopt: without end
  std::int64_t exit_code = 0;
};

// The plan follows the annotations. Without them, for pods with a restartPolicy other than Always, it follows
// the command of the first container: the sum of its `sleep`s and the number after its last `exit` ("sh -c
// 'sleep 5; exit 1'"; `false` is 1), or without end beyond 1e8 seconds; a command without either ends
// immediately. Without annotations and command, pods of a Job controller run for `otherwise`, all other pods
// without end. The restart policy decides whether the containers are started again.
RunPlan RunPlanOf(const json::object& pod, Duration otherwise);

// Parses a Go duration; nullopt if it is malformed or negative.
std::optional<Duration> ParseSpan(std::string_view text);

}  // namespace berth::sandbox
