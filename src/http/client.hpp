// An asynchronous HTTP/1.1 client for one origin: keep-alive connections, deadlines, streamed bodies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/origin.hpp"
#include "http/proxy.hpp"
#include "http/tls.hpp"

namespace berth::http {

class IoThread;

using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct ClientRequest {
  std::string method = "GET";
  std::string target{};  // path and query; the origin's prefix is prepended
  HeaderList headers{};  // Host and Content-Length are added
  std::string body{};
  std::shared_ptr<const std::string> shared_body{};  // sent instead of `body` if set
  Duration timeout = std::chrono::seconds(60);  // from Send to the last byte, including queueing; zero: none
  std::size_t body_limit_bytes = 64U << 20;     // of a response that is not streamed
  // Called on the io thread immediately before the first byte is written, after queueing and connecting, and
  // again before a repeated sending. A text is a reason not to send: the request ends with kCancelled and
  // this text, and nothing has been sent. May be empty.
  std::function<std::optional<std::string>()> refused{};
  // A body that is cut off, or not complete at the deadline, is returned as far as received (see
  // ClientResponse::cut_short) instead of as an error.
  bool keep_cut_body = false;
};

struct ClientResponse {
  int status = 0;
  HeaderList headers;
  std::string body;
  std::optional<Error> cut_short{};  // why the body is not complete

  // The first value of the header with this name (case-insensitive), or null.
  const std::string* Find(std::string_view name) const;
};

// Streaming of a response with a 2xx status. Other responses are collected as usual.
struct StreamOptions {
  std::function<void()> on_open{};  // called when the head has arrived; may be empty
  // Receives a line without its \n, or a frame without its length; returning false ends the stream with
  // kCancelled.
  std::function<bool(std::string_view)> on_line{};
  // The media type of bodies that consist of length-prefixed frames (LengthSplitter); all others consist of
  // lines.
  std::string framed_type{};
  std::size_t max_line_bytes = 64U << 20;  // also of a frame
  Duration idle_timeout{};                 // fails with kTimeout after this time without data; zero: no limit
};

// Error codes tell the caller what it may do:
//   kUnavailable  nothing was sent (refused, name not resolved, TLS failure, deadline passed before
//                 sending): safe to repeat
//   kAmbiguous    sent, at least partly, and the connection broke before the response was complete
//   kTimeout      sent, and the deadline passed: as ambiguous
//   kInvalid      the response is not HTTP, or larger than allowed
//   kCancelled    by Cancel, by on_line, or because the client was destroyed
using ClientDone = std::move_only_function<void(Expected<ClientResponse>)>;

// The interface of Client, so that tests can replace it.
class Transport {
 public:
  using CallId = std::uint64_t;

  virtual ~Transport() = default;
  // Calls `done` exactly once, on the io thread, never from within this call.
  virtual CallId Send(ClientRequest request, ClientDone done) = 0;
  // The same with streaming; `done` is called when the stream has ended, with an empty body if it was
  // streamed.
  virtual CallId Stream(ClientRequest request, StreamOptions options, ClientDone done) = 0;
  // Ends a call with kCancelled (`done` may be called from within); does nothing if it has ended.
  virtual void Cancel(CallId call) = 0;
  // New TLS settings, used from the next connection on. Idle connections are closed.
  virtual Expected<void> SetTls(const TlsOptions& options) = 0;
};

struct ClientOptions {
  Origin origin{};
  TlsOptions tls{};
  std::optional<Proxy> proxy{};
  std::size_t max_connections = 256;  // streams not counted; further requests wait in order
  // Equal to max_connections: closing a connection only to reopen it costs both sides a TLS handshake.
  std::size_t max_idle = 256;
  Duration connect_timeout = std::chrono::seconds(30);  // TCP and TLS together
  Duration idle_timeout = std::chrono::seconds(90);     // after which an unused connection is closed
};

// Thread-safe. No retries, with one exception: an idempotent request that failed on a reused connection
// before any byte of a response is sent once more on a new one, since a server may close an idle connection
// at any time. `io` must outlive the client; no `done` may destroy the client.
class Client final : public Transport {
 public:
  static Expected<std::unique_ptr<Client>> Make(IoThread& io, ClientOptions options);
  // Every outstanding call ends with kCancelled before this returns.
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  CallId Send(ClientRequest request, ClientDone done) override;
  CallId Stream(ClientRequest request, StreamOptions options, ClientDone done) override;
  void Cancel(CallId call) override;
  Expected<void> SetTls(const TlsOptions& options) override;

 private:
  struct Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::http
