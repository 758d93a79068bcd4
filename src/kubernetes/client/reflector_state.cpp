#include "kubernetes/client/reflector_state.hpp"

#include <utility>

#include "kubernetes/client/freshness_barrier.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

constexpr int kPageSize = 500;
// A watch that ends sooner without an event counts as failed, even without an error.
constexpr Duration kShortWatch = 1s;
// A watch at a version that the server does not have yet stays silent, as after a restore from a backup. So
// may others: bookmarks, usually one per minute, depend on how often etcd reports its progress.
constexpr Duration kSilenceMax = 150s;
constexpr BackoffOptions kListBackoff{
    .initial = 800ms, .factor = 2, .jitter = 1, .cap = 30s, .reset_after = 2min};

bool AnyVersion(const std::string& version) { return version.empty() || version == "0"; }

// Whether a retry of the same request may help: the server is unreachable or requests a delay.
bool ShouldRetryLater(const RequestError& error) {
  return error.not_sent() || error.code == ErrorCode::kThrottled;
}

bool VersionUnavailable(const RequestError& error) { return error.expired() || error.too_large_version(); }

// A broken connection ends a watch like a proper end: client-go treats EOF, resets and timeouts alike.
bool ConnectionLost(const RequestError& error) {
  return !error.answered() && (error.code == ErrorCode::kAmbiguous || error.code == ErrorCode::kTimeout);
}

bool VeryShort(const StreamEnd& end) { return end.lasted < kShortWatch && end.events == 0; }

}  // namespace

ReflectorState::ReflectorState(bool streaming, Random& random)
    : streaming_(streaming), random_(random), backoff_(kListBackoff) {}

ReflectorAction ReflectorState::Start() { return streaming_ ? StreamList() : FirstPage(); }

ReflectorAction ReflectorState::Resume() {
  switch (after_wait_) {
    case Kind::kStreamList:
      return StreamList();
    case Kind::kList:
      return FirstPage();
    case Kind::kWatch:
      return Watch();
    default:
      return Start();
  }
}

int ReflectorState::TimeoutSeconds() { return WatchTimeoutSeconds(random_); }

ReflectorAction ReflectorState::StreamList() {
  doing_ = Kind::kStreamList;
  return {.kind = Kind::kStreamList,
          .resource_version = version_unavailable_ ? "" : last_version_,
          .timeout_seconds = TimeoutSeconds()};
}

ReflectorAction ReflectorState::Watch() {
  doing_ = Kind::kWatch;
  ignore_added_ = AnyVersion(last_version_);
  return {.kind = Kind::kWatch, .resource_version = last_version_, .timeout_seconds = TimeoutSeconds()};
}

ReflectorAction ReflectorState::ReadVersion() {
  doing_ = Kind::kReadVersion;
  return {.kind = Kind::kReadVersion};
}

ReflectorAction ReflectorState::Wait(Kind then, MonoTime now) {
  doing_ = Kind::kWait;
  after_wait_ = then;
  return {.kind = Kind::kWait, .delay = backoff_.Next(now, random_)};
}

ReflectorAction ReflectorState::FirstPage() {
  doing_ = Kind::kList;
  in_pages_ = whole_list_ = list_repeated_ = false;
  list_version_ = version_unavailable_ ? "" : last_version_.empty() ? "0" : last_version_;
  // With a version other than 0 a limit would force the server to read from etcd instead of its cache.
  list_ = {.kind = Kind::kList,
           .resource_version = list_version_,
           .limit = paginated_ || AnyVersion(list_version_) ? kPageSize : 0};
  return list_;
}

void ReflectorState::OnStreamSynced(std::string resource_version) {
  version_unavailable_ = false;
  broken_lists_ = 0;
  last_version_ = std::move(resource_version);
  ignore_added_ = false;
  doing_ = Kind::kWatch;
}

void ReflectorState::OnEvent(const std::string& resource_version, bool added) {
  if (ignore_added_ && added) return;
  ignore_added_ = false;
  if (!resource_version.empty()) last_version_ = resource_version;
}

ReflectorAction ReflectorState::OnStreamEnd(const StreamEnd& end, MonoTime now) {
  if (end.error) NoteReachability(*end.error);
  return doing_ == Kind::kStreamList ? OnStreamListEnd(end, now) : OnWatchEnd(end, now);
}

ReflectorAction ReflectorState::OnStreamListEnd(const StreamEnd& end, MonoTime now) {
  if (!end.error || ConnectionLost(*end.error)) {
    // Falls back to a list instead of waiting for a bookmark that may never come.
    if (VeryShort(end)) return FirstPage();
    return ++broken_lists_ > 1 ? Wait(Kind::kList, now) : StreamList();
  }
  if (ShouldRetryLater(*end.error)) return Wait(Kind::kStreamList, now);
  if (VersionUnavailable(*end.error)) {
    // Without a version none can be unavailable: this server, or a proxy, rejects streamed lists that way.
    if (std::exchange(version_unavailable_, true)) return Wait(Kind::kList, now);
    return StreamList();
  }
  return FirstPage();
}

ReflectorAction ReflectorState::OnWatchEnd(const StreamEnd& end, MonoTime now) {
  if (!end.error || ConnectionLost(*end.error)) {
    if (VeryShort(end)) return Wait(Kind::kWait, now);
    silent_ = end.events == 0 ? silent_ + end.lasted : Duration::zero();
    return silent_ < kSilenceMax ? Watch() : ReadVersion();
  }
  if (ShouldRetryLater(*end.error)) return Wait(Kind::kWatch, now);
  // An expired version does not set version_unavailable_: a list at that version means "at least as new as",
  // and requesting an older one could return a state older than the current one.
  return Wait(Kind::kWait, now);
}

ReflectorAction ReflectorState::OnVersion(const std::string& version) {
  silent_ = Duration::zero();
  return VersionBefore(version, last_version_) ? OnRestored() : Watch();
}

ReflectorAction ReflectorState::OnVersionFailed(const RequestError& error, MonoTime now) {
  NoteReachability(error);
  return Wait(Kind::kWatch, now);
}

ReflectorAction ReflectorState::OnRestored() {
  version_unavailable_ = true;
  return Start();
}

ReflectorState::PageTaken ReflectorState::OnPage(const std::string& resource_version,
                                                 const std::string& continue_token) {
  if (!continue_token.empty()) {
    in_pages_ = true;
    list_.continue_token = continue_token;
    list_.resource_version.clear();  // not allowed together with a continue token
    return {.complete = false, .next = list_};
  }
  if (list_version_ == "0" && in_pages_) paginated_ = true;
  version_unavailable_ = false;
  broken_lists_ = 0;
  last_version_ = resource_version;
  return {.complete = true, .next = Watch()};
}

// The delays that have grown during an outage would leave a new API server without its scheduler: its first
// answer is often that the version is too old, or that the roles are not loaded yet.
void ReflectorState::NoteReachability(const RequestError& error) {
  if (error.not_sent()) unreachable_ = true;
  if (error.answered() && std::exchange(unreachable_, false)) backoff_.Reset();
}

ReflectorAction ReflectorState::OnListFailed(const RequestError& error, MonoTime now) {
  NoteReachability(error);
  const bool on_a_later_page = !list_.continue_token.empty();
  if (error.expired() && on_a_later_page && !whole_list_) {
    whole_list_ = true;
    list_.continue_token.clear();
    list_.resource_version = list_version_;
    list_.limit = 0;
    return list_;
  }
  if (VersionUnavailable(error) && !list_repeated_) {
    const int limit = paginated_ || AnyVersion(list_version_) ? kPageSize : 0;
    version_unavailable_ = true;
    list_repeated_ = true;
    in_pages_ = whole_list_ = false;
    list_version_.clear();
    list_ = {.kind = Kind::kList, .resource_version = "", .limit = limit};
    return list_;
  }
  return Wait(Kind::kWait, now);
}

}  // namespace berth::client
