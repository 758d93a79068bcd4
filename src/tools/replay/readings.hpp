// What a step of a recording read and awaited, in the order in which it is needed again.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "base/lease_fence.hpp"
#include "base/result.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::replay {

// The clock and the fence of a replayed scheduler, and its extenders' responses. Steps nest. If a step asks
// for more than was recorded, it gets the last reading, and a deviation is counted. One thread.
class Readings final : public Clock, public Fence {
 public:
  // Executes a step that is an element of another one.
  using RunStep = std::function<void(const boost::json::object& step)>;
  void OnStep(RunStep run) { run_ = std::move(run); }

  // `recorded` is the member "t" of a step, and must stay valid until Leave.
  void Enter(const boost::json::array& recorded);
  void Leave();
  // Between steps: the times to which the next readings relate, and the number of requests to extenders so
  // far. Forgets deviations.
  void Continue(MonoTime now, WallTime wall, std::uint64_t calls);

  MonoTime Now() const override;
  WallTime WallNow() const override;
  BootTime BootNow() const override { return BootTime(Now().time_since_epoch()); }
  bool Open() const override;

  // Transports that respond as recorded.
  extenders::TransportMaker Transports();

  std::uint64_t deviations() const { return deviations_; }

 private:
  class Replies;
  struct Frame {
    const boost::json::array* recorded;
    std::size_t next = 0;
    std::set<std::size_t> done;  // elements that were used before their turn
  };
  // The next reading; null: the step has none left.
  const boost::json::value* Next();
  const boost::json::value* NextTime();  // the next reading of a clock
  // Uses the next reading if it is of the expected kind; otherwise counts a deviation.
  bool Accept(bool expected);
  Expected<extenders::Reply> ReplyTo(std::uint64_t call);
  void RunBefore(std::size_t end);

  // The interfaces of clock and fence are const.
  Readings& self() const { return const_cast<Readings&>(*this); }

  RunStep run_;
  std::vector<Frame> frames_;
  MonoTime now_{};
  WallTime wall_{};
  bool open_ = true;
  std::uint64_t calls_ = 0;
  std::uint64_t deviations_ = 0;
};

}  // namespace berth::replay
