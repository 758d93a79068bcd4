// One connection of a Client. Internal to the client; io thread only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <optional>

#include "http/client.hpp"

namespace berth::http {

// A pending request, shared by the pool and the connection that carries it.
struct Outgoing {
  Transport::CallId id = 0;
  ClientRequest request;
  std::optional<StreamOptions> stream;
  ClientDone done;
  MonoTime deadline = MonoTime::max();
  MonoTime connect_by{};  // if a connection is opened for it
  MonoTime last_byte{};   // of a stream's body, for the idle timeout
  bool replayed = false;  // it has already been sent a second time
  bool ended = false;     // `done` has been called; further data is ignored
  // With keep_cut_body: the response as far as received.
  std::optional<ClientResponse> head{};
  const std::string* body_so_far = nullptr;

  ClientResponse CutShort(Error why) {
    ClientResponse response = std::move(*head);
    response.body = *body_so_far;
    response.cut_short = std::move(why);
    body_so_far = nullptr;
    return response;
  }
};

struct Carried {
  Expected<ClientResponse> response;
  bool reusable = false;  // the connection may carry another request
  bool stale = false;     // failed on a reused connection before anything was received
};

class ClientConnection final : public std::enable_shared_from_this<ClientConnection> {
 public:
  using Done = std::move_only_function<void(Carried)>;
  using Tcp = boost::asio::ip::tcp;

  // `tls` is null for plain HTTP. `clock` stamps last_byte.
  ClientConnection(boost::asio::io_context& io, const Origin& origin, const std::optional<Proxy>& proxy,
                   std::shared_ptr<boost::asio::ssl::context> tls, std::string server_name,
                   std::function<MonoTime()> now);

  // Connects if necessary, sends, receives. One exchange at a time; `done` is called later, never from
  // within.
  void Carry(std::shared_ptr<Outgoing> outgoing, Done done);
  // Ends the current exchange with this error. An error before anything was sent is reported as kUnavailable.
  void Abort(Error why);
  // Whether the connection is open and idle, and the peer has sent no unsolicited data.
  bool Usable() const;
  bool connected() const { return connected_; }

  MonoTime idle_since{};

 private:
  using Secure = boost::asio::ssl::stream<Tcp::socket&>;
  struct Steps;  // the coroutines

  Tcp::socket socket_;
  Tcp::resolver resolver_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  std::optional<Secure> secure_;
  boost::beast::flat_buffer buffer_;
  const Origin origin_;
  const std::optional<Proxy> proxy_;
  const std::string server_name_;
  const std::function<MonoTime()> now_;
  std::optional<Error> aborted_;
  bool connected_ = false;
  bool used_ = false;      // has completed an exchange before
  bool starting_ = false;  // Carry has not returned yet
};

}  // namespace berth::http
