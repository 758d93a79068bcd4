// What a reflector does next: the decisions of client-go 0.37's Reflector without its sockets, clocks and
// stores.
//
//   Start ──> stream list ──synced──> watch ──end──> watch ...
//               │ other error          │ error
//               v                      v
//             list ──pages──> watch   wait ──> Start
//
// The caller carries out the Action it is given and comes back with what happened; one thing at a time, one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kubernetes/client/api.hpp"
#include "kubernetes/client/backoff.hpp"

namespace berth::client {

struct ReflectorAction {
  enum class Kind {
    kStreamList,  // watch with sendInitialEvents; the stream goes on as a watch once it is synced
    kList,        // one page
    kWatch,
    kWait,  // then ask Resume
  };
  Kind kind = Kind::kWait;
  std::string resource_version{};
  int limit = 0;                 // kList: 0 asks for everything
  std::string continue_token{};  // kList: empty for a first page, which forgets the pages collected before
  int timeout_seconds = 0;       // kStreamList, kWatch
  Duration delay{};              // kWait
};

// How a stream ended or why it could not be opened.
struct StreamEnd {
  std::optional<RequestError> error{};  // none: closed properly
  bool opened = false;
  Duration lasted{};
  int events = 0;
};

class ReflectorState {
 public:
  // Without streaming it is LIST and WATCH from the start, which every server understands.
  ReflectorState(bool streaming, Random& random);

  ReflectorAction Start();
  // After a wait.
  ReflectorAction Resume();

  // The stream list has sent its last initial event; its stream is a watch now.
  void OnStreamSynced(std::string resource_version);
  // The version that an event of a synced stream or a watch carried, bookmarks included. `added` events of a
  // watch that began without a version are the state at its start in no particular order: they are no
  // progress.
  void OnEvent(const std::string& resource_version, bool added);
  // Does the version of the next event have to be last_version or later?
  bool Ordered(bool added) const { return !(ignore_added_ && added); }
  ReflectorAction OnStreamEnd(const StreamEnd& end, MonoTime now);

  struct PageTaken {
    bool complete = false;  // the pages collected are the whole state
    ReflectorAction next{};
  };
  PageTaken OnPage(const std::string& resource_version, const std::string& continue_token);
  ReflectorAction OnListFailed(const RequestError& error, MonoTime now);

  const std::string& last_version() const { return last_version_; }

 private:
  using Kind = ReflectorAction::Kind;

  ReflectorAction StreamList();
  ReflectorAction FirstPage();
  ReflectorAction Watch();
  ReflectorAction Wait(Kind then, MonoTime now);
  ReflectorAction OnStreamListEnd(const StreamEnd& end, MonoTime now);
  ReflectorAction OnWatchEnd(const StreamEnd& end, MonoTime now);
  int TimeoutSeconds();

  const bool streaming_;
  Random& random_;
  Backoff backoff_;
  Kind doing_ = Kind::kWait;
  Kind after_wait_ = Kind::kWait;  // kWait: start a new round
  std::string last_version_{};
  bool version_unavailable_ = false;  // the server said that it does not have last_version_
  bool ignore_added_ = false;
  bool paginated_ = false;      // the first list, at version 0, came in pages: then all do
  ReflectorAction list_{};      // the request under way
  std::string list_version_{};  // what the current list asked for on its first page
  bool in_pages_ = false;
  bool whole_list_ = false;     // pages expired: everything at once instead
  bool list_repeated_ = false;  // the version was unavailable: repeated with ""
};

}  // namespace berth::client
