// An HTTP/1.1 server, plain or over TLS: keep-alive, pipelining, streamed bodies of any duration.
//
// Everything runs on the thread of the given io_context: the handler, all calls on an Exchange or a Stream,
// and the callbacks. There are no locks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "http/message.hpp"

namespace boost::asio {
class io_context;
namespace ssl {
class context;
}
}  // namespace boost::asio

namespace berth::http {

// A response of unknown length. Releasing the last reference ends it, like Close.
class Stream {
 public:
  virtual ~Stream() = default;
  // Queues a piece; pieces written before the io_context sends go out in one system call. Returns false if
  // the stream has ended: closed, the peer has disconnected, or its queue is full. A full queue closes the
  // connection, because a reader that misses a piece must not take the rest for the whole.
  virtual bool Write(Piece piece) = 0;
  // Ends the body properly once everything queued has been sent; the connection stays usable.
  virtual void Close() = 0;
  // Called once when the peer has disconnected or the queue overflowed, never after Close.
  virtual void OnGone(std::function<void()> callback) = 0;
};

// The response side of one request. Must be responded to exactly once, now or later; if it is destroyed
// without a response the client gets 500. Calls after the peer has disconnected do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void Respond(Response response) = 0;
  // Sends the head immediately. `response.body` is not used. A stream with more than `queue_limit_bytes`
  // waiting for a slow reader is closed.
  virtual std::shared_ptr<Stream> StartStream(Response head, std::size_t queue_limit_bytes) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Exchange>)>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                  // 0: the system chooses
  std::size_t body_limit_bytes = 3 << 20;  // as in kube-apiserver
  // The limit for clients without a trusted certificate (PeerCertificate::trusted), if it is lower.
  std::size_t anonymous_body_limit_bytes = SIZE_MAX;
  std::size_t header_limit_bytes = 64 << 10;
  // Data that a peer may send beyond the current request before the server stops reading.
  std::size_t read_ahead_bytes = 256 << 10;
  // Limit of open connections. At the limit, a new connection replaces one without a complete request: of the
  // address with the most connections the one that has waited longest. If all are busy, new connections wait
  // in the system's queue. 0: limited by the number of file descriptors.
  std::size_t max_connections = 0;
  bool reuse_port = false;     // SO_REUSEPORT
  bool both_families = false;  // 0.0.0.0 and :: mean all addresses of IPv4 and IPv6, as in Go
  std::shared_ptr<boost::asio::ssl::context> tls = {};  // null: plain HTTP
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  // From the first byte of a request to its last; for the first request, from the start of the connection.
  std::chrono::milliseconds request_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(300);  // between requests
  std::chrono::milliseconds write_timeout = std::chrono::seconds(60);  // without progress of sending
  // The response to a request that never reaches the handler: 400, 413 (body too large), 431 (headers too
  // large), 500 (the handler threw or did not respond). If empty, the bare status line.
  std::function<Response(int status)> refusal;
};

class Server {
 public:
  // Errors have Go's texts: "listen tcp 127.0.0.1:80: bind: permission denied"; kConflict if the port is in
  // use. Listens when it returns; connections are served while `io` runs. The handler must not block, since
  // it would block all connections.
  static Expected<std::unique_ptr<Server>> Listen(boost::asio::io_context& io, ServerOptions options,
                                                  Handler handler);
  ~Server();  // closes all connections; `io` must still exist
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  // In Go's format: "127.0.0.1:10259", "[::]:10259".
  std::string address() const;
  // Used from the next connection on.
  void SetTls(std::shared_ptr<boost::asio::ssl::context> tls);
  std::size_t connections() const;
  // Accepts no new connections, completes current responses and ends streams. Calls `done` when the last
  // connection is closed; after `grace` the remaining ones are closed.
  void Stop(std::chrono::milliseconds grace, std::function<void()> done);

 private:
  struct Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::http
