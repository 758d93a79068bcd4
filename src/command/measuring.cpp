#include "command/measuring.hpp"

#include <random>

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

}  // namespace

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

Expected<std::unique_ptr<Measuring>> Measuring::Start(const MeasuringParts& parts) {
  BERTH_TRY(const auto sources, ReadSourcesFile(parts.sources_file));
  auto& measurements = parts.handle.Shared<framework::Measurements>();
  if (measurements.size() == 0) return nullptr;
  measurements.SetClock(parts.clock);
  std::unique_ptr<Measuring> measuring(new Measuring(parts.clock));
  BERTH_TRY(measuring->poller_, metricsource::Poller::Start(
                                    sources, {.loop = measuring->io_,
                                              .measurements = measurements,
                                              .post = parts.scheduler.poster(),
                                              .metrics = parts.metrics,
                                              .world = SystemSourceParts(measuring->io_, parts.environment),
                                              .seed = std::random_device{}()}));
  return measuring;
}

}  // namespace berth::command
