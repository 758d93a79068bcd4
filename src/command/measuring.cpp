#include "command/measuring.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include "client/connection_config.hpp"
#include "command/files.hpp"
#include "http/client.hpp"

namespace berth::command {
namespace {

// A server answers twenty queries at a time, and is not ours alone.
constexpr std::size_t kConnections = 4;

Expected<std::vector<metricsource::SourceSettings>> ReadSourcesFile(const std::string& path) {
  if (path.empty()) return std::vector<metricsource::SourceSettings>();
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto sources = metricsource::ReadSources(text);
  if (!sources) return std::unexpected(std::move(sources).error().In(path));
  return sources;
}

// Files and connections as the machine has them.
metricsource::SourceParts SystemSourceParts(http::IoThread& io, const client::Environment& environment) {
  return {.read_file = ReadWholeFile,
          .connect = [&io, &environment](const http::Origin& origin, const http::TlsOptions& tls)
              -> Expected<std::unique_ptr<http::Transport>> {
            BERTH_TRY(auto proxy, client::ProxyFromEnvironment(origin, environment));
            return http::Client::Make(
                io,
                {.origin = origin, .tls = tls, .proxy = std::move(proxy), .max_connections = kConnections});
          }};
}

// The loop of those who have none.
class Desk {
 public:
  void Post(std::move_only_function<void()> work) {
    {
      std::scoped_lock lock(mutex_);
      work_.push_back(std::move(work));
    }
    arrived_.notify_one();
  }
  // Does what was posted and what is posted until `done`.
  void WorkUntil(const std::function<bool()>& done) {
    while (!done()) {
      std::unique_lock lock(mutex_);
      arrived_.wait(lock, [this] { return !work_.empty(); });
      for (auto& work : std::exchange(work_, {})) {
        lock.unlock();
        work();
        lock.lock();
      }
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<std::move_only_function<void()>> work_;
};

}  // namespace

// Holds work back until it is opened, or there is too much of it: where the API server is away for long,
// answers must not pile up.
class Measuring::Gate {
 public:
  explicit Gate(framework::Poster to) : to_(std::move(to)) {}

  void Post(std::move_only_function<void()> work) {
    const std::scoped_lock lock(mutex_);
    if (open_) return to_(std::move(work));
    held_.push_back(std::move(work));
    if (held_.size() >= kMostHeld) LetThrough();
  }
  void Open() {
    const std::scoped_lock lock(mutex_);
    LetThrough();
  }

 private:
  static constexpr std::size_t kMostHeld = 256;

  void LetThrough() {
    open_ = true;
    for (auto& work : std::exchange(held_, {})) to_(std::move(work));
  }

  std::mutex mutex_;
  bool open_ = false;
  std::vector<std::move_only_function<void()>> held_;
  const framework::Poster to_;
};

void Measuring::NodesAreKnown() { gate_->Open(); }

Expected<std::unique_ptr<Measuring>> Measuring::Start(const MeasuringParts& parts) {
  BERTH_TRY(const auto sources, ReadSourcesFile(parts.sources_file));
  auto& measurements = parts.handle.Shared<framework::Measurements>();
  if (measurements.size() == 0) return nullptr;
  measurements.SetClock(parts.clock);
  std::unique_ptr<Measuring> measuring(new Measuring(parts.clock));
  measuring->gate_ = std::make_shared<Gate>(parts.scheduler.poster());
  BERTH_TRY(measuring->poller_,
            metricsource::Poller::Start(
                sources, {.loop = measuring->io_,
                          .measurements = measurements,
                          .post = [gate = measuring->gate_](auto work) { gate->Post(std::move(work)); },
                          .metrics = parts.metrics,
                          .world = SystemSourceParts(measuring->io_, parts.environment),
                          .seed = std::random_device{}()}));
  return measuring;
}

Expected<void> MeasureOnce(const std::string& sources_file, framework::Handle& handle,
                           const client::Environment& environment, const Clock& clock) {
  BERTH_TRY(const auto sources, ReadSourcesFile(sources_file));
  auto& measurements = handle.Shared<framework::Measurements>();
  if (measurements.size() == 0) return {};
  http::IoThread io(clock);
  metrics::Registry nobody_looks;
  const auto desk = std::make_shared<Desk>();
  BERTH_TRY(const auto poller,
            metricsource::Poller::Start(sources, {.loop = io,
                                                  .measurements = measurements,
                                                  .post = [desk](auto work) { desk->Post(std::move(work)); },
                                                  .metrics = nobody_looks,
                                                  .world = SystemSourceParts(io, environment)}));
  // Every query has a deadline.
  desk->WorkUntil([&] {
    for (std::size_t i = 0; i < measurements.size(); ++i) {
      const auto id = static_cast<framework::SignalId>(i);
      if (measurements.signal(id).state == framework::SignalState::kWaiting) return false;
    }
    return true;
  });
  return {};
}

}  // namespace berth::command
