// Queries one source with failover between its servers.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "http/client.hpp"
#include "scheduler/load_metrics/source_settings.hpp"

namespace berth::load_metrics {

// The external dependencies of a source; provided by `command`, scripted in tests.
struct SourceParts {
  std::function<Expected<std::string>(const std::string& path)> read_file;
  std::function<Expected<std::unique_ptr<http::Transport>>(const http::Origin&, const http::TlsOptions&)>
      connect;
};

// Queries go to the server that responded last. If it is unreachable, fails (5xx, HTML, truncated document)
// or does not respond in its share of the timeout, the next one is tried. A query that a server rejects is
// not sent to others. POST first, GET if a server does not support it (405, 501); load-watcher gets a GET
// without the expression. Files (tokens, certificates) are read again before each round, so that rotated ones
// are used.
//
// On the io thread only. The destructor ends pending calls with kCancelled.
class QueryClient {
 public:
  // Parses a response: HTTP status and body. kUnavailable: the server failed, and the next one is tried.
  using Read = std::function<Expected<>(int status, std::string_view body)>;
  using Done = std::function<void(Expected<>)>;

  // Errors: unusable addresses or certificates.
  static Expected<std::unique_ptr<QueryClient>> Open(SourceSettings settings, SourceParts parts);
  ~QueryClient();
  QueryClient(const QueryClient&) = delete;
  QueryClient& operator=(const QueryClient&) = delete;

  // Call before the queries of a poll: reads the files again. A file that cannot be read keeps its last
  // content; this is logged once.
  void BeginRound();
  void Run(const std::string& expression, Read read, Done done);

 private:
  struct Server;
  struct Query;
  explicit QueryClient(SourceSettings settings, SourceParts parts);
  Expected<http::TlsOptions> ReadTls() const;
  Expected<> ReadSecrets();
  void Send(std::shared_ptr<Query> query);
  void Received(std::shared_ptr<Query> query, Expected<http::ClientResponse> response);
  void PassOver(std::shared_ptr<Query> query, Error why);

  const SourceSettings settings_;
  const SourceParts parts_;
  http::TlsOptions tls_;
  std::string authorization_;      // the header's value; empty: none
  std::string logged_file_error_;  // the error logged last
  std::vector<std::unique_ptr<Server>> servers_;
  std::size_t preferred_ = 0;
};

// The expression with "$node" replaced by the labels that identify nodes.
std::string ForSource(const std::string& expression, const SourceSettings& source);

}  // namespace berth::load_metrics
