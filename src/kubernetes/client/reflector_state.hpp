// The state machine of a reflector: the logic of client-go 0.37's Reflector without sockets, clocks and
// stores.
//
//   Start ──> stream list ──synced──> watch ──end──> watch ...
//               │ other error          │ error
//               v                      v
//             list ──pages──> watch   wait ──> Start
//
// Three rules differ from client-go: the first answer after an outage restarts the delays; if watches deliver
// nothing for long, the server's version is read, and a lower one leads to a new list; and a streamed list
// that has failed twice is followed by a delay and an ordinary list.
//
// The caller executes the returned action and reports its result; one action at a time, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kubernetes/client/api.hpp"
#include "kubernetes/client/backoff.hpp"

namespace berth::client {

struct ReflectorAction {
  enum class Kind {
    kStreamList,  // watch with sendInitialEvents; once synced the stream continues as a watch
    kList,        // one page
    kWatch,
    kReadVersion,  // the server's version, from a quorum; then call OnVersion or OnVersionFailed
    kWait,         // then call Resume
  };
  Kind kind = Kind::kWait;
  std::string resource_version{};
  int limit = 0;                 // kList: 0 requests everything
  std::string continue_token{};  // kList: empty for a first page, which discards the pages collected before
  int timeout_seconds = 0;       // kStreamList, kWatch
  Duration delay{};              // kWait
};

// How a stream ended, or why it could not be opened.
struct StreamEnd {
  std::optional<RequestError> error{};  // none: closed properly
  bool opened = false;
  Duration lasted{};
  int events = 0;
};

class ReflectorState {
 public:
  // Without streaming it uses LIST and WATCH from the start, which every server supports.
  ReflectorState(bool streaming, Random& random);

  ReflectorAction Start();
  // Call after a wait.
  ReflectorAction Resume();

  // The streamed list has sent its last initial event; the stream is a watch now.
  void OnStreamSynced(std::string resource_version);
  // The version of an event of a synced stream or a watch, bookmarks included. `added` events of a watch that
  // began without a version show the state at its start in no particular order: they are ignored.
  void OnEvent(const std::string& resource_version, bool added);
  // Whether the version of the next event must be last_version or later.
  bool Ordered(bool added) const { return !(ignore_added_ && added); }
  ReflectorAction OnStreamEnd(const StreamEnd& end, MonoTime now);

  struct PageTaken {
    bool complete = false;  // the collected pages are the complete state
    ReflectorAction next{};
  };
  PageTaken OnPage(const std::string& resource_version, const std::string& continue_token);
  ReflectorAction OnListFailed(const RequestError& error, MonoTime now);

  ReflectorAction OnVersion(const std::string& version);
  ReflectorAction OnVersionFailed(const RequestError& error, MonoTime now);
  // The server's data were replaced by older ones, as by a restore from a backup. Ends any other action.
  ReflectorAction OnRestored();

  const std::string& last_version() const { return last_version_; }

 private:
  using Kind = ReflectorAction::Kind;

  ReflectorAction StreamList();
  ReflectorAction FirstPage();
  ReflectorAction Watch();
  ReflectorAction ReadVersion();
  ReflectorAction Wait(Kind then, MonoTime now);
  ReflectorAction OnStreamListEnd(const StreamEnd& end, MonoTime now);
  ReflectorAction OnWatchEnd(const StreamEnd& end, MonoTime now);
  int TimeoutSeconds();
  void NoteReachability(const RequestError& error);

  const bool streaming_;
  Random& random_;
  Backoff backoff_;
  Duration silent_{};         // of the last watches, without an event
  bool unreachable_ = false;  // the last failure was that of a connection
  Kind doing_ = Kind::kWait;
  Kind after_wait_ = Kind::kWait;  // kWait: start a new round
  std::string last_version_{};
  bool version_unavailable_ = false;  // the server reported that it does not have last_version_
  int broken_lists_ = 0;              // streamed lists in a row that ended before they were complete
  bool ignore_added_ = false;
  bool paginated_ = false;      // the first list, at version 0, came in pages: so do all later ones
  ReflectorAction list_{};      // the current request
  std::string list_version_{};  // the version that the current list requested on its first page
  bool in_pages_ = false;
  bool whole_list_ = false;     // pages expired: everything in one response instead
  bool list_repeated_ = false;  // the version was unavailable: repeated with ""
};

}  // namespace berth::client
