#include "process/measuring.hpp"

#include <fmt/format.h>

#include <mutex>
#include <random>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.hpp"
#include "http/client.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "scheduler/cycle/mailbox.hpp"

namespace berth::process {
namespace {

// A server answers twenty queries at a time, and has other clients, too.
constexpr std::size_t kConnections = 4;

Expected<std::vector<load_metrics::SourceSettings>> ReadSourcesFile(const std::string& path) {
  if (path.empty()) return std::vector<load_metrics::SourceSettings>();
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto sources = load_metrics::ReadSources(text);
  if (!sources) return std::unexpected(std::move(sources).error().In(path));
  return sources;
}

// The real file system and network.
load_metrics::SourceParts SystemSourceParts(http::IoThread& io, const client::Environment& environment) {
  return {.read_file = [&environment](const std::string& path) { return environment.ReadFile(path); },
          .connect = [&io, &environment](const http::Origin& origin, const http::TlsOptions& tls)
              -> Expected<std::unique_ptr<http::Transport>> {
            BERTH_TRY(auto proxy, client::ProxyFromEnvironment(origin, environment));
            return http::Client::Make(
                io,
                {.origin = origin, .tls = tls, .proxy = std::move(proxy), .max_connections = kConnections});
          }};
}

// The pod that Berth runs in, as far as it is known: the host name of a container is its pod's name.
api::PodPtr OwnPod(const client::Environment& environment, const std::string& hostname) {
  constexpr const char* kNamespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
  api::Pod pod;
  pod.metadata.name = environment.Variable("POD_NAME").value_or(hostname);
  if (const auto ns = environment.Variable("POD_NAMESPACE")) {
    pod.metadata.ns = *ns;
  } else {
    pod.metadata.ns = environment.ReadFile(kNamespaceFile).value_or("kube-system");
  }
  return std::make_shared<const api::Pod>(std::move(pod));
}

void RecordSourceEvent(const load_metrics::SourceChange& change, const api::PodPtr& own_pod,
                       ports::EventSink& events) {
  ports::Event event;
  event.action = "Measuring";
  event.controller = "berth";
  event.regarding = own_pod;
  if (change.failing) {
    event.type = ports::Event::Type::kWarning;
    event.reason = "MeasurementsFailed";
    event.note = fmt::format(
        "Metric source {} failed: {}. {}", change.source, change.error,
        change.has_answered ? "Its last values are used until holdFor ends; then its signals are ignored."
                            : "Its signals are ignored until it answers.");
  } else {
    event.reason = "MeasurementsRecovered";
    event.note = fmt::format("Metric source {} recovered.", change.source);
  }
  events.Emit(std::move(event));
}

}  // namespace

// Holds work back until it is opened, or until there is too much of it: during a long outage of the API
// server responses must not accumulate.
class Measuring::Gate {
 public:
  explicit Gate(framework::Poster to) : to_(std::move(to)) {}

  void Post(cycle::Origin origin, std::move_only_function<void()> work) {
    const std::scoped_lock lock(mutex_);
    if (open_) return PostAs(std::move(origin), std::move(work));
    held_.push_back({std::move(origin), std::move(work)});
    if (held_.size() >= kMostHeld) LetThrough();
  }
  void Open() {
    const std::scoped_lock lock(mutex_);
    LetThrough();
  }

 private:
  static constexpr std::size_t kMostHeld = 256;
  struct Held {
    cycle::Origin origin;
    std::move_only_function<void()> work;
  };

  void LetThrough() {
    open_ = true;
    for (Held& one : std::exchange(held_, {})) PostAs(std::move(one.origin), std::move(one.work));
  }
  void PostAs(cycle::Origin origin, std::move_only_function<void()> work) const {
    const cycle::OriginScope scope(std::move(origin));
    to_(std::move(work));
  }

  std::mutex mutex_;
  bool open_ = false;
  std::vector<Held> held_;
  const framework::Poster to_;
};

void Measuring::OnNodesSynced() { gate_->Open(); }

Expected<std::unique_ptr<Measuring>> Measuring::Start(const MeasuringParts& parts) {
  BERTH_TRY(const auto sources, ReadSourcesFile(parts.sources_file));
  auto& measurements = parts.handle.signals;
  if (measurements.size() == 0) return nullptr;
  measurements.SetClock(parts.clock);
  std::unique_ptr<Measuring> measuring(new Measuring(parts.clock));
  measuring->gate_ = std::make_shared<Gate>(parts.handle.loop.poster());
  BERTH_TRY(measuring->poller_,
            load_metrics::Poller::Start(
                sources, {.loop = measuring->io_,
                          .measurements = measurements,
                          .post = [gate = measuring->gate_](auto work) { gate->Post({}, std::move(work)); },
                          .post_result = [gate = measuring->gate_, origin_of = parts.origin_of](
                                             const auto& result,
                                             auto work) { gate->Post(origin_of(result), std::move(work)); },
                          .metrics = parts.metrics,
                          .access = SystemSourceParts(measuring->io_, parts.environment),
                          .on_source_change =
                              [&events = parts.events, own_pod = OwnPod(parts.environment, parts.hostname)](
                                  const auto& change) { RecordSourceEvent(change, own_pod, events); },
                          .seed = std::random_device{}()}));
  return measuring;
}

Expected<void> MeasureOnce(const std::string& sources_file, framework::Handle& handle,
                           const client::Environment& environment, const Clock& clock) {
  BERTH_TRY(const auto sources, ReadSourcesFile(sources_file));
  auto& measurements = handle.signals;
  if (measurements.size() == 0) return {};
  http::IoThread io(clock);
  metrics::Registry discarded_metrics;
  const auto mailbox = std::make_shared<cycle::Mailbox>();
  BERTH_TRY(
      const auto poller,
      load_metrics::Poller::Start(
          sources, {.loop = io,
                    .measurements = measurements,
                    .post = [mailbox](auto work) { mailbox->Post(std::move(work)); },
                    .post_result = [mailbox](const auto&, auto work) { mailbox->Post(std::move(work)); },
                    .metrics = discarded_metrics,
                    .access = SystemSourceParts(io, environment)}));
  std::vector<cycle::Message> arrived;
  while (!measurements.AllPolled()) {  // every query has a deadline
    mailbox->SetDeadline(clock.Now() + std::chrono::minutes(1));
    mailbox->Wait();
    mailbox->Take(arrived);
    for (cycle::Message& message : arrived) std::get<cycle::PostedWork>(message).work();
  }
  return {};
}

}  // namespace berth::process
