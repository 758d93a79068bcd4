#include "http/server_connection.hpp"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>

#include "base/append_format.hpp"
#include "http/server_names.hpp"
#include "http/transfer_coding.hpp"

namespace berth::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 16 << 10;
// Responses that a client has not read yet. One response more may wait, whatever its size.
constexpr std::size_t kMostUnsent = 256 << 10;
// Streams are sent in batches: large enough to make system calls rare, small enough to serve many watchers
// fairly.
constexpr std::size_t kBatchBytes = 256 << 10;
// From this size on a body is cheaper to send from its own buffer than to copy behind its head.
constexpr std::size_t kSharedBytes = 16 << 10;

bool SpeaksPlainHttp(const error_code& error) {
  return error.category() == asio::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// The handler's interface to a stream.
class ConnectionStream final : public Stream {
 public:
  explicit ConnectionStream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~ConnectionStream() override { Close(); }
  bool Write(Piece piece) override { return connection_ && connection_->WriteStream(std::move(piece)); }
  void Close() override {
    if (const auto connection = std::exchange(connection_, nullptr)) connection->CloseStream();
  }
  void OnGone(std::function<void()> callback) override {
    if (connection_) connection_->OnStreamGone(std::move(callback));
  }

 private:
  std::shared_ptr<Connection> connection_;
};

class ConnectionExchange final : public Exchange {
 public:
  ConnectionExchange(std::shared_ptr<Connection> connection, ServerShared& shared)
      : connection_(std::move(connection)), shared_(shared) {}
  ~ConnectionExchange() override {
    if (!connection_) return;
    connection_->Respond(shared_.options.refusal ? shared_.options.refusal(500) : Response{.status = 500});
  }
  void Respond(Response response) override {
    if (const auto connection = std::exchange(connection_, nullptr)) connection->Respond(std::move(response));
  }
  std::shared_ptr<Stream> StartStream(Response head, std::size_t queue_limit_bytes) override {
    const auto connection = std::exchange(connection_, nullptr);
    if (connection) connection->StartStream(std::move(head), queue_limit_bytes);
    return std::make_shared<ConnectionStream>(connection);
  }

 private:
  std::shared_ptr<Connection> connection_;  // null after the response
  ServerShared& shared_;                    // the connection keeps it alive
};

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, std::shared_ptr<ServerShared> shared)
    : socket_(std::move(socket)),
      number_(++shared->accepted),
      shared_(std::move(shared)),
      read_since_(shared_->now),
      write_since_(shared_->now) {}

void Connection::Start() {
  error_code ignored;
  peer_address_ = socket_.remote_endpoint(ignored).address();
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  if (!shared_->options.tls) return Read();
  local_address_ = socket_.local_endpoint(ignored).address().to_string();
  shaking_ = true;
  // A TLS stream takes 120 KB: a client that sends nothing must not make the server allocate it.
  socket_.async_wait(asio::socket_base::wait_read, [self = shared_from_this()](const error_code& error) {
    if (self->closed_) return;
    if (error) return self->Cut();
    self->Shake();
  });
}

void Connection::Shake() {
  tls_.emplace(socket_, *shared_->options.tls);
  SetLocalAddress(tls_->native_handle(), local_address_);
  tls_->async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](const error_code& error) {
    self->shaking_ = false;
    if (self->closed_) return;
    if (SpeaksPlainHttp(error)) {
      return asio::post(self->socket_.get_executor(), [self] { self->AnswerInTheClear(); });
    }
    if (error) return self->Cut();
    self->peer_ = PeerOf(self->tls_->native_handle());
    self->read_since_ = self->shared_->now;
    self->Read();
  });
}

void Connection::AnswerInTheClear() {
  if (closed_) return;
  tls_.reset();
  keep_alive_ = false;
  Tail() += "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
  Flush();
}

// --- in ---
void Connection::Read() {
  if (reading_ || closed_ || peer_done_ || held_ || in_.size() >= shared_->options.read_ahead_bytes) return;
  reading_ = true;
  if (received_ == nullptr) received_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  const auto buffer = asio::buffer(received_.get(), kReadBytes);
  auto read = [self = shared_from_this()](const error_code& error, std::size_t n) { self->OnRead(error, n); };
  if (tls_)
    tls_->async_read_some(buffer, std::move(read));
  else
    socket_.async_read_some(buffer, std::move(read));
}

void Connection::OnRead(const error_code& error, std::size_t bytes) {
  reading_ = false;
  if (closed_) return;
  if (error) {
    // A peer that closed only its sending side can still receive a current response; a stream has lost its
    // reader.
    if (error != asio::error::eof || stream_ || lingering_ || (!busy_ && !writing_)) return Cut();
    peer_done_ = true;
    return;
  }
  if (lingering_) return Read();
  in_.commit(asio::buffer_copy(in_.prepare(bytes), asio::buffer(received_.get(), bytes)));
  Process();
}

void Connection::Process() {
  processing_ = true;
  while (!busy_ && !closed_ && keep_alive_ && in_.size() > 0) {
    held_ = SendsTooSlowly();
    if (held_) break;
    if (!parser_) {
      parser_.emplace();
      head_.reset();
      parser_->body_limit(BodyLimit());
      parser_->header_limit(static_cast<std::uint32_t>(shared_->options.header_limit_bytes));
      read_since_ = shared_->now;
      continued_ = false;
    }
    error_code error;
    in_.consume(parser_->put(in_.data(), error));
    if (error == beast::http::error::need_more) break;
    if (error == beast::http::error::body_limit) {
      Refuse(413);
    } else if (error == beast::http::error::header_limit) {
      Refuse(431);
    } else if (error) {
      Refuse(400);
    } else if (!head_ && parser_->is_header_done() && !HasSupportedTransferCoding(parser_->get())) {
      Refuse(501);
    } else if (TakeHead(); parser_->is_done()) {
      Dispatch();
    } else if (!continued_ && parser_->is_header_done() &&
               beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) {
      continued_ = true;
      Tail() += "HTTP/1.1 100 Continue\r\n\r\n";
    }
  }
  processing_ = false;
  Flush();
  Read();
}

std::size_t Connection::BodyLimit() const {
  const ServerOptions& options = shared_->options;
  if (peer_ != nullptr && peer_->trusted) return options.body_limit_bytes;
  return std::min(options.body_limit_bytes, options.anonymous_body_limit_bytes);
}

bool Connection::SendsTooSlowly() const {
  std::size_t unsent = 0;
  for (const auto* texts : {&out_, &sending_}) {
    for (const OutgoingText& text : *texts) unsent += text.shared ? text.shared->size() : text.own.size();
  }
  return unsent >= kMostUnsent;
}

// Takes the headers before the body is parsed, because the parser adds trailers to them.
void Connection::TakeHead() {
  if (head_ || !parser_->is_header_done()) return;
  parser_->eager(true);
  const auto& message = parser_->get();
  head_.emplace();
  head_->method = message.method_string();
  head_->target = message.target();
  for (const auto& field : message) head_->headers.Add(field.name_string(), field.value());
}

void Connection::Dispatch() {
  auto message = parser_->release();
  parser_.reset();
  busy_ = true;
  keep_alive_ = message.keep_alive() && !shared_->stopping;
  version_ = message.version();
  head_only_ = message.method() == beast::http::verb::head;
  Request request = std::exchange(head_, std::nullopt).value();
  request.body = std::move(message.body());
  request.peer = peer_;
  auto exchange = std::make_shared<ConnectionExchange>(shared_from_this(), *shared_);
  try {
    shared_->handler(std::move(request), std::move(exchange));
  } catch (const std::exception&) {
    // Stack unwinding destroyed the exchange, which sent 500. A handler that stored the exchange elsewhere
    // must still respond.
  }
}

// The rest of a rejected request would be parsed as the next one: responds, then closes.
void Connection::Refuse(int status) {
  parser_.reset();
  busy_ = true;
  keep_alive_ = false;
  version_ = 11;
  head_only_ = false;
  Respond(shared_->options.refusal ? shared_->options.refusal(status) : Response{.status = status});
}

void Connection::RequestAnswered() {
  busy_ = false;
  served_ = true;
  read_since_ = shared_->now;
  if (processing_) return;  // its loop continues with the next request
  // Not from within the handler's call: it may have work left before it can handle another request.
  if (in_.size() > 0) {
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->Process(); });
  }
  ScheduleFlush();
}

// --- out ---
void Connection::Respond(Response response) {
  if (closed_) return;
  AppendHead(response, false);
  if (response.body && !head_only_ && HasBody(response.status)) {
    if (response.body->size() >= kSharedBytes) {
      out_.push_back({{}, std::move(response.body)});
    } else {
      Tail() += *response.body;
    }
  }
  RequestAnswered();
}

void Connection::StartStream(Response head, std::size_t queue_limit_bytes) {
  if (closed_) return;
  if (version_ < 11) keep_alive_ = false;  // without chunked encoding, closing marks the end
  AppendHead(head, true);
  stream_.emplace();
  stream_->limit_bytes = queue_limit_bytes;
  if (!processing_) ScheduleFlush();
}

void Connection::OnStreamGone(std::function<void()> callback) {
  if (stream_) stream_->gone = std::move(callback);
}

bool Connection::WriteStream(Piece piece) {
  if (!stream_ || closed_) return false;
  stream_->queued_bytes += piece.size();
  stream_->queue.push_back(std::move(piece));
  if (stream_->queued_bytes > stream_->limit_bytes) {
    Cut();
    return false;
  }
  ScheduleFlush();
  return true;
}

void Connection::CloseStream() {
  if (!stream_ || closed_) return;
  stream_->ended = true;
  stream_->gone = nullptr;
  ScheduleFlush();
}

void Connection::AppendHead(const Response& response, bool streamed) {
  std::string& out = Tail();
  AppendFormat(
      out, "HTTP/1.1 {} {}\r\n", response.status,
      std::string_view(beast::http::obsolete_reason(static_cast<beast::http::status>(response.status))));
  for (const auto& [name, value] : response.headers) {
    out.append(name).append(": ").append(value).append("\r\n");
  }
  if (HasBody(response.status)) {
    if (!response.content_type.empty()) {
      out.append("Content-Type: ").append(response.content_type).append("\r\n");
    }
    if (!streamed) {
      AppendFormat(out, "Content-Length: {}\r\n", response.body ? response.body->size() : 0);
    } else if (version_ >= 11) {
      out += "Transfer-Encoding: chunked\r\n";
    }
  }
  if (shared_->stopping) keep_alive_ = false;
  if (!keep_alive_) {
    out += "Connection: close\r\n";
  } else if (version_ < 11) {
    out += "Connection: keep-alive\r\n";
  }
  out.append(shared_->date).append("\r\n");
}

std::string& Connection::Tail() {
  if (out_.empty() || out_.back().shared) out_.emplace_back();
  return out_.back().own;
}

// Combines many small pieces into one chunk in one buffer.
void Connection::DrainStream() {
  std::size_t bytes = 0;
  std::size_t pieces = 0;
  while (pieces < stream_->queue.size() && bytes < kBatchBytes) bytes += stream_->queue[pieces++].size();
  const bool chunked = version_ >= 11;
  if (bytes > 0) {
    std::string& out = Tail();
    out.reserve(out.size() + bytes + 24);
    if (chunked) AppendFormat(out, "{:x}\r\n", bytes);
    for (std::size_t i = 0; i < pieces; ++i) {
      const Piece& piece = stream_->queue.front();
      out += piece.before;
      if (piece.text) out += *piece.text;
      out += piece.after;
      stream_->queue.pop_front();
    }
    if (chunked) out += "\r\n";
    stream_->queued_bytes -= bytes;
  }
  if (stream_->ended && stream_->queue.empty()) {
    if (chunked) Tail() += "0\r\n\r\n";
    stream_.reset();
    RequestAnswered();
  }
}

// Pieces written in one iteration of the io_context are sent in one system call.
void Connection::ScheduleFlush() {
  if (flush_scheduled_ || writing_ || closed_) return;
  flush_scheduled_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->flush_scheduled_ = false;
    self->Flush();
  });
}

void Connection::Flush() {
  if (writing_ || closed_) return;
  if (stream_) DrainStream();
  if (out_.empty()) {
    if (!busy_ && !keep_alive_) LingerBeforeClosing();
    return;
  }
  writing_ = true;
  write_since_ = shared_->now;
  sending_.swap(out_);
  std::vector<asio::const_buffer> buffers;
  buffers.reserve(sending_.size());
  for (const auto& text : sending_) buffers.push_back(asio::buffer(text.shared ? *text.shared : text.own));
  const auto on_progress = [this](const error_code& error, std::size_t) -> std::size_t {
    write_since_ = shared_->now;
    return error ? 0 : kBatchBytes;
  };
  auto written = [self = shared_from_this()](const error_code& error, std::size_t) {
    self->OnWritten(error);
  };
  if (tls_)
    asio::async_write(*tls_, buffers, on_progress, std::move(written));
  else
    asio::async_write(socket_, buffers, on_progress, std::move(written));
}

void Connection::OnWritten(const error_code& error) {
  writing_ = false;
  sending_.clear();
  if (closed_) return;
  if (error) return Cut();
  if (std::exchange(held_, false) && !busy_) Process();
  if (closed_) return;
  if (peer_done_ && !busy_ && !held_ && !writing_ && out_.empty()) return Cut();
  Flush();
  Read();
}

}  // namespace berth::http
