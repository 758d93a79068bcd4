// The first line of a recording: with what the scheduler was built.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "config/feature_gates.hpp"
#include "config/scheduler_config.hpp"
#include "scheduler/cycle/scheduler.hpp"
#include "scheduler/extenders/circuit.hpp"

namespace berth::recording {

// What decisions depend on besides the objects of the cluster.
struct Header {
  std::string version;              // of the Berth that recorded
  std::string started;              // RFC 3339
  std::string gates;                // in the form of --feature-gates: every gate
  std::string config;               // KubeSchedulerConfiguration as YAML, with REDACTED in place of secrets
  cycle::SchedulerOptions options;  // without class_latency
  extenders::CircuitOptions circuit;
};

// That of this build, with extenders' default circuit. `codecs` are those of the plugins' arguments.
Header HeaderOf(const config::SchedulerConfig& config, const config::ArgsCodecs& codecs,
                const cycle::SchedulerOptions& options, WallTime started);

// One line of JSON without a newline.
std::string WriteHeader(const Header& header);
// Errors name the member.
Expected<Header> ReadHeader(std::string_view line);

// Every gate with its state: "AllAlpha=false,..." is left out, because it is contained in the others.
std::string GatesText(const config::FeatureGates& gates);

}  // namespace berth::recording
