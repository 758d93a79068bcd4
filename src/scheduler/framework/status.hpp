// Result codes of plugins and their consequences (kube-scheduler v1.37.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kubernetes/api/cow_ptr.hpp"

namespace berth::framework {

// Each code has a different effect on the attempt.
enum class Code : std::uint8_t {
  kSuccess,
  kError,                         // failure: the pod is retried after a back-off
  kUnschedulable,                 // rejected; evicting pods may help
  kUnschedulableAndUnresolvable,  // rejected; evicting pods cannot help
  kWait,                          // Permit only: the plugin will allow or reject the pod later
  kSkip,                          // nothing to do for this pod
  kPending,                       // rejected; waits for an external component, retried without back-off
};

std::string_view CodeName(Code code);  // "Success", "Unschedulable", ...: Kubernetes' spelling

// What a plugin returns: a code, and the reasons as events show them.
struct [[nodiscard]] Status {
  Code code = Code::kSuccess;
  api::CowList<std::string> reasons;
  std::string_view plugin;  // Plugin::Name() of the plugin that returned it; set by the runtime

  bool ok() const { return code == Code::kSuccess; }
  bool skip() const { return code == Code::kSkip; }
  // A rejection leaves the pod pending; any other code but Success is an error at most extension points.
  bool rejected() const {
    return code == Code::kUnschedulable || code == Code::kUnschedulableAndUnresolvable ||
           code == Code::kPending;
  }
  std::string Message() const;  // the reasons, joined by ", "

  static Status Success() { return {}; }
  static Status Skip() { return {Code::kSkip, {}, {}}; }
  static Status Error(std::string what) { return {Code::kError, {std::move(what)}, {}}; }
  static Status Unschedulable(std::string reason) { return {Code::kUnschedulable, {std::move(reason)}, {}}; }
  static Status Unresolvable(std::string reason) {
    return {Code::kUnschedulableAndUnresolvable, {std::move(reason)}, {}};
  }
};

}  // namespace berth::framework
