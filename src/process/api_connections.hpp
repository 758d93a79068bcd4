// The doors to the API server, and what goes through them.
#pragma once

#include <memory>
#include <string>

#include "kubernetes/client/api_writer.hpp"
#include "kubernetes/client/connection.hpp"
#include "kubernetes/client/connection_config.hpp"
#include "kubernetes/client/encoding.hpp"
#include "kubernetes/client/event_sink.hpp"
#include "process/scheduler_flags.hpp"
#include "config/scheduler_config.hpp"

namespace berth::process {

// How to reach it, as flags and file say. Errors are kube-scheduler's texts.
Expected<client::ConnectionConfig> ConnectionOf(const SchedulerFlags& flags,
                                                const config::ClientConnection& wanted,
                                                const client::Environment& environment);

// In which encoding the configuration wants pods and nodes.
client::Encoding EncodingBy(const config::ClientConnection& wanted);

struct ApiConnections {
  std::unique_ptr<client::Connection> main;
  std::unique_ptr<client::Connection> for_events;
  std::unique_ptr<client::Connection> for_lease;  // null: without election
  std::unique_ptr<client::ApiWriter> writer;
  std::unique_ptr<client::EventSink> events;

  // `fence`: of the lease that writes need; null without election. What is handed in outlives it.
  static Expected<ApiConnections> Open(http::IoThread& io, const client::ConnectionConfig& connection,
                                       const client::Environment& environment, metrics::Registry& metrics,
                                       const Clock& clock, const LeaseFence* fence,
                                       const std::string& hostname);
};

}  // namespace berth::process
