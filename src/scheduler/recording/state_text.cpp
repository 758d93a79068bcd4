#include "scheduler/recording/state_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <concepts>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_fields.hpp"
#include "base/json_text.hpp"

namespace berth::recording {
namespace {

using SavedPod = queue::SavedQueue::Pod;
using Nomination = queue::SavedQueue::Nomination;

// Calls visit(key, member) for the numbers and times.
void VisitNumbers(auto& state, auto&& visit) {
  visit("seed", state.algorithm.seed);
  visit("nextStart", state.algorithm.next_start);
  visit("nextRelease", state.next_release);
  visit("nextSequence", state.queue.next_sequence);
  visit("nextSlot", state.queue.next_slot);
  visit("evaluationsLeft", state.queue.evaluations_left);
  visit("backoffFlush", state.queue.next_backoff_flush);
  visit("unschedulableFlush", state.queue.next_unschedulable_flush);
}

// What plugins, extenders and the table of measurements save. Absent from recordings without them.
void VisitParts(auto& state, auto&& visit) {
  visit("measurements", state.measurements);
  visit("circuits", state.circuits);
  visit("plugins", state.plugins);
}

// The first member that is a negative time; empty: none.
struct NegativeTime {
  std::string_view key;
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if constexpr (std::same_as<T, MonoTime>) {
      if (key.empty() && value < MonoTime{}) key = name;
    }
  }
};

// The times of the loop and its queue are readings of the clock.
Expected<void> CheckTimes(const cycle::SchedulerState& state) {
  NegativeTime negative;
  VisitNumbers(state, negative);
  for (const SavedPod& pod : state.queue.pods) SavedPod::VisitFields(pod, negative);
  if (negative.key.empty()) return {};
  return Invalid(fmt::format("state: {}: expected a time from 0 on", negative.key));
}

}  // namespace

void AppendState(std::string& out, const cycle::SchedulerState& state) {
  std::vector<SavedPod> pods = state.queue.pods;
  std::ranges::sort(pods, {}, &SavedPod::sequence);
  std::vector<Nomination> nominations = state.queue.nominations;
  std::ranges::sort(nominations, {}, &Nomination::uid);
  JsonObject members(out);
  const json_fields::Writer write{members};
  VisitNumbers(state, write);
  // Written even if they are empty.
  json_fields::Append(members.Key("pods"), pods);
  json_fields::Append(members.Key("nominations"), nominations);
  VisitParts(state, write);
}

Expected<cycle::SchedulerState> ReadState(const boost::json::value& value) {
  const auto* object = value.if_object();
  if (object == nullptr) return Invalid("state: expected an object");
  for (const std::string_view list : {"pods", "nominations"}) {
    if (!object->contains(list)) return Invalid(fmt::format("state: {}: expected an array", list));
  }
  cycle::SchedulerState state;
  json_fields::Reader read{*object};
  VisitNumbers(state, read);
  read("pods", state.queue.pods);
  read("nominations", state.queue.nominations);
  VisitParts(state, read);
  if (!read.result) return std::unexpected(std::move(read.result).error().In("state"));
  BERTH_RETURN_IF_ERROR(CheckTimes(state));
  return state;
}

}  // namespace berth::recording
