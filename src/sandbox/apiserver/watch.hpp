// Watches: writes changes of the store to the connections of watchers.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/timer_queue.hpp"
#include "http/server.hpp"
#include "sandbox/apiserver/request.hpp"
#include "sandbox/store/selector.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

struct WatchOptions {
  View view;
  Selector selector;
  std::optional<Version> from;  // absent or 0: the current state first
  bool streaming_list = false;  // sendInitialEvents=true: the state, a bookmark, then changes
  bool skip_initial = false;    // sendInitialEvents=false: no initial state even without a version
  bool bookmarks = false;
  std::chrono::seconds timeout{};
};

// Validates the parameters of a watch. 422 if they contradict each other.
ApiResult<WatchOptions> ParseWatchOptions(const ApiRequest& request, const View& view, Selector selector,
                                          Random& random);

// All open watches. A change is serialised once, when it is stored; watchers share the text. One thread.
class WatchHub final : public StoreObserver {
 public:
  // Registers itself with the store.
  WatchHub(Store& store, TimerQueue& timers, const Clock& clock);
  ~WatchHub() override;

  // Answers the exchange with a stream that ends at its timeout or when the client disconnects.
  void Open(WatchOptions options, http::Exchange& exchange);
  void OnChange(const ResourceType& type, const Change& change) override;

  std::size_t watches() const;
  // Ends all watches in an orderly way.
  void CloseAll();

 private:
  struct Watcher;
  class Shown;  // a change with its texts in the representations requested so far

  void SendState(Watcher& watcher);
  void SendPast(Watcher& watcher);
  void Send(Watcher& watcher, Shown& shown);
  void SendBookmark(Watcher& watcher, bool initial_events_end);
  void SendError(Watcher& watcher, const ApiError& error);
  void ScheduleBookmark(const std::shared_ptr<Watcher>& watcher);
  void ScheduleEnd(const std::shared_ptr<Watcher>& watcher);
  void AwaitVersion(const std::shared_ptr<Watcher>& watcher);
  void Close(Watcher& watcher);

  Store& store_;
  TimerQueue& timers_;
  const Clock& clock_;
  std::vector<std::vector<std::shared_ptr<Watcher>>> watchers_;  // by resource
};

}  // namespace berth::sandbox
