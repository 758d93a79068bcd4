#include "scheduler/cycle/rejections.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace berth::cycle {

framework::Status RejectedWithGroup(framework::Status reason) {
  framework::Status status = framework::Status::Unschedulable("pod group is unschedulable");
  for (const std::string& text : reason.reasons) status.reasons.push_back(text);
  return status;
}

framework::Status RejectedOnOneNode(framework::Status rejection) {
  std::ranges::sort(rejection.reasons);
  rejection.reasons = {fmt::format("0/1 nodes are available: 1 {}.", fmt::join(rejection.reasons, ", 1 "))};
  return rejection;
}

}  // namespace berth::cycle
