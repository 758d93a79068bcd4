#include "process/api_connections.hpp"

#include <algorithm>

#include "http/io_thread.hpp"

namespace berth::process {

Expected<client::ConnectionConfig> ConnectionOf(const SchedulerFlags& flags,
                                                const config::ClientConnection& wanted,
                                                const client::Environment& environment) {
  BERTH_TRY(client::ConnectionConfig connection,
            client::LoadConnection({wanted.kubeconfig, flags.master, flags.own.use_kubeconfig_variable},
                                   environment));
  if (wanted.limits_given && wanted.qps > 0 && wanted.burst <= 0)
    return Invalid(
        "burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than "
        "0");
  connection.qps = wanted.limits_given ? std::max(wanted.qps, 0.0) : 0;
  connection.burst = static_cast<int>(wanted.burst);
  return connection;
}

client::Encoding EncodingBy(const config::ClientConnection& wanted) {
  return client::PreferredEncoding(wanted.content_type, wanted.accept_content_types);
}

Expected<ApiConnections> ApiConnections::Open(http::IoThread& io, const client::ConnectionConfig& connection,
                                              const client::Environment& environment,
                                              metrics::Registry& metrics, const Clock& clock,
                                              const LeaseFence& fence, const std::string& hostname,
                                              double scheduled_event_ratio) {
  ApiConnections connections;
  BERTH_TRY(connections.main,
            client::Connection::Open(io, connection, environment, metrics, clock, "scheduler"));
  BERTH_TRY(connections.for_events,
            client::Connection::Open(io, connection, environment, metrics, clock, ""));
  connections.writer = std::make_unique<client::ApiWriter>(io, connections.main->api(), clock, fence);
  connections.events = std::make_unique<client::EventSink>(
      io, connections.for_events->api(), clock, metrics,
      // Ten times the queue of client-go: bursts of thousands of bindings must not lose events.
      client::EventSinkOptions{
          .hostname = hostname,
          .queue_capacity = 10'000,
          .under_pressure = [writer = connections.writer.get()] { return writer->Backlog() > 0; },
          .routine_ratio = scheduled_event_ratio});
  return connections;
}

}  // namespace berth::process
