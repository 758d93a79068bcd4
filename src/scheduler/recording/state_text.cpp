#include "scheduler/recording/state_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fields.hpp"
#include "base/json_text.hpp"

namespace berth::recording {
namespace {

using Texts = std::vector<std::string>;
using SavedPod = queue::SavedQueue::Pod;
using Nomination = queue::SavedQueue::Nomination;

// Calls visit(key, member) for each member.
template <class Pod, class Visit>
void VisitPod(Pod& pod, Visit&& visit) {
  visit("uid", pod.uid);
  visit("place", pod.place);
  visit("sequence", pod.sequence);
  visit("slot", pod.slot);
  visit("timestamp", pod.timestamp);
  visit("ready", pod.first_attempt_ready);
  visit("started", pod.attempt_started);
  visit("backoff", pod.backoff_expiry);
  visit("flushed", pod.flushed);
  visit("wasFlushed", pod.was_flushed);
  visit("attempts", pod.attempts);
  visit("unschedulable", pod.unschedulable_count);
  visit("errors", pod.consecutive_errors);
  visit("rejectors", pod.rejectors);
  visit("pending", pod.pending);
  visit("gatedBy", pod.gated_by);
  visit("nominated", pod.nominated);
}

template <class One, class Visit>
void VisitNomination(One& nomination, Visit&& visit) {
  visit("uid", nomination.uid);
  visit("node", nomination.node);
}

template <class State, class Visit>
void VisitNumbers(State& state, Visit&& visit) {
  visit("seed", state.algorithm.seed);
  visit("nextStart", state.algorithm.next_start);
  visit("nextRelease", state.next_release);
  visit("nextSequence", state.queue.next_sequence);
  visit("nextSlot", state.queue.next_slot);
  visit("evaluationsLeft", state.queue.evaluations_left);
  visit("backoffFlush", state.queue.next_backoff_flush);
  visit("unschedulableFlush", state.queue.next_unschedulable_flush);
}

struct StateWriter {
  JsonObject& object;
  void operator()(std::string_view key, const std::string& text) const { object.AddUnlessEmpty(key, text); }
  void operator()(std::string_view key, const Texts& texts) const { object.AddUnlessEmpty(key, texts); }
  void operator()(std::string_view key, bool on) const {
    if (on) object.AddRaw(key, "true");
  }
  void operator()(std::string_view key, MonoTime time) const {
    (*this)(key, time.time_since_epoch().count());
  }
  // Texts beyond the numbers that every reader of JSON has.
  void operator()(std::string_view key, std::integral auto number) const {
    if (number == 0) return;
    if (std::in_range<std::int64_t>(number)) {
      object.AddNumber(key, static_cast<std::int64_t>(number));
    } else {
      object.Add(key, std::to_string(number));
    }
  }
};

struct StateReader {
  const boost::json::object& object;
  std::string invalid = {};  // the first member of another type

  void operator()(std::string_view key, std::string& out) {
    const auto* found = object.if_contains(key);
    if (found == nullptr) return;
    found->is_string() ? void(out = found->get_string()) : Reject(key);
  }
  void operator()(std::string_view key, Texts& out) {
    const auto* found = object.if_contains(key);
    if (found == nullptr) return;
    if (!found->is_array()) return Reject(key);
    for (const auto& text : found->get_array()) {
      if (!text.is_string()) return Reject(key);
      out.emplace_back(text.get_string());
    }
  }
  void operator()(std::string_view key, bool& out) { out = object.contains(key); }
  void operator()(std::string_view key, MonoTime& out) {
    std::int64_t count = 0;
    (*this)(key, count);
    constexpr std::int64_t kMost = std::int64_t{1} << 61;  // sums must not overflow
    count >= 0 && count <= kMost ? void(out = MonoTime(Duration(count))) : Reject(key);
  }
  void operator()(std::string_view key, std::integral auto& out) {
    const auto* found = object.if_contains(key);
    if (found == nullptr) return;
    using Number = std::remove_reference_t<decltype(out)>;
    if (found->is_int64() && std::in_range<Number>(found->get_int64())) {
      out = static_cast<Number>(found->get_int64());
    } else if (found->is_string()) {
      const auto& text = found->get_string();
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), out);
      if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) Reject(key);
    } else {
      Reject(key);
    }
  }
  void Reject(std::string_view key) {
    if (invalid.empty()) invalid = key;
  }
};

template <class List, class VisitMembers>
void AppendList(std::string& out, const List& list, VisitMembers&& visit_members) {
  AppendJsonList(out, list, [&](std::string& text, const auto& one) {
    JsonObject members(text);
    visit_members(one, StateWriter{members});
  });
}

template <class List, class VisitMembers>
Expected<void> ReadList(const boost::json::object& from, std::string_view key, List& list,
                        VisitMembers&& visit_members) {
  const auto* found = from.if_contains(key);
  if (found == nullptr || !found->is_array()) return Invalid(fmt::format("{}: expected an array", key));
  for (const auto& one : found->get_array()) {
    if (!one.is_object()) return Invalid(fmt::format("{}: expected objects", key));
    StateReader reader{one.get_object()};
    visit_members(list.emplace_back(), reader);
    if (!reader.invalid.empty())
      return Invalid(fmt::format("{}.{}: expected a value of another type or range", key, reader.invalid));
  }
  return {};
}

}  // namespace

void AppendState(std::string& out, const cycle::SchedulerState& state) {
  std::vector<SavedPod> pods = state.queue.pods;
  std::ranges::sort(pods, {}, &SavedPod::sequence);
  std::vector<Nomination> nominations = state.queue.nominations;
  std::ranges::sort(nominations, {}, &Nomination::uid);
  JsonObject members(out);
  VisitNumbers(state, StateWriter{members});
  AppendList(members.Key("pods"), pods, [](const auto& pod, auto&& visit) { VisitPod(pod, visit); });
  AppendList(members.Key("nominations"), nominations,
             [](const auto& one, auto&& visit) { VisitNomination(one, visit); });
  const json_fields::Writer write{members};
  write("measurements", state.measurements);
  write("circuits", state.circuits);
  write("plugins", state.plugins);
}

Expected<cycle::SchedulerState> ReadState(const boost::json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return Invalid("state: expected an object");
  cycle::SchedulerState state;
  StateReader reader{*object};
  VisitNumbers(state, reader);
  if (!reader.invalid.empty())
    return Invalid(fmt::format("state.{}: expected a number in its range", reader.invalid));
  BERTH_RETURN_IF_ERROR(
      ReadList(*object, "pods", state.queue.pods, [](auto& pod, auto& visit) { VisitPod(pod, visit); }));
  BERTH_RETURN_IF_ERROR(ReadList(*object, "nominations", state.queue.nominations,
                                 [](auto& one, auto& visit) { VisitNomination(one, visit); }));
  json_fields::Reader read{*object};
  read("measurements", state.measurements);
  read("circuits", state.circuits);
  read("plugins", state.plugins);
  if (!read.result) return std::unexpected(std::move(read.result).error().In("state"));
  return state;
}

}  // namespace berth::recording
