// Evaluates an extender's responses as kube-scheduler v1.37.1 would.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::extender_conformance {

enum class Result : std::uint8_t {
  kPass,
  kWarn,   // kube-scheduler accepts it, but probably not with the intended effect
  kWrong,  // kube-scheduler fails, or does something other than the extender intended
};
std::string_view ResultName(Result result);  // "pass", "warn", "wrong"

// The result of one case: the worst severity, and all messages.
struct Finding {
  Result result = Result::kPass;
  std::vector<std::string> messages;

  void Add(Result worse, std::string what);
  void Warn(std::string what) { Add(Result::kWarn, std::move(what)); }
  void Wrong(std::string what) { Add(Result::kWrong, std::move(what)); }
};

using ReplyOrError = Expected<extenders::Reply>;

// Returns whether there was a response. If HTTPExtender would return an error, returns false and adds the
// reason and the consequence.
bool Arrived(const ReplyOrError& received, std::string_view consequence, Finding& finding);

// `requested`: the nodes of the request; `whole`: they were sent as objects.
Finding CheckFilter(const ReplyOrError& received, const std::vector<std::string>& requested, bool whole);
Finding CheckPrioritize(const ReplyOrError& received, const std::vector<std::string>& requested);

struct RequestedVictims {
  std::string node;
  std::vector<std::string> uids;
};
Finding CheckPreempt(const ReplyOrError& received, const std::vector<RequestedVictims>& requested);
// For a binding that must fail.
Finding CheckRefusedBinding(const ReplyOrError& received);
// For an invalid request, to which the response must not be a result.
Finding CheckInvalidRequest(const ReplyOrError& received);

}  // namespace berth::extender_conformance
