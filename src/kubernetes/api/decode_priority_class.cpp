// PriorityClasses from JSON.
#include "kubernetes/api/json_reader.hpp"

namespace berth::api::json {

bool Read(const element& value, PriorityClass& out, Failure& failure) {
  static const std::vector<std::string> kAnnotations{std::string(PriorityClass::kMinimumPreemptablePriority),
                                                     std::string(PriorityClass::kTolerationSeconds)};
  return ReadFields(value, failure, Field{"metadata", out.metadata}, Field{"value", out.value}) &&
         ReadAnnotationsOf(value, kAnnotations, out.metadata, failure);
}

}  // namespace berth::api::json
