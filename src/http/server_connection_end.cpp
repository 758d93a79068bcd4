// Closing of server connections.
#include <boost/asio/post.hpp>

#include "http/server_connection.hpp"

namespace berth::http {

namespace asio = boost::asio;
using boost::system::error_code;

// Closing while the peer still sends would reset the connection, and the peer might not read the last
// response.
void Connection::LingerBeforeClosing() {
  if (lingering_) return;
  if (peer_done_) return Cut();
  lingering_ = true;
  read_since_ = shared_->now;
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  in_.consume(in_.size());
  Read();
}

void Connection::Finish() {
  keep_alive_ = false;
  if (stream_) {
    CloseStream();
  } else if (!busy_ && !writing_ && out_.empty()) {
    Cut();
  }
}

void Connection::Cut() {
  if (closed_) return;
  closed_ = true;
  const auto self = shared_from_this();
  error_code ignored;
  socket_.close(ignored);
  if (stream_) {
    const auto gone = std::move(stream_->gone);
    stream_.reset();
    // Posted: the caller may be iterating over its streams.
    if (gone) asio::post(socket_.get_executor(), gone);
  }
  shared_->closed(*this);
}

void Connection::CheckTimeouts() {
  constexpr std::chrono::seconds kLinger{2};
  const auto& options = shared_->options;
  if (shaking_) {
    if (shared_->now - read_since_ > options.handshake_timeout) Cut();
  } else if (writing_) {
    if (shared_->now - write_since_ > options.write_timeout) Cut();
  } else if (lingering_) {
    if (shared_->now - read_since_ > kLinger) Cut();
  } else if (!busy_) {
    const auto limit = parser_ || !served_ ? options.request_timeout : options.idle_timeout;
    if (shared_->now - read_since_ > limit) Cut();
  }
}

}  // namespace berth::http
