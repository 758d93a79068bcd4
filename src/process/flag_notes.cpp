// Log lines about accepted flags that have no effect or another effect than in earlier releases.
#include <fmt/format.h>

#include "process/scheduler_flags.hpp"

namespace berth::process {

std::vector<std::string> NotesOn(const SchedulerFlags& flags, const command_line::FlagSet& table) {
  std::vector<std::string> notes;
  const auto about = [&](std::initializer_list<const char*> names, std::string_view what) {
    for (const char* name : names) {
      if (table.IsSet(name)) notes.push_back(fmt::format("--{}: {}", name, what));
    }
  };
  about({"http2-max-streams-per-connection", "disable-http2-serving"}, "no effect, only HTTP/1.1 is served");
  about({"emulated-version", "min-compatibility-version"}, "no effect, Berth follows 1.37");
  about({"vmodule"}, "no effect, log levels are not set by file; use -v");
  about({"log-flush-frequency", "log-text-info-buffer-size", "log-json-info-buffer-size"},
        "no effect, lines are written immediately");
  about({"log-text-split-stream", "log-json-split-stream"}, "no effect, all lines go to standard error");
  about({"log-dir", "log-file", "log-file-max-size", "log-backtrace-at", "stderrthreshold", "logtostderr",
         "alsologtostderr", "add-dir-header", "skip-headers", "skip-log-headers", "one-output",
         "experimental-logging-sanitization"},
        "flag of an older release, no effect, logs go to standard error");
  about({"port", "address"},
        "flag of an older release, used as --berth-http-address: plain HTTP, health and metrics only");
  about({"lock-object-name"}, "flag of an older release, used as --leader-elect-resource-name");
  about({"lock-object-namespace"}, "flag of an older release, used as --leader-elect-resource-namespace");
  const bool file = !flags.config.empty();
  about({"policy-config-file", "policy-configmap", "algorithm-provider", "scheduler-name",
         "hard-pod-affinity-symmetric-weight"},
        file && !flags.old.use_legacy_policy_config
            ? "flag of an older release, no effect with --config"
            : "flag of an older release; use the field of the configuration file (see berth config convert)");
  if (file) {
    about({"kube-api-content-type", "kube-api-qps", "kube-api-burst", "profiling", "contention-profiling"},
          "no effect with --config, use the field of the file");
  }
  return notes;
}

}  // namespace berth::process
