// An HTTP/1.1 server, plain or over TLS: keep-alive, pipelining, bodies that are streamed for as long as the
// handler likes.
//
// Everything happens on the thread that runs the io_context it was given: the handler, every call on an
// Exchange or a Stream, and the callbacks. Nothing here is locked.
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

// A response whose end is not known when it begins. Letting go of the last reference ends it, like Close.
class Stream {
 public:
  virtual ~Stream() = default;
  // Queues a piece; whatever is written before the io_context gets round to sending goes out in one system
  // call. False if the stream is over: closed, the peer is gone, or its queue is full, in which case the
  // connection is cut, because a reader that misses a piece must not take what follows for the whole.
  virtual bool Write(Piece piece) = 0;
  // Ends the body properly once everything queued has been sent; the connection stays usable.
  virtual void Close() = 0;
  // Called once when the peer has gone or the queue overflowed, never after Close.
  virtual void OnGone(std::function<void()> callback) = 0;
};

// One request's way back. Answer exactly once, now or later; dropped without an answer it answers 500. Calls
// after the peer has gone do nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void Respond(Response response) = 0;
  // Sends the head at once. `response.body` is not used. A stream that has more than `queue_limit_bytes`
  // waiting for a slow reader is cut.
  virtual std::shared_ptr<Stream> StartStream(Response head, std::size_t queue_limit_bytes) = 0;
};

using Handler = std::function<void(Request, std::shared_ptr<Exchange>)>;

struct ServerOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                  // 0: the system chooses
  std::size_t body_limit_bytes = 3 << 20;  // as kube-apiserver
  std::size_t header_limit_bytes = 64 << 10;
  // A peer may send so much behind the request being answered before we stop reading.
  std::size_t read_ahead_bytes = 256 << 10;
  // With so many open, one that is between requests has to go for a new one; if there is none, new ones wait
  // in the system's queue. 0: as many as there are descriptors.
  std::size_t max_connections = 0;
  bool reuse_port = false;     // SO_REUSEPORT
  bool both_families = false;  // 0.0.0.0 and :: mean every address of IPv4 and IPv6, as in Go
  std::shared_ptr<boost::asio::ssl::context> tls = {};  // null: plain HTTP
  std::chrono::milliseconds handshake_timeout = std::chrono::seconds(10);
  // From the first byte of a request to its last; for the first one, from when the connection is there.
  std::chrono::milliseconds request_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(300);  // between requests
  std::chrono::milliseconds write_timeout = std::chrono::seconds(60);  // without the peer taking a byte
  // What to say to a request that never reaches the handler: 400, 413 (body too large), 431 (headers too
  // large), 500 (the handler threw or forgot to answer). Without it, the bare status line.
  std::function<Response(int status)> refusal;
};

class Server {
 public:
  // Errors read as Go's: "listen tcp 127.0.0.1:80: bind: permission denied"; kConflict if somebody else has
  // the port. Listens when it returns; connections are served once somebody runs `io`. The handler must not
  // block: all connections wait for it.
  static Expected<std::unique_ptr<Server>> Listen(boost::asio::io_context& io, ServerOptions options,
                                                  Handler handler);
  ~Server();  // cuts every connection; `io` must still exist
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  // As Go writes it: "127.0.0.1:10259", "[::]:10259".
  std::string address() const;
  // From the next connection on.
  void SetTls(std::shared_ptr<boost::asio::ssl::context> tls);
  std::size_t connections() const;
  // No new connections; answers under way are finished, streams ended. Calls `done` when the last connection
  // is gone, at the latest after `grace`, when the rest is cut.
  void Stop(std::chrono::milliseconds grace, std::function<void()> done);

 private:
  struct Impl;
  explicit Server(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::http
