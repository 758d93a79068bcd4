#include "scheduler/framework/status.hpp"

namespace berth::framework {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kSuccess:
      return "Success";
    case Code::kError:
      return "Error";
    case Code::kUnschedulable:
      return "Unschedulable";
    case Code::kUnschedulableAndUnresolvable:
      return "UnschedulableAndUnresolvable";
    case Code::kWait:
      return "Wait";
    case Code::kSkip:
      return "Skip";
    case Code::kPending:
      return "Pending";
  }
  return "Unknown";
}

std::string Status::Message() const {
  std::string message;
  for (const std::string& reason : reasons) {
    if (!message.empty()) message += ", ";
    message += reason;
  }
  return message;
}

}  // namespace berth::framework
