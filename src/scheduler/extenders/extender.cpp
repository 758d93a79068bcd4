#include "scheduler/extenders/extender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "base/redact.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::extenders {
namespace {

constexpr int kOk = 200;
constexpr Duration kDefaultTimeout = std::chrono::seconds(5);

std::string UrlOf(const config::ExtenderConfig& config, std::string_view verb) {
  std::string_view prefix = config.url_prefix;
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  return fmt::format("{}/{}", prefix, verb);
}

Duration TimeoutOf(const config::ExtenderConfig& config) {
  if (config.http_timeout.count() == 0) return kDefaultTimeout;
  return std::max(std::chrono::duration_cast<Duration>(config.http_timeout), Duration::zero());
}

}  // namespace

struct Extender::CallMetrics {
  // After a reload another object has the same gauge.
  CallMetrics(metrics::Registry& registry, const std::string& extender)
      : registry(registry),
        name(extender),
        open(registry.Gauge("berth_extender_circuit_open",
                            "[ALPHA] Whether the circuit breaker of the extender is open.",
                            {{"extender", name}})) {
    open.Set(0);
  }

  metrics::Registry& registry;
  const std::string name;
  metrics::Gauge& open;
};

Extender::Extender(config::ExtenderConfig config, std::unique_ptr<Transport> transport,
                   const Metrics& metrics)
    : config_(std::move(config)),
      name_(RedactUrl(config_.url_prefix)),
      transport_(std::move(transport)),
      metrics_(metrics),
      circuit_(metrics.circuit) {
  for (const config::ManagedResource& resource : config_.managed_resources) managed_.insert(resource.name);
  if (metrics_.registry != nullptr) call_metrics_ = std::make_unique<CallMetrics>(*metrics_.registry, name());
}

Extender::~Extender() = default;

bool Extender::IsInterested(const api::Pod& pod) const {
  if (managed_.empty()) return true;
  const auto names_one = [&](const api::ResourceList& resources) {
    return std::ranges::any_of(resources, [&](const auto& entry) { return managed_.contains(entry.first); });
  };
  const auto any = [&](const std::vector<api::Container>& containers) {
    return std::ranges::any_of(containers, [&](const api::Container& container) {
      return names_one(container.resources.requests) || names_one(container.resources.limits);
    });
  };
  return any(pod.spec.containers) || any(pod.spec.init_containers);
}

Extender::PendingCall Extender::Send(std::string_view verb, std::string body, Transport::Done done,
                                     std::function<std::optional<std::string>()> refused) {
  PendingCall pending;
  pending.began = metrics_.clock->Now();
  if (!circuit_.Allows(pending.began)) {
    done(Fail(ErrorCode::kUnavailable,
              fmt::format("extender \"{}\" failed {} consecutive times and is not called for {} s", name(),
                          metrics_.circuit.failures,
                          std::chrono::duration_cast<std::chrono::seconds>(metrics_.circuit.pause).count())));
    return pending;
  }
  pending.sent = true;
  pending.call = transport_->Send(
      {UrlOf(config_, verb), std::move(body), TimeoutOf(config_), std::move(refused)}, std::move(done));
  return pending;
}

void Extender::Cancel(const PendingCall& pending) {
  if (pending.sent) transport_->Cancel(pending.call);
}

Expected<Reply> Extender::Take(std::string_view verb, const PendingCall& pending, Expected<Reply> reply) {
  if (!reply) {
    if (reply.error().code != ErrorCode::kCancelled) Evaluated(verb, pending, false);
    return reply;
  }
  if (reply->status == kOk) return reply;
  Evaluated(verb, pending, false);
  return Fail(ErrorCode::kUnavailable, fmt::format("failed {} with extender at URL {}, code {}", verb,
                                                   RedactUrl(UrlOf(config_, verb)), reply->status));
}

void Extender::Evaluated(std::string_view verb, const PendingCall& pending, bool succeeded) {
  const MonoTime now = metrics_.clock->Now();
  const bool was_open = circuit_.open();
  if (pending.sent) circuit_.OnResult(succeeded, now);
  if (circuit_.open() != was_open) {
    log::Warning(circuit_.open() ? "Extender circuit breaker opened after repeated failures"
                                 : "Extender circuit breaker closed",
                 {{"extender", name()}});
  }
  if (call_metrics_ == nullptr) return;
  call_metrics_->open.Set(circuit_.open() ? 1 : 0);
  metrics::Registry& registry = call_metrics_->registry;
  const char* result = !pending.sent ? "not_asked" : (succeeded ? "success" : "error");
  registry
      .Counter(
          "berth_extender_requests_total",
          "[ALPHA] Requests to extenders by result: success, error, or not_asked because the circuit was "
          "open.",
          {{"extender", name()}, {"verb", std::string(verb)}, {"result", result}})
      .Add();
  if (!pending.sent) return;
  registry
      .Histogram("berth_extender_duration_seconds",
                 "[ALPHA] Time from a request to an extender until its response has been decoded.",
                 metrics::ExponentialBuckets(0.0005, 2, 16),
                 {{"extender", name()}, {"verb", std::string(verb)}})
      .Observe(std::chrono::duration<double>(now - pending.began).count());
}

void Extender::CountInvalidScores(std::size_t count) {
  if (count == 0 || call_metrics_ == nullptr) return;
  call_metrics_->registry
      .Counter("berth_extender_scores_out_of_range_total",
               "[ALPHA] Scores of extenders outside of 0 to 10; they are used unchanged.",
               {{"extender", name()}})
      .Add(count);
}

}  // namespace berth::extenders
