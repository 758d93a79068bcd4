#include "tools/replay/step_check.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace berth::replay {
namespace {

using boost::json::object;
using boost::json::value;

std::string MustBe(std::string_view member, std::string_view form) {
  return fmt::format("{}: expected {}", member, form);
}

bool IsText(const value* member) { return member != nullptr && member->is_string(); }
bool IsNumber(const value* member) { return member != nullptr && member->is_int64(); }
bool IsCount(const value* member) { return IsNumber(member) && member->get_int64() > 0; }

// {"error":code,"message":text}; anything else is a success.
std::string ResultError(std::string_view where, const value& result) {
  const object* members = result.if_object();
  const value* code = members == nullptr ? nullptr : members->if_contains("error");
  if (code == nullptr) return {};
  constexpr auto kLast = static_cast<std::int64_t>(ErrorCode::kInternal);
  if (code->is_int64() && code->get_int64() >= 0 && code->get_int64() <= kLast) return {};
  return MustBe(fmt::format("{}.error", where), fmt::format("a number from 0 to {}", kLast));
}

std::string ReplyError(const object& reply) {
  if (!IsCount(reply.if_contains("reply"))) return MustBe("reply", "a number above 0");
  if (const value* result = reply.if_contains("result")) return ResultError("result", *result);
  const value* status = reply.if_contains("status");
  if (!IsNumber(status) || status->get_int64() < 0 || status->get_int64() > 999)
    return MustBe("status", "a number from 0 to 999");
  return IsText(reply.if_contains("body")) ? "" : MustBe("body", "a string");
}

std::string WorkError(const object& work) {
  const value* kind = work.if_contains("run");
  constexpr std::string_view kForm = R"("write", "loop", "step", "command", "measurement" or "blocking")";
  if (!IsText(kind)) return MustBe("run", kForm);
  const std::string_view name = kind->get_string();
  if (name == "loop" || name == "step" || name == "blocking") return {};
  if (name == "measurement") return work.contains("result") ? "" : MustBe("result", "an object");
  if (name == "command") return IsText(work.if_contains("command")) ? "" : MustBe("command", "a string");
  if (name != "write") return MustBe("run", kForm);
  if (!IsCount(work.if_contains("number"))) return MustBe("number", "a number above 0");
  const value* result = work.if_contains("result");
  return result == nullptr ? "" : ResultError("result", *result);
}

// A step that is described by one of the first members has none of the others: only these are checked by
// their own.
std::string KindError(const object& step) {
  for (const std::string_view alone : {"lost", "break", "snapshot", "unsaved", "state"}) {
    if (!step.contains(alone)) continue;
    for (const std::string_view other : {"start", "change", "synced", "run", "timers", "work"}) {
      if (step.contains(other)) return fmt::format("{}: expected no member {} beside it", alone, other);
    }
  }
  return {};
}

// An element of the member "t".
std::string ReadingError(const value& element) {
  if (element.is_int64() || element.is_bool()) return {};
  const object* members = element.if_object();
  if (members == nullptr) return MustBe("a reading", "a number, a boolean or an object");
  if (members->contains("run")) return FormError(*members);
  if (members->contains("reply")) return ReplyError(*members);
  return IsNumber(members->if_contains("w")) ? ""
                                             : MustBe("a reading", R"("w" with a number, "reply" or "run")");
}

}  // namespace

// The recursion ends, because the parser limits the depth of the JSON.
std::string FormError(const object& step) {
  if (std::string error = KindError(step); !error.empty()) return error;
  if (const value* missing = step.if_contains("lost"))
    return IsCount(missing) ? "" : MustBe("lost", "a number above 0");
  if (const value* why = step.if_contains("break")) return IsText(why) ? "" : MustBe("break", "a string");
  if (step.contains("snapshot") || step.contains("unsaved")) return {};
  if (const value* state = step.if_contains("state")) {
    if (!state->is_object()) return MustBe("state", "an object");
    for (const std::string_view member : {"now", "wall", "writes"}) {
      const value* number = step.if_contains(member);
      constexpr std::int64_t kMost = std::int64_t{1} << 61;  // sums must not overflow
      if (!IsNumber(number) || number->get_int64() < 0 || number->get_int64() > kMost)
        return MustBe(member, "a number from 0 to 2^61");
    }
    const value* calls = step.if_contains("calls");
    if (calls != nullptr && (!IsNumber(calls) || calls->get_int64() < 0))
      return MustBe("calls", "a number from 0 on");
    return {};
  }
  if (const value* kind = step.if_contains("change"); kind != nullptr && !IsText(kind))
    return MustBe("change", "the name of a kind");
  if (const value* key = step.if_contains("deleted"); key != nullptr && !IsText(key))
    return MustBe("deleted", "the key of an object");
  if (step.contains("run")) {
    if (std::string error = WorkError(step); !error.empty()) return error;
  }
  if (const value* attempts = step.if_contains("attempts"); attempts != nullptr && !attempts->is_array())
    return MustBe("attempts", "an array");
  const value* readings = step.if_contains("t");
  if (readings == nullptr || !readings->is_array()) return MustBe("t", "an array");
  for (const value& element : readings->get_array()) {
    if (std::string error = ReadingError(element); !error.empty()) return "t: " + error;
  }
  return {};
}

}  // namespace berth::replay
