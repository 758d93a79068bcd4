#include "kubernetes/client/event_sink.hpp"

#include <fmt/format.h>

#include <atomic>
#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>

#include "base/random.hpp"
#include "base/seeded_hash.hpp"
#include "base/text_map.hpp"
#include "http/loop.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/event_body.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxEventTries = 12;
constexpr Duration kRetryDelay = 10s;
constexpr Duration kSeriesSilence = 6min;
constexpr int kRoundsPerRefresh = 5;  // each kSeriesSilence long: 30 minutes

}  // namespace

struct EventSink::Impl {
  struct Sending {
    EventRecord record;
    bool patch = false;
    std::string series{};  // its key; empty: no series
    int tries = 0;
  };
  struct Series {
    EventRecord first{};
    bool writing = false;  // a write of this series is in flight: a patch must not overtake its event
    bool patch_due = false;
  };
  using SendingPtr = std::shared_ptr<Sending>;

  http::Loop& loop;
  Api& api;
  const Clock& clock;
  const EventSinkOptions options;
  metrics::Counter& dropped;
  metrics::Counter& left_out;
  std::atomic<std::size_t> held{0};  // emitted, not yet sent or given up

  // The following members are used on the loop's thread only.
  Random random{options.seed};
  std::int64_t last_nanos = 0;
  std::deque<SendingPtr> queue{};
  boost::unordered_flat_map<Api::CallId, SendingPtr> in_flight{};
  std::vector<http::Loop::TimerId> retries{};
  FlatTextMap<Series> series{};
  // By the hash of the key: the time of the latest event. The series do not fit into `series`.
  boost::unordered_flat_map<std::size_t, WallTime> uncounted{};
  http::Loop::TimerId series_timer = http::Loop::TimerId::kNone;
  int rounds = 0;
  std::vector<std::move_only_function<void()>> idle{};

  void Accept(const ports::Event& event, WallTime time);
  bool Repeats(const EventRecord& record, const std::string& key);
  bool RepeatsUncounted(const EventRecord& record, const std::string& key);
  void Enqueue(Sending sending);
  void Pump();
  void NotifyIdle();
  void Send(const SendingPtr& sending);
  void OnSent(const SendingPtr& sending, Reply reply);
  void Finish(const Sending& sending);
  void Release() { held.fetch_sub(1, std::memory_order_relaxed); }
  bool Hold();
  bool IsLeftOut(const ports::Event& event) const;
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

bool EventSink::Impl::IsLeftOut(const ports::Event& event) const {
  if (!event.routine || options.routine_ratio >= 1) return false;
  return Random(HashWithSeed(options.seed, event.regarding->metadata.uid)).Unit() >= options.routine_ratio;
}

void EventSink::Impl::Accept(const ports::Event& event, WallTime time) {
  // Two events of one pod within a nanosecond would have the same name.
  last_nanos = std::max<std::int64_t>(last_nanos + 1, time.time_since_epoch().count());
  EventRecord record = MakeRecord(event, options.hostname, time, last_nanos, random);
  std::string key = event.type == ports::Event::Type::kWarning ? record.SeriesKey() : "";
  if (!key.empty() && Repeats(record, key)) return;
  Enqueue({.record = std::move(record), .series = std::move(key)});
}

// Handles a repetition: the first one is written immediately, later ones are counted.
bool EventSink::Impl::Repeats(const EventRecord& record, const std::string& key) {
  const auto known = series.find(key);
  if (known == series.end()) {
    KeepSeries();
    if (RepeatsUncounted(record, key)) {
      Release();
      return true;
    }
    if (series.size() >= options.max_series) return false;
    series.emplace(key, Series{.first = record, .writing = true});
    return false;
  }
  Series& found = known->second;
  const bool second = found.first.series_count == 0;
  found.first.series_count = second ? 2 : found.first.series_count + 1;
  found.first.last_observed = record.time;
  if (second && !found.writing) {
    found.writing = true;
    Enqueue({.record = found.first, .patch = true, .series = key});
  } else {
    found.patch_due = found.patch_due || second;
    Release();
  }
  return true;
}

bool EventSink::Impl::RepeatsUncounted(const EventRecord& record, const std::string& key) {
  const std::size_t hash = SeededHash()(key);
  if (const auto known = uncounted.find(hash); known != uncounted.end()) {
    known->second = record.time;
    return true;
  }
  if (series.size() < options.max_series) return false;
  if (uncounted.size() >= options.max_uncounted) uncounted.clear();
  uncounted.emplace(hash, record.time);
  return false;
}

void EventSink::Impl::Enqueue(Sending sending) {
  queue.push_back(std::make_shared<Sending>(std::move(sending)));
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

void EventSink::Impl::NotifyIdle() {
  if (!queue.empty() || !in_flight.empty()) return;
  for (auto& callback : std::exchange(idle, {})) callback();
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
    NotifyIdle();
  });
  in_flight.emplace(*id, sending);
}

// Removes an event that was sent or given up.
void EventSink::Impl::Finish(const Sending& sending) {
  Release();
  const auto found = series.find(sending.series);
  if (found == series.end()) return;
  found->second.writing = false;
  if (!std::exchange(found->second.patch_due, false) || !Hold()) return;
  found->second.writing = true;
  queue.push_back(std::make_shared<Sending>(
      Sending{.record = found->second.first, .patch = true, .series = sending.series}));
}

void EventSink::Impl::OnSent(const SendingPtr& sending, Reply reply) {
  if (reply) return Finish(*sending);
  const RequestError& error = reply.error();
  if (sending->patch && error.code == ErrorCode::kNotFound) {
    sending->patch = false;  // the event has expired: created again, with its series
    queue.push_back(sending);
    return;
  }
  if (error.answered() || sending->tries >= kMaxEventTries) {
    // AlreadyExists means that an earlier attempt succeeded and its response was lost.
    if (error.code != ErrorCode::kAlreadyExists) {
      dropped.Add();
      if (const auto log = log::V(2))
        log.Info("Server rejected event (will not retry!)", {{"err", error.message}});
    }
    return Finish(*sending);
  }
  // As in client-go: the first delay is a random part of the full one, so that many clients do not retry at
  // the same time.
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
    if (!series.empty() || !uncounted.empty()) KeepSeries();
  });
}

// Writes the counts of series that have ended and, every half hour, of all.
void EventSink::Impl::EndSeries() {
  const WallTime silent_since = clock.WallNow() - kSeriesSilence;
  const bool refresh = ++rounds % kRoundsPerRefresh == 0;
  erase_if(series, [&](const auto& entry) {
    const EventRecord& record = entry.second.first;
    const bool over = std::max(record.time, record.last_observed) <= silent_since;
    // A count of two has already been written.
    if (record.series_count > 2 && (over || refresh) && Hold()) Enqueue({.record = record, .patch = true});
    return over;
  });
  erase_if(uncounted, [&](const auto& entry) { return entry.second <= silent_since; });
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
                           "[ALPHA] Events that were dropped because the queue was full or the API server "
                           "rejected them."),
          registry.Counter("berth_events_left_out_total",
                           "[ALPHA] Scheduled events that were not written because of "
                           "--berth-scheduled-event-ratio.")}) {}

EventSink::~EventSink() {
  impl_->loop.Sync([this] { impl_->Shutdown(); });
}

void EventSink::WhenIdle(std::move_only_function<void()> idle) {
  impl_->loop.Post([impl = impl_.get(), idle = std::move(idle)]() mutable {
    impl->idle.push_back(std::move(idle));
    impl->NotifyIdle();
  });
}

void EventSink::Emit(ports::Event event) {
  if (impl_->IsLeftOut(event)) return impl_->left_out.Add();
  if (!impl_->Hold()) return;
  impl_->loop.Post([impl = impl_.get(), event = std::move(event), time = impl_->clock.WallNow()] {
    impl->Accept(event, time);
  });
}

}  // namespace berth::client
