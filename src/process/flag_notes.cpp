// Flags that are accepted and make no difference, or another one than they used to: what the log says of
// them.
#include <fmt/format.h>

#include "process/scheduler_flags.hpp"

namespace berth::process {

std::vector<std::string> NotesOn(const SchedulerFlags& flags, const PFlags& table) {
  std::vector<std::string> notes;
  const auto about = [&](std::initializer_list<const char*> names, std::string_view what) {
    for (const char* name : names) {
      if (table.Given(name)) notes.push_back(fmt::format("--{}: {}", name, what));
    }
  };
  about({"http2-max-streams-per-connection"}, "no effect, HTTP/1.1 is served");
  about({"emulated-version"}, "no effect, Berth follows 1.37");
  about({"vmodule"}, "no effect, log levels are not kept by file; use -v");
  about({"log-flush-frequency", "log-text-info-buffer-size", "log-json-info-buffer-size"},
        "no effect, lines are written at once");
  about({"log-text-split-stream", "log-json-split-stream"}, "no effect, all lines go to standard error");
  about({"log-dir", "log-file", "log-file-max-size", "log-backtrace-at", "stderrthreshold", "logtostderr",
         "alsologtostderr", "add-dir-header", "skip-headers", "skip-log-headers", "one-output",
         "experimental-logging-sanitization"},
        "a flag of older releases without effect, logs go to standard error");
  about({"port", "address"},
        "a flag of older releases, taken for --berth-http-address: plain HTTP, health and metrics only");
  about({"lock-object-name"}, "a flag of older releases, taken for --leader-elect-resource-name");
  about({"lock-object-namespace"}, "a flag of older releases, taken for --leader-elect-resource-namespace");
  const bool file = !flags.config.empty();
  about(
      {"policy-config-file", "policy-configmap", "algorithm-provider", "scheduler-name",
       "hard-pod-affinity-symmetric-weight"},
      file && !flags.old.use_legacy_policy_config
          ? "a flag of older releases, without effect beside --config"
          : "a flag of older releases; the configuration file has a field for it (see berth config convert)");
  if (file) {
    about({"kube-api-content-type", "kube-api-qps", "kube-api-burst", "profiling", "contention-profiling"},
          "without effect beside --config, where it is a field");
  }
  return notes;
}

}  // namespace berth::process
