#include "observability/tracing/otlp_exporter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>

#include "base/random.hpp"
#include "base/utf8_prefix.hpp"
#include "http/client.hpp"
#include "http/loop.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::tracing {
namespace {

constexpr int kTries = 5;
constexpr Duration kFirstDelay = std::chrono::seconds(1);
constexpr std::size_t kMostMessageBytes = 4096;

bool MayBeTriedAgain(const Expected<http::ClientResponse>& answer) {
  if (!answer) return answer.error().code == ErrorCode::kUnavailable;
  return answer->status == 429 || (answer->status >= 502 && answer->status <= 504);
}

// Plugins and extenders write messages of any length, and the queue has a limit of attempts only. The rest is
// not kept in memory either.
void Shorten(std::string& message) {
  if (message.size() <= kMostMessageBytes) return;
  message = std::string(Utf8Prefix(message, kMostMessageBytes));
}

}  // namespace

// Members after `loop` are used on the loop's thread only; `waiting` counts attempts submitted and not yet
// sent, which bounds the queue.
struct OtlpExporter::Impl : std::enable_shared_from_this<Impl> {
  Impl(http::Loop& loop, http::Transport& transport, const Clock& clock, metrics::Registry& registry,
       ExporterOptions options)
      : options(std::move(options)),
        clock(clock),
        random(this->options.seed),
        exported(registry.Counter("berth_trace_attempts_exported_total",
                                  "[ALPHA] Traced scheduling attempts accepted by the collector.")),
        dropped(registry.Counter(
            "berth_trace_attempts_dropped_total",
            "[ALPHA] Traced scheduling attempts that were dropped because the queue was full "
            "or the export failed.")),
        loop(loop),
        transport(transport) {}

  void Take(IdentifiedTrace trace) {
    queue.push_back(std::move(trace));
    if (under_way) return;
    if (queue.size() >= options.batch) return SendBatch();
    if (timer == http::Loop::TimerId::kNone) {
      timer = loop.After(options.linger, [this] {
        timer = http::Loop::TimerId::kNone;
        SendBatch();
      });
    }
  }

  void SendBatch() {
    if (under_way || queue.empty()) return;
    if (timer != http::Loop::TimerId::kNone) loop.Cancel(std::exchange(timer, http::Loop::TimerId::kNone));
    const std::size_t count = std::min(options.batch, queue.size());
    std::vector<IdentifiedTrace> batch(
        std::make_move_iterator(queue.begin()),
        std::make_move_iterator(queue.begin() + static_cast<std::ptrdiff_t>(count)));
    queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(count));
    waiting.fetch_sub(count, std::memory_order_relaxed);
    under_way = true;
    Try(ExportRequest(options.resource, batch, clock.Now(), clock.WallNow()), count, 1);
  }

  void Try(std::string body, std::size_t count, int number) {
    http::ClientRequest request{
        .method = "POST", .target = options.path, .body = body, .timeout = options.timeout};
    request.headers = {{"Content-Type", "application/json"}};
    request.headers.insert(request.headers.end(), options.headers.begin(), options.headers.end());
    transport.Send(std::move(request), [weak = weak_from_this(), body = std::move(body), count,
                                        number](Expected<http::ClientResponse> answer) mutable {
      if (const auto self = weak.lock()) self->Answered(std::move(body), count, number, std::move(answer));
    });
  }

  void Answered(std::string body, std::size_t count, int number, Expected<http::ClientResponse> answer) {
    if (answer && answer->status / 100 == 2) {
      exported.Add(count);
    } else if (number < kTries && MayBeTriedAgain(answer)) {
      loop.After(kFirstDelay * (1 << (number - 1)),
                 [weak = weak_from_this(), body = std::move(body), count, number]() mutable {
                   if (const auto self = weak.lock()) self->Try(std::move(body), count, number + 1);
                 });
      return;
    } else {
      dropped.Add(count);
      const std::string why = answer ? fmt::format("HTTP status {}", answer->status) : answer.error().message;
      if (logged_errors.First(why)) log::Warning("Failed to export traces to the collector", {{"err", why}});
    }
    under_way = false;
    SendBatch();
  }

  const ExporterOptions options;
  const Clock& clock;
  Random random;  // used on the scheduler loop
  metrics::Counter& exported;
  metrics::Counter& dropped;
  std::atomic<std::size_t> waiting{0};
  http::Loop& loop;
  http::Transport& transport;
  std::deque<IdentifiedTrace> queue;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  bool under_way = false;
  log::Once logged_errors;
};

OtlpExporter::OtlpExporter(http::Loop& loop, http::Transport& transport, const Clock& clock,
                           metrics::Registry& registry, ExporterOptions options)
    : impl_(std::make_shared<Impl>(loop, transport, clock, registry, std::move(options))) {}

OtlpExporter::~OtlpExporter() {
  http::Loop& loop = impl_->loop;
  loop.Sync([this] {
    if (impl_->timer != http::Loop::TimerId::kNone) impl_->loop.Cancel(impl_->timer);
    impl_.reset();
  });
}

bool OtlpExporter::ShouldTrace() { return impl_->random.Unit() < impl_->options.ratio; }

void OtlpExporter::Finished(AttemptTrace trace) {
  if (impl_->waiting.load(std::memory_order_relaxed) >= impl_->options.capacity) return impl_->dropped.Add();
  impl_->waiting.fetch_add(1, std::memory_order_relaxed);
  Shorten(trace.message);
  IdentifiedTrace identified{.trace = std::move(trace),
                             .trace_high = impl_->random.Next() | 1,
                             .trace_low = impl_->random.Next(),
                             .span = impl_->random.Next() | 1};
  impl_->loop.Post([weak = std::weak_ptr(impl_), identified = std::move(identified)]() mutable {
    if (const auto self = weak.lock()) self->Take(std::move(identified));
  });
}

}  // namespace berth::tracing
