// Connections to the API server, and the clients that use them.
#pragma once

#include <memory>
#include <string>

#include "config/scheduler_config.hpp"
#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/encoding.hpp"
#include "kubernetes/client/event_sink.hpp"
#include "process/scheduler_flags.hpp"

namespace berth::process {

// The connection settings from flags and configuration file. Errors are kube-scheduler's texts.
Expected<client::ConnectionConfig> ConnectionOf(const SchedulerFlags& flags,
                                                const config::ClientConnection& wanted,
                                                const client::Environment& environment);

// The encoding of pods and nodes from the configuration.
client::Encoding EncodingBy(const config::ClientConnection& wanted);

struct ApiConnections {
  std::unique_ptr<client::Connection> main;
  std::unique_ptr<client::Connection> for_events;
  std::unique_ptr<client::ApiWriter> writer;
  std::unique_ptr<client::EventSink> events;

  // `fence`: of the lease that writes require. `scheduled_event_ratio`: EventSinkOptions::routine_ratio. The
  // arguments must outlive the result.
  static Expected<ApiConnections> Open(http::IoThread& io, const client::ConnectionConfig& connection,
                                       const client::Environment& environment, metrics::Registry& metrics,
                                       const Clock& clock, const LeaseFence& fence,
                                       const std::string& hostname, double scheduled_event_ratio);
};

}  // namespace berth::process
