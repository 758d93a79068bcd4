// How a plugin answers, and what each answer leads to (kube-scheduler v1.37.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kubernetes/api/cow_ptr.hpp"

namespace berth::framework {

// Each code is here because somebody acts on it differently.
enum class Code : std::uint8_t {
  kSuccess,
  kError,                         // something broke: the pod is tried again after a back-off
  kUnschedulable,                 // no; evicting pods could help
  kUnschedulableAndUnresolvable,  // no; evicting pods cannot help
  kWait,                          // Permit only: decide later
  kSkip,                          // nothing to do for this pod
  kPending,                       // no; waiting for somebody outside, tried again without back-off
};

std::string_view CodeName(Code code);  // "Success", "Unschedulable", ... as Kubernetes spells them

struct [[nodiscard]] Status {
  Code code = Code::kSuccess;
  api::CowList<std::string> reasons;
  std::string_view plugin;  // who said so, by Plugin::Name(); filled in by the runtime

  bool ok() const { return code == Code::kSuccess; }
  bool skip() const { return code == Code::kSkip; }
  // Rejections leave the pod pending; everything else that is not Success is trouble.
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
