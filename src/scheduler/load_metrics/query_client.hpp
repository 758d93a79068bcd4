// Asks one source, whichever of its servers answers.
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

// What of the outside world a source needs; handed in by `command`, scripted in tests.
struct SourceParts {
  std::function<Expected<std::string>(const std::string& path)> read_file;
  std::function<Expected<std::unique_ptr<http::Transport>>(const http::Origin&, const http::TlsOptions&)>
      connect;
};

// Queries go to the server that answered last; one that cannot be reached, is in trouble (5xx, HTML, half a
// document) or answers nothing in its share of the time is passed over for the next. A query that a server
// understands and refuses is not asked again elsewhere. POST first, GET where a server does not take
// it (405, 501). Files (tokens, certificates) are read again before each round, so rotated ones count.
//
// On the io thread only. Outlives its calls: the destructor ends them with kCancelled.
class QueryClient {
 public:
  // Reads an answer: its HTTP status, its body as text. kUnavailable: the server is in trouble, and the next
  // one is asked.
  using Read = std::function<Expected<>(int status, std::string_view body)>;
  using Done = std::function<void(Expected<>)>;

  // Errors: addresses or certificates that cannot be used.
  static Expected<std::unique_ptr<QueryClient>> Open(SourceSettings settings, SourceParts parts);
  ~QueryClient();
  QueryClient(const QueryClient&) = delete;
  QueryClient& operator=(const QueryClient&) = delete;

  // Before the queries of a poll: looks at the files. What cannot be read now is kept as it was, and said
  // once.
  void BeginRound();
  void Ask(const std::string& expression, Read read, Done done);

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
  std::string authorization_;  // the header's value; empty: none
  std::string file_trouble_;   // last said
  std::vector<std::unique_ptr<Server>> servers_;
  std::size_t preferred_ = 0;
};

// The expression with "$node" replaced by the labels that tell nodes apart.
std::string ForSource(const std::string& expression, const SourceSettings& source);

}  // namespace berth::load_metrics
