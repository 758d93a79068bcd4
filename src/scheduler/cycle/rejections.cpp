#include "scheduler/cycle/rejections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace berth::cycle {
namespace {

constexpr const char* kGroupUnschedulable = "pod group is unschedulable";

}  // namespace

framework::Status RejectedWithGroup(framework::Status reason) {
  framework::Status status = framework::Status::Unschedulable(kGroupUnschedulable);
  for (const std::string& text : reason.reasons) status.reasons.push_back(text);
  return status;
}

std::string ErrorTextOf(const framework::Status& rejected) {
  const bool general = !rejected.reasons.empty() && rejected.reasons.front() == kGroupUnschedulable;
  return general ? kGroupUnschedulable : rejected.Message();
}

framework::Status RejectedOnOneNode(framework::Status rejection) {
  std::ranges::sort(rejection.reasons);
  rejection.reasons = {fmt::format("0/1 nodes are available: 1 {}.", fmt::join(rejection.reasons, ", 1 "))};
  return rejection;
}

}  // namespace berth::cycle
