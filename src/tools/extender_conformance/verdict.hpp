// What kube-scheduler v1.37.1 would make of an extender's answers.
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
  kWarn,   // kube-scheduler takes it, but hardly as it was meant
  kWrong,  // it fails, or does something else than the extender said
};
std::string_view ResultName(Result result);  // "pass", "warn", "wrong"

// One case's outcome: the worst of what was found, and all of it in words.
struct Finding {
  Result result = Result::kPass;
  std::vector<std::string> said;

  void Say(Result worse, std::string what);
  void Warn(std::string what) { Say(Result::kWarn, std::move(what)); }
  void Wrong(std::string what) { Say(Result::kWrong, std::move(what)); }
};

using Answer = Expected<extenders::Reply>;

// Was the question answered at all? False, with the reason said, for what HTTPExtender takes as an error.
bool Arrived(const Answer& answer, std::string_view consequence, Finding& finding);

// `asked`: the nodes of the question; `whole`: they were sent as objects.
Finding JudgeFilter(const Answer& answer, const std::vector<std::string>& asked, bool whole);
Finding JudgePrioritize(const Answer& answer, const std::vector<std::string>& asked);

struct AskedVictims {
  std::string node;
  std::vector<std::string> uids;
};
Finding JudgePreempt(const Answer& answer, const std::vector<AskedVictims>& asked);
// The answer to a binding that cannot succeed.
Finding JudgeRefusedBinding(const Answer& answer);
// The answer to what is no question: it must not look like a verdict.
Finding JudgeRubbish(const Answer& answer);

}  // namespace berth::extender_conformance
