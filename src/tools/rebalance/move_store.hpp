// Keeps the recent moves in a ConfigMap, so that limits and cool-downs hold across restarts, changes of the
// leader, and several runs of --once.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "tools/rebalance/move_history.hpp"

namespace berth {
class LeaseFence;
}
namespace berth::client {
class Api;
}
namespace berth::http {
class Loop;
}

namespace berth::rebalance {

using Moves = std::vector<MoveHistory::Entry>;

// A JSON array with one move per line. If there are too many for a ConfigMap, the oldest are left out.
std::string MovesText(const Moves& moves);
// Moves in the future, by a clock that was ahead, count as made now.
Expected<Moves> ParseMoves(std::string_view text, WallTime now);

class MoveStore {
 public:
  using ReadDone = std::move_only_function<void(Expected<Moves>)>;
  using WriteDone = std::move_only_function<void(Expected<>)>;

  virtual ~MoveStore() = default;
  // `done` is called once, from any thread. One call at a time.
  virtual void Read(ReadDone done) = 0;
  // Replaces what the last Read or Write of this object has left. Error kConflict: another process has
  // changed it since. After another error the moves may be stored or not.
  virtual void Write(const Moves& moves, WriteDone done) = 0;
};

// Creates the ConfigMap with the first Write. Everything else in it is removed.
class ConfigMapMoveStore final : public MoveStore {
 public:
  struct Name {
    std::string ns, name;
  };
  // `api` runs on `loop`. Nothing is written while the fence is closed.
  ConfigMapMoveStore(http::Loop& loop, client::Api& api, const LeaseFence& fence, const Clock& clock,
                     Name name)
      : loop_(loop), api_(api), fence_(fence), clock_(clock), name_(std::move(name)) {}

  // Ends a request that is in progress; its callback is not called. Not on the loop's thread, or with none
  // posted.
  ~ConfigMapMoveStore() override;

  void Read(ReadDone done) override;
  void Write(const Moves& moves, WriteDone done) override;

 private:
  Expected<Moves> Take(std::string_view config_map);
  std::string Body(std::string_view moves) const;

  http::Loop& loop_;
  client::Api& api_;
  const LeaseFence& fence_;
  const Clock& clock_;
  const Name name_;
  client::Api::CallId call_ = 0;  // 0: none. Loop only
  std::string version_;           // resourceVersion; empty: it does not exist. Loop only
};

}  // namespace berth::rebalance
