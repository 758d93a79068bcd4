// One connection of the server. Private to http/server*.cpp.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <optional>

#include "http/server.hpp"

namespace berth::http {

class Connection;

// The subject of the client's certificate; null if it showed none.
std::shared_ptr<const PeerCertificate> PeerOf(SSL* ssl);

// What all connections of a server share.
struct ServerShared {
  ServerOptions options;
  Handler handler;
  MonoTime now;      // as of the last sweep: timeouts are a matter of seconds
  std::string date;  // the Date header's line, renewed with `now`
  std::function<void(Connection&)> closed;
  bool stopping = false;  // each answer is the connection's last
};

// Reads ahead while a request is being answered, so that a peer that leaves is noticed, but handles one
// request after the other: the answers leave in the order of the requests, which is what pipelining promises.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerShared> shared);

  void Start();
  // Closes when idle, after the answer under way otherwise; a stream is ended.
  void Finish();
  // Closes now.
  void Cut();
  // Between two requests: nobody is hurt if it is cut.
  bool Idle() const { return served_ && !busy_ && !parser_ && !writing_ && !shaking_; }
  MonoTime idle_since() const { return read_since_; }
  // Cuts itself if a timeout has passed.
  void CheckTimeouts();

  // For the exchange under way.
  void Respond(Response response);
  void StartStream(Response head, std::size_t queue_limit_bytes);
  void OnStreamGone(std::function<void()> callback);
  bool WriteStream(Piece piece);
  void CloseStream();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  struct OutgoingText {
    std::string own;    // used if `shared` is null
    SharedText shared;  // large bodies are sent from where they are
  };
  struct OpenStream {
    OpenStream() {}  // clang needs a constructor of its own where an optional of a nested class is a member
    std::deque<Piece> queue;
    std::size_t queued_bytes = 0;
    std::size_t limit_bytes = 0;
    bool ended = false;
    std::function<void()> gone;
  };

  void Shake();
  // The peer speaks plain HTTP where TLS is spoken: tell it so in words that it understands.
  void AnswerInTheClear();
  void Read();
  void OnRead(const boost::system::error_code& error, std::size_t bytes);
  void Process();
  void Dispatch();
  void Refuse(int status);
  void RequestAnswered();

  void AppendHead(const Response& response, bool streamed);
  std::string& Tail();
  void DrainStream();
  void ScheduleFlush();
  void Flush();
  void OnWritten(const boost::system::error_code& error);
  void LingerBeforeClosing();

  boost::asio::ip::tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;  // around socket_
  std::shared_ptr<const PeerCertificate> peer_;
  std::shared_ptr<ServerShared> shared_;
  boost::beast::flat_buffer in_;
  std::optional<Parser> parser_;
  std::vector<OutgoingText> out_;  // filled while `sending_` is on the wire
  std::vector<OutgoingText> sending_;
  std::optional<OpenStream> stream_;

  MonoTime read_since_;   // start of the present request, or of idleness
  MonoTime write_since_;  // last time the peer took a byte
  unsigned version_ = 11;
  bool keep_alive_ = true;
  std::string local_address_;  // ours, as text, for choosing a certificate by it
  bool served_ = false;        // at least one request has been answered
  bool shaking_ = false;       // the TLS handshake is not over
  bool continued_ = false;     // "100 Continue" was said for the present request
  bool busy_ = false;          // a request is with the handler, or being streamed
  bool head_only_ = false;     // the present request is a HEAD
  bool processing_ = false;    // Process is on the stack
  bool reading_ = false;
  bool writing_ = false;
  bool flush_scheduled_ = false;
  bool peer_done_ = false;  // the peer sends nothing more
  bool lingering_ = false;  // all said; what the peer still sends is thrown away
  bool closed_ = false;
};

}  // namespace berth::http
