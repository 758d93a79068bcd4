#include "tools/replay/readings.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "tools/replay/results.hpp"

namespace berth::replay {
namespace {

// A damaged recording cannot move the clock beyond a century, so that the sums of the scheduler stay in
// range.
template <class Time>
Time Later(Time time, std::int64_t nanoseconds) {
  constexpr Duration kCentury = std::chrono::years(100);
  constexpr Time kFirst{-kCentury}, kLast{kCentury};
  return time + std::clamp(Duration(nanoseconds), kFirst - time, kLast - time);
}

}  // namespace

void Readings::Enter(const boost::json::array& recorded) {
  frames_.push_back({.recorded = &recorded, .next = 0, .done = {}});
}

// Steps that were done after the last reading are done now.
void Readings::Leave() {
  RunBefore(frames_.back().recorded->size());
  Frame& frame = frames_.back();
  for (; frame.next < frame.recorded->size(); ++frame.next) {
    if ((*frame.recorded)[frame.next].is_int64()) ++deviations_;
  }
  frames_.pop_back();
}

void Readings::Continue(MonoTime now, WallTime wall, std::uint64_t calls) {
  calls_ = calls;
  now_ = now;
  wall_ = wall;
  deviations_ = 0;
}

MonoTime Readings::Now() const {
  const boost::json::value* reading = self().NextTime();
  if (self().Accept(reading != nullptr && reading->is_int64()))
    self().now_ = Later(now_, reading->get_int64());
  return now_;
}

WallTime Readings::WallNow() const {
  const boost::json::value* reading = self().NextTime();
  const auto* object = reading == nullptr ? nullptr : reading->if_object();
  const auto* wall = object == nullptr ? nullptr : object->if_contains("w");
  if (self().Accept(wall != nullptr && wall->is_int64())) self().wall_ = Later(wall_, wall->get_int64());
  return wall_;
}

bool Readings::Open() const {
  const boost::json::value* reading = self().Next();
  if (self().Accept(reading != nullptr && reading->is_bool())) self().open_ = reading->get_bool();
  return open_;
}

// Outside of steps nothing is recorded.
bool Readings::Accept(bool expected) {
  if (frames_.empty()) return false;
  expected ? ++frames_.back().next : ++deviations_;
  return expected;
}

// Executes the steps and passes the responses that were recorded before it.
const boost::json::value* Readings::Next() {
  if (frames_.empty()) return nullptr;
  const boost::json::array& recorded = *frames_.back().recorded;
  std::size_t next = frames_.back().next;
  while (next < recorded.size() && recorded[next].is_object() && !recorded[next].get_object().contains("w"))
    ++next;
  RunBefore(next);
  frames_.back().next = next;
  return next < recorded.size() ? &recorded[next] : nullptr;
}

// A scheduler that waits for an extender reads the fence at intervals; a repeated one does not wait.
const boost::json::value* Readings::NextTime() {
  const boost::json::value* reading = Next();
  while (reading != nullptr && reading->is_bool()) {
    ++frames_.back().next;
    reading = Next();
  }
  return reading;
}

void Readings::RunBefore(std::size_t end) {
  const std::size_t frame = frames_.size() - 1;  // a step adds and removes frames
  for (std::size_t i = frames_[frame].next; i < end; ++i) {
    const boost::json::value& element = (*frames_[frame].recorded)[i];
    if (!element.is_object() || !element.get_object().contains("run")) continue;
    if (frames_[frame].done.insert(i).second) run_(element.get_object());
  }
}

Expected<extenders::Reply> Readings::ReplyTo(std::uint64_t call) {
  if (!frames_.empty()) {
    const boost::json::array& recorded = *frames_.back().recorded;
    for (std::size_t i = frames_.back().next; i < recorded.size(); ++i) {
      const auto* element = recorded[i].if_object();
      const auto* number = element == nullptr ? nullptr : element->if_contains("reply");
      if (number == nullptr || std::cmp_not_equal(number->get_int64(), call)) continue;
      RunBefore(i);
      return ReadReply(*element);
    }
  }
  return Fail(ErrorCode::kCancelled, "the scheduler cancelled the wait");
}

class Readings::Replies final : public extenders::Transport {
 public:
  explicit Replies(Readings& readings) : readings_(readings) {}
  CallId Send(extenders::TransportRequest, Done done) override {
    const std::uint64_t call = ++readings_.calls_;
    done(readings_.ReplyTo(call));
    return call;
  }
  void Cancel(CallId) override {}

 private:
  Readings& readings_;
};

extenders::TransportMaker Readings::Transports() {
  return [this](const config::ExtenderConfig&) -> Expected<std::unique_ptr<extenders::Transport>> {
    return std::make_unique<Replies>(*this);
  };
}

}  // namespace berth::replay
