// Writes the effective configuration as a file of kubescheduler.config.k8s.io/v1.
#pragma once

#include <string>

#include "config/scheduler_config.hpp"

namespace berth::config {

// Byte for byte the output of kube-scheduler v1.37.1 --write-config-to: keys sorted, defaults filled in,
// multiPoint not expanded, arguments only of enabled plugins.
std::string WriteConfigYaml(const SchedulerConfig& config, const ArgsCodecs& codecs);

// The same for logs, with "REDACTED" in place of private keys, passwords and tokens.
std::string WriteConfigForLog(const SchedulerConfig& config, const ArgsCodecs& codecs);

// For /configz: {"componentconfig":{...}} on one line, without a newline; redacted, too.
std::string WriteConfigz(const SchedulerConfig& config, const ArgsCodecs& codecs);

// A note on the limits of requests, which WriteConfigYaml writes as defaults although the configuration sets
// none (ClientConnection::limits_given): the scheduler that reads the file is limited. Empty if they are set.
std::string NoteOnWrittenLimits(const SchedulerConfig& config);

}  // namespace berth::config
