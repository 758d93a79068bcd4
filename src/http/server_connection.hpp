// One connection of the server. Private to http/server*.cpp.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "http/server.hpp"

namespace berth::http {

class Connection;

// The identity in the client's certificate; null if it presented none.
std::shared_ptr<const PeerCertificate> PeerOf(SSL* ssl);

// State shared by all connections of a server.
struct ServerShared {
  ServerOptions options;
  Handler handler;
  MonoTime now;      // updated by each periodic check; timeouts are in seconds
  std::string date;  // the Date header's line, renewed with `now`
  std::function<void(Connection&)> closed;
  std::uint64_t accepted = 0;  // number of connections so far
  bool stopping = false;       // each response is the last one of its connection
};

// Reads ahead while a request is handled, so that a disconnecting peer is noticed, but handles one request
// after the other: responses are sent in the order of the requests, as pipelining requires.
class Connection final : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerShared> shared);

  void Start();
  // Closes when idle, otherwise after the current response; ends a stream.
  void Finish();
  // Closes immediately.
  void Cut();
  // Whether no request is complete, so that closing the connection loses at most the beginning of one.
  bool Waits() const { return !busy_ && !writing_; }
  // Since when it waits for a complete handshake or request.
  MonoTime waits_since() const { return read_since_; }
  const boost::asio::ip::address& peer_address() const { return peer_address_; }
  // Counts up in the order in which connections were accepted.
  std::uint64_t number() const { return number_; }
  // Closes the connection if a timeout has passed.
  void CheckTimeouts();

  // Responds to the current exchange.
  void Respond(Response response);
  void StartStream(Response head, std::size_t queue_limit_bytes);
  void OnStreamGone(std::function<void()> callback);
  bool WriteStream(Piece piece);
  void CloseStream();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  struct OutgoingText {
    std::string own;    // used if `shared` is null
    SharedText shared;  // large bodies are sent without a copy
  };
  struct OpenStream {
    OpenStream() {}  // clang needs an explicit constructor where an optional of a nested class is a member
    std::deque<Piece> queue;
    std::size_t queued_bytes = 0;
    std::size_t limit_bytes = 0;
    bool ended = false;
    std::function<void()> gone;
  };

  void Shake();
  // The peer sent plain HTTP to a TLS port: responds with a plain HTTP error.
  void AnswerInTheClear();
  void Read();
  void OnRead(const boost::system::error_code& error, std::size_t bytes);
  void Process();
  void TakeHead();
  void Dispatch();
  void Refuse(int status);
  void RequestAnswered();
  std::size_t BodyLimit() const;  // of this client's requests
  // Whether so many bytes of responses wait to be sent that no further request is read or handled.
  bool SendsTooSlowly() const;

  void AppendHead(const Response& response, bool streamed);
  std::string& Tail();
  void DrainStream();
  void ScheduleFlush();
  void Flush();
  void OnWritten(const boost::system::error_code& error);
  void LingerBeforeClosing();

  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::address peer_address_;
  const std::uint64_t number_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;  // around socket_
  std::shared_ptr<const PeerCertificate> peer_;
  std::shared_ptr<ServerShared> shared_;
  std::unique_ptr<char[]> received_;  // of the read in progress; null before the first one
  boost::beast::flat_buffer in_;      // not parsed yet. Parsing may move it while a read is in progress
  std::optional<Parser> parser_;
  std::optional<Request> head_;    // of the request that is read, without its body
  std::vector<OutgoingText> out_;  // filled while `sending_` is being sent
  std::vector<OutgoingText> sending_;
  std::optional<OpenStream> stream_;

  MonoTime read_since_;   // start of the current request or idle period
  MonoTime write_since_;  // last progress of sending
  unsigned version_ = 11;
  bool keep_alive_ = true;
  std::string local_address_;  // local address as text, for selecting a certificate
  bool served_ = false;        // at least one request has been completed
  bool shaking_ = false;       // the TLS handshake is not complete
  bool continued_ = false;     // "100 Continue" was sent for the current request
  bool busy_ = false;          // a request is being handled or streamed
  bool head_only_ = false;     // the current request is a HEAD
  bool processing_ = false;    // Process is on the stack
  bool held_ = false;          // requests wait until responses have been sent
  bool reading_ = false;
  bool writing_ = false;
  bool flush_scheduled_ = false;
  bool peer_done_ = false;  // the peer has closed its sending side
  bool lingering_ = false;  // everything was sent; further input is discarded
  bool closed_ = false;
};

}  // namespace berth::http
