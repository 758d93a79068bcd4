#include "client/event_sink.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>

#include "base/random.hpp"
#include "client/api.hpp"
#include "client/event_body.hpp"
#include "http/loop.hpp"
#include "log/log.hpp"
#include "metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

constexpr int kTriesMax = 12;
constexpr Duration kRetryDelay = 10s;
constexpr Duration kSeriesSilence = 6min;
constexpr int kRoundsPerRefresh = 5;  // of kSeriesSilence each: 30 minutes

}  // namespace

struct EventSink::Impl {
  struct Sending {
    EventRecord record;
    bool patch = false;
    int tries = 0;
  };
  using SendingPtr = std::shared_ptr<Sending>;

  http::Loop& loop;
  Api& api;
  const Clock& clock;
  const EventSinkOptions options;
  metrics::Counter& dropped;
  std::atomic<std::size_t> held{0};  // emitted, not yet sent or given up

  // The rest belongs to the loop's thread.
  Random random{options.seed};
  std::int64_t last_nanos = 0;
  std::deque<SendingPtr> queue{};
  boost::unordered_flat_map<Api::CallId, SendingPtr> in_flight{};
  std::vector<http::Loop::TimerId> retries{};
  boost::unordered_flat_map<std::string, EventRecord> series{};
  std::deque<std::string> series_order{};  // the oldest first; may name series that are over
  http::Loop::TimerId series_timer = http::Loop::TimerId::kNone;
  int rounds = 0;

  void Accept(const framework::Event& event, WallTime time);
  bool Repeats(const EventRecord& record);
  void Enqueue(EventRecord record, bool patch);
  void Pump();
  void Send(const SendingPtr& sending);
  void OnSent(const SendingPtr& sending, Reply reply);
  void Release() { held.fetch_sub(1, std::memory_order_relaxed); }
  bool Hold();
  void KeepSeries();
  void EndSeries();
  void Shutdown();
};

bool EventSink::Impl::Hold() {
  if (held.fetch_add(1, std::memory_order_relaxed) < options.queue_capacity) return true;
  Release();
  dropped.Add();
  return false;
}

void EventSink::Impl::Accept(const framework::Event& event, WallTime time) {
  // Two events of one pod within a nanosecond would be one name.
  last_nanos = std::max<std::int64_t>(last_nanos + 1, time.time_since_epoch().count());
  EventRecord record = MakeRecord(event, options.hostname, time, last_nanos, random);
  if (event.type == framework::Event::Type::kWarning && Repeats(record)) return;
  Enqueue(std::move(record), false);
}

// Takes care of a repetition: the first one is told at once, later ones are counted.
bool EventSink::Impl::Repeats(const EventRecord& record) {
  std::string key = record.SeriesKey();
  const auto known = series.find(key);
  if (known == series.end()) {
    if (series.size() >= options.series_remembered) {
      series.erase(series_order.front());
      series_order.pop_front();
    }
    series_order.push_back(key);
    series.emplace(std::move(key), record);
    KeepSeries();
    return false;
  }
  EventRecord& first = known->second;
  first.last_observed = record.time;
  if (first.series_count > 0) {
    ++first.series_count;
    Release();
    return true;
  }
  first.series_count = 2;
  Enqueue(first, true);
  return true;
}

void EventSink::Impl::Enqueue(EventRecord record, bool patch) {
  queue.push_back(std::make_shared<Sending>(Sending{std::move(record), patch}));
  Pump();
}

void EventSink::Impl::Pump() {
  while (!queue.empty()) {
    const bool pressed = options.under_pressure && options.under_pressure();
    if (in_flight.size() >= (pressed ? 1 : options.max_in_flight)) return;
    const SendingPtr next = std::move(queue.front());
    queue.pop_front();
    Send(next);
  }
}

void EventSink::Impl::Send(const SendingPtr& sending) {
  const EventRecord& record = sending->record;
  ++sending->tries;
  ApiRequest request{.method = "POST",
                     .path = fmt::format("/apis/events.k8s.io/v1/namespaces/{}/events", record.ns),
                     .body = sending->patch ? SeriesPatchBody(record) : EventBody(record)};
  if (sending->patch) {
    request.method = "PATCH";
    request.path += "/" + record.name;
    request.content_type = "application/strategic-merge-patch+json";
  }
  const auto id = std::make_shared<Api::CallId>();
  *id = api.Send(std::move(request), [this, sending, id](Reply reply) {
    in_flight.erase(*id);
    OnSent(sending, std::move(reply));
    Pump();
  });
  in_flight.emplace(*id, sending);
}

void EventSink::Impl::OnSent(const SendingPtr& sending, Reply reply) {
  if (reply) return Release();
  const RequestError& error = reply.error();
  if (sending->patch && error.code == ErrorCode::kNotFound) {
    sending->patch = false;  // it has expired meanwhile: told anew, with its series
    queue.push_back(sending);
    return;
  }
  if (error.answered() || sending->tries >= kTriesMax) {
    // AlreadyExists is our own event, sent before an answer was lost.
    if (error.code != ErrorCode::kAlreadyExists) {
      dropped.Add();
      if (log::V(2)) log::Info("Server rejected event (will not retry!)", {{"err", error.message}});
    }
    return Release();
  }
  // As client-go: the first delay is a random part of the whole one, so that a crowd does not come back as
  // one.
  const Duration delay = sending->tries == 1
                             ? Duration(static_cast<Duration::rep>(kRetryDelay.count() * random.Unit()))
                             : kRetryDelay;
  const auto id = std::make_shared<http::Loop::TimerId>();
  *id = loop.After(delay, [this, sending, id] {
    std::erase(retries, *id);
    queue.push_back(sending);
    Pump();
  });
  retries.push_back(*id);
}

void EventSink::Impl::KeepSeries() {
  if (series_timer != http::Loop::TimerId::kNone) return;
  series_timer = loop.After(kSeriesSilence, [this] {
    series_timer = http::Loop::TimerId::kNone;
    EndSeries();
    if (!series.empty()) KeepSeries();
  });
}

// Writes the counts of series that have fallen silent and, every half hour, of all.
void EventSink::Impl::EndSeries() {
  const WallTime silent_since = clock.WallNow() - kSeriesSilence;
  const bool refresh = ++rounds % kRoundsPerRefresh == 0;
  erase_if(series, [&](const auto& entry) {
    const EventRecord& record = entry.second;
    const bool over = std::max(record.time, record.last_observed) <= silent_since;
    // A count of two has been told when it was reached.
    if (record.series_count > 2 && (over || refresh) && Hold()) Enqueue(record, true);
    return over;
  });
  std::erase_if(series_order, [this](const std::string& key) { return !series.contains(key); });
}

void EventSink::Impl::Shutdown() {
  for (const auto& [id, sending] : in_flight) api.Cancel(id);
  for (const auto timer : retries) loop.Cancel(timer);
  loop.Cancel(series_timer);
}

EventSink::EventSink(http::Loop& loop, Api& api, const Clock& clock, metrics::Registry& registry,
                     EventSinkOptions options)
    : impl_(new Impl{
          loop, api, clock, std::move(options),
          registry.Counter("berth_events_dropped_total",
                           "[ALPHA] Events that were not written: too many at a time, or refused.")}) {}

EventSink::~EventSink() {
  impl_->loop.Sync([this] { impl_->Shutdown(); });
}

void EventSink::Emit(framework::Event event) {
  if (!impl_->Hold()) return;
  impl_->loop.Post([impl = impl_.get(), event = std::move(event), time = impl_->clock.WallNow()] {
    impl->Accept(event, time);
  });
}

}  // namespace berth::client
