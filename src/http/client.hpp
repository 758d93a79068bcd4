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
  std::string target{};  // path and query; the origin's prefix is put in front
  HeaderList headers{};  // Host and Content-Length are added
  std::string body{};
  std::shared_ptr<const std::string> shared_body{};  // sent in the place of `body`, if there is one
  Duration timeout = std::chrono::seconds(60);  // from Send to the last byte, waiting included; zero: none
  std::size_t body_limit_bytes = 64U << 20;     // of a response that is collected
  // Asked on the io thread immediately before the first byte goes to the kernel, after all waiting and
  // connecting, and again before a second sending. A text says why not: the request ends with kCancelled and
  // that text, and nothing has been sent. May be empty.
  std::function<std::optional<std::string>()> refused{};
  // A body that breaks off, or is not complete at the deadline, is handed over as far as it came (see
  // ClientResponse::cut_short) instead of being an error.
  bool keep_cut_body = false;
};

struct ClientResponse {
  int status = 0;
  HeaderList headers;
  std::string body;
  std::optional<Error> cut_short{};  // why the body is not complete

  // The first value of that name (in any case), or null.
  const std::string* Find(std::string_view name) const;
};

// How a response with a 2xx status is handed on piece by piece. Other responses are collected as usual.
struct StreamOptions {
  std::function<void()> on_open{};                  // the head has arrived; may be empty
  // A line without its \n, or a frame without its length; false ends the stream with kCancelled.
  std::function<bool(std::string_view)> on_line{};
  // A media type whose bodies are frames with their length before them (LengthSplitter); all others are lines.
  std::string framed_type{};
  std::size_t max_line_bytes = 64U << 20;  // of a frame, too
  Duration idle_timeout{};  // without a byte: the stream fails with kTimeout; zero: for ever
};

// Codes say what the caller may do:
//   kUnavailable  nothing was sent (refused, not resolved, TLS refused, no time left before sending): safe to
//   repeat kAmbiguous    sent, at least partly, and the connection broke before the whole answer was there
//   kTimeout      sent, and the deadline passed: as ambiguous
//   kInvalid      the answer is not HTTP, or larger than allowed
//   kCancelled    by Cancel, by on_line, or because the client was destroyed
using ClientDone = std::move_only_function<void(Expected<ClientResponse>)>;

// What a Client does, for those who are handed one: production code is tested with a scripted one.
class Transport {
 public:
  using CallId = std::uint64_t;

  virtual ~Transport() = default;
  // Calls `done` exactly once, on the io thread, never from within this call.
  virtual CallId Send(ClientRequest request, ClientDone done) = 0;
  // The same; `done` is told when the stream has ended, with an empty body if it was streamed.
  virtual CallId Stream(ClientRequest request, StreamOptions options, ClientDone done) = 0;
  // Ends a call with kCancelled (`done` may be called from within); does nothing if it has ended.
  virtual void Cancel(CallId call) = 0;
  // New credentials: from the next connection on. Idle connections are closed.
  virtual Expected<void> SetTls(const TlsOptions& options) = 0;
};

struct ClientOptions {
  Origin origin{};
  TlsOptions tls{};
  std::optional<Proxy> proxy{};
  std::size_t max_connections = 256;                    // streams not counted; further requests wait in order
  // As many as can be in use: one that is closed only to be opened again costs both sides a handshake.
  std::size_t max_idle = 256;
  Duration connect_timeout = std::chrono::seconds(30);  // TCP and TLS together
  Duration idle_timeout = std::chrono::seconds(90);     // after which an unused connection is closed
};

// Safe from any thread. No retries, with one exception: a request that is idempotent and failed on a reused
// connection before any byte of an answer is sent once more on a new one, since a server may close an idle
// connection at any time. `io` outlives the client; no `done` may destroy it.
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
