#include "sandbox/apiserver/watch.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sandbox/apiserver/render.hpp"

namespace berth::sandbox {
namespace {

// Limit of the data queued for a slow client beyond the initial state.
constexpr std::size_t kQueueLimitBytes = 64 << 20;
constexpr std::chrono::seconds kBookmarkEvery{60};
constexpr std::chrono::seconds kBookmarkBeforeEnd{2};
// Maximum wait of a streaming list for a version that does not exist yet.
constexpr std::chrono::seconds kMaxVersionWait{3};

constexpr std::string_view kBefore[] = {
    "{\"type\":\"ADDED\",\"object\":", "{\"type\":\"MODIFIED\",\"object\":",
    "{\"type\":\"DELETED\",\"object\":"};
constexpr std::string_view kBookmarkBefore = "{\"type\":\"BOOKMARK\",\"object\":";
constexpr std::string_view kErrorBefore = "{\"type\":\"ERROR\",\"object\":";
constexpr std::string_view kAfter = "}\n";

enum EventType { kAdded, kModified, kDeleted };

std::unexpected<ApiError> Contradiction(std::string_view field, std::string_view why) {
  return InvalidObject("meta.k8s.io", "ListOptions", "", {FieldForbidden(std::string(field), why)});
}

}  // namespace

struct WatchHub::Watcher {
  WatchOptions options;
  std::shared_ptr<http::Stream> stream;
  Version position = 0;  // changes up to this version have been handled
  bool sent_columns = false;
  bool closed = false;
  std::optional<TimerQueue::Id> end;
  std::optional<TimerQueue::Id> bookmark;
};

class WatchHub::Shown {
 public:
  explicit Shown(const Change& change) : change_(change) {}

  // The event type for a watcher with that selector.
  std::optional<EventType> TypeFor(const Selector& selector) const {
    const bool before = change_.before && selector.Matches(*change_.before);
    const bool after = change_.after && selector.Matches(*change_.after);
    if (!before && !after) return std::nullopt;
    return !before ? kAdded : after ? kModified : kDeleted;
  }
  // The object of the event. If it no longer matches: its old content under the new version.
  const ObjectPtr& ObjectFor(EventType type) {
    if (type != kDeleted) return change_.after;
    if (change_.removed) return change_.removed;
    if (!deleted_object_) {
      Document document = change_.before->Parse();
      deleted_object_ = MakeObject(*change_.before->type, document.root(), change_.version);
    }
    return deleted_object_;
  }
  Version version() const { return change_.version; }

 private:
  const Change& change_;
  ObjectPtr deleted_object_;
};

ApiResult<WatchOptions> ParseWatchOptions(const ApiRequest& request, const View& view, Selector selector,
                                          Random& random) {
  const Query& query = request.query;
  WatchOptions options;
  options.view = view;
  options.selector = std::move(selector);
  options.bookmarks = query.Flag("allowWatchBookmarks");
  const auto match = query.Get("resourceVersionMatch");
  const bool initial_given = query.Has("sendInitialEvents");
  if (!initial_given && !match.empty()) {
    return Contradiction("resourceVersionMatch",
                         "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (initial_given && match != "NotOlderThan") {
    return Contradiction(match.empty() ? "resourceVersionMatch" : "sendInitialEvents",
                         "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  options.streaming_list = query.Flag("sendInitialEvents");
  options.skip_initial = initial_given && !options.streaming_list;
  if (const auto text = query.Get("resourceVersion"); !text.empty()) {
    const auto version = query.Integer("resourceVersion");
    if (!version || **version < 0) {
      ApiError error;  // kube-apiserver gives no reason, either
      error.message = fmt::format(
          "resourceVersion: Invalid value: \"{}\": strconv.ParseUint: "
          "parsing \"{}\": invalid syntax",
          text, text);
      return std::unexpected(std::move(error));
    }
    options.from = static_cast<Version>(**version);
  }
  BERTH_TRY(const auto seconds, query.Integer("timeoutSeconds"));
  options.timeout = seconds && *seconds > 0 ? std::chrono::seconds(std::min<std::int64_t>(*seconds, 86400))
                                            : std::chrono::seconds(1800 + random.Below(1800));
  return options;
}

WatchHub::WatchHub(Store& store, TimerQueue& timers, const Clock& clock)
    : store_(store), timers_(timers), clock_(clock), watchers_(Resources().size()) {
  store_.Observe(*this);
}

WatchHub::~WatchHub() { CloseAll(); }

void WatchHub::Open(WatchOptions options, http::Exchange& exchange) {
  const auto watcher = std::make_shared<Watcher>();
  watcher->options = std::move(options);
  const auto& type = *watcher->options.view.type;
  const Version from = watcher->options.from.value_or(0);
  const bool from_state = watcher->options.streaming_list || (from == 0 && !watcher->options.skip_initial);

  std::size_t limit = kQueueLimitBytes;
  if (from_state) {
    for (const auto& [_, object] : store_.All(type)) limit += object->text.size() + 64;
  }
  http::Response head;
  head.content_type = "application/json";
  head.headers = {{"Cache-Control", "no-cache, private"}};
  watcher->stream = exchange.StartStream(std::move(head), limit);
  // A future version comes from an earlier process on the same address: nothing would be sent until this one
  // has as many changes. Expired makes the client list again.
  const bool future = from > store_.version();
  if (from != 0 && !from_state && (future || !store_.HasVersion(type, from))) {
    const std::string_view problem = future ? "too large" : "too old";
    SendError(*watcher,
              Expired(fmt::format("{} resource version: {} ({})", problem, from, store_.version())).error());
    watcher->stream->Close();
    return;
  }
  watchers_[type.index].push_back(watcher);
  watcher->stream->OnGone([this, weak = std::weak_ptr(watcher)] {
    if (const auto gone = weak.lock()) Close(*gone);
  });
  ScheduleEnd(watcher);
  if (from_state && future) {
    watcher->position = UINT64_MAX;  // no changes are sent before the initial state
    return AwaitVersion(watcher);
  }
  if (from_state)
    SendState(*watcher);
  else if (from != 0)
    SendPast(*watcher);
  else
    watcher->position = store_.version();
  if (watcher->options.bookmarks) ScheduleBookmark(watcher);
}

// A streaming list of a future version waits for that version, and fails after kMaxVersionWait.
void WatchHub::AwaitVersion(const std::shared_ptr<Watcher>& watcher) {
  timers_.After(kMaxVersionWait, [this, watcher] {
    if (watcher->closed) return;
    const Version wanted = *watcher->options.from;
    if (store_.version() < wanted) {
      SendError(*watcher, TooLargeVersion(fmt::to_string(wanted), store_.version()).error());
      return Close(*watcher);
    }
    SendState(*watcher);
    if (watcher->options.bookmarks) ScheduleBookmark(watcher);
  });
}

void WatchHub::SendState(Watcher& watcher) {
  const View& view = watcher.options.view;
  for (const auto& [_, object] : store_.All(*view.type)) {
    if (!watcher.options.selector.Matches(*object)) continue;
    const bool columns = !std::exchange(watcher.sent_columns, true);
    watcher.stream->Write({kBefore[kAdded], RenderObject(view, object, clock_.WallNow(), columns), kAfter});
  }
  watcher.position = store_.version();
  // Also for a plain watch without a version: since 1.34 kube-apiserver treats it as a streaming list.
  if (watcher.options.bookmarks) SendBookmark(watcher, true);
}

void WatchHub::SendPast(Watcher& watcher) {
  const auto past = store_.Since(*watcher.options.view.type, *watcher.options.from);
  watcher.position = *watcher.options.from;
  for (const auto& change : *past) {
    Shown shown(change);
    Send(watcher, shown);
  }
}

void WatchHub::OnChange(const ResourceType& type, const Change& change) {
  const auto& watchers = watchers_[type.index];
  if (watchers.empty()) return;
  Shown shown(change);
  for (const auto& watcher : watchers) Send(*watcher, shown);
}

void WatchHub::Send(Watcher& watcher, Shown& shown) {
  if (shown.version() <= watcher.position || watcher.closed) return;
  watcher.position = shown.version();
  const auto type = shown.TypeFor(watcher.options.selector);
  if (!type) return;
  const bool columns = !std::exchange(watcher.sent_columns, true);
  const ObjectPtr& object = shown.ObjectFor(*type);
  watcher.stream->Write(
      {kBefore[*type], RenderObject(watcher.options.view, object, clock_.WallNow(), columns), kAfter});
}

void WatchHub::SendBookmark(Watcher& watcher, bool initial_events_end) {
  const auto text = RenderBookmark(watcher.options.view, store_.version(), initial_events_end);
  watcher.stream->Write({kBookmarkBefore, ShareText(text), kAfter});
}

void WatchHub::SendError(Watcher& watcher, const ApiError& error) {
  std::string text = error.ToJson();
  text.pop_back();  // removes its newline
  watcher.stream->Write({kErrorBefore, ShareText(std::move(text)), kAfter});
}

void WatchHub::ScheduleBookmark(const std::shared_ptr<Watcher>& watcher) {
  watcher->bookmark = timers_.After(kBookmarkEvery, [this, watcher] {
    if (watcher->closed) return;
    SendBookmark(*watcher, false);
    ScheduleBookmark(watcher);
  });
}

void WatchHub::ScheduleEnd(const std::shared_ptr<Watcher>& watcher) {
  const auto timeout = watcher->options.timeout;
  const auto last_words = std::max(timeout - kBookmarkBeforeEnd, std::chrono::seconds(0));
  watcher->end = timers_.After(last_words, [this, watcher, rest = timeout - last_words] {
    if (watcher->closed) return;
    if (watcher->options.bookmarks && watcher->position != UINT64_MAX) SendBookmark(*watcher, false);
    watcher->end = timers_.After(rest, [this, watcher] {
      if (!watcher->closed) Close(*watcher);
    });
  });
}

void WatchHub::Close(Watcher& watcher) {
  watcher.closed = true;
  if (watcher.end) timers_.Cancel(*watcher.end);
  if (watcher.bookmark) timers_.Cancel(*watcher.bookmark);
  watcher.stream->Close();
  auto& watchers = watchers_[watcher.options.view.type->index];
  std::erase_if(watchers, [&](const auto& other) { return other.get() == &watcher; });
}

std::size_t WatchHub::watches() const {
  std::size_t count = 0;
  for (const auto& watchers : watchers_) count += watchers.size();
  return count;
}

void WatchHub::CloseAll() {
  for (auto& watchers : watchers_) {
    for (const auto& watcher : std::vector(watchers)) Close(*watcher);
  }
}

}  // namespace berth::sandbox
