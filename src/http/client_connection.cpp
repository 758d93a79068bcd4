#include "http/client_connection.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>

#include <array>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>

#include "http/await.hpp"
#include "http/dial.hpp"
#include "http/length_splitter.hpp"
#include "http/line_splitter.hpp"
#include "http/origin.hpp"
#include "http/transfer_coding.hpp"
#include "http/tunnel.hpp"

namespace berth::http {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr std::uint32_t kHeaderLimitBytes = 64U << 10;
constexpr std::size_t kChunkBytes = 64U << 10;
constexpr std::uint64_t kSmallBytes = 4U << 10;

// The request head. Written directly because Beast's messages cost more than the rest of a small request.
std::string RequestHead(const Origin& origin, const std::optional<Proxy>& proxy, const ClientRequest& request,
                        std::size_t body_bytes) {
  std::string head;
  head.reserve(512);
  const auto line = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  const bool uses_proxy_request = proxy && proxy->kind == Proxy::Kind::kHttp && !origin.tls;
  head.append(request.method).append(" ");
  if (uses_proxy_request) head.append("http://").append(origin.Authority());
  head.append(origin.prefix).append(request.target).append(" HTTP/1.1\r\n");
  if (uses_proxy_request) {
    if (const auto who = proxy->Authorization(); !who.empty()) line("Proxy-Authorization", who);
  }
  line("Host", origin.Authority());
  for (const auto& [name, value] : request.headers) line(name, value);
  if (body_bytes > 0 || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    line("Content-Length", std::to_string(body_bytes));
  }
  return head.append("\r\n");
}

template <class Fields>
ClientResponse Head(const bhttp::response_header<Fields>& header) {
  ClientResponse response;
  response.status = static_cast<int>(header.result_int());
  for (const auto& field : header) response.headers.emplace_back(field.name_string(), field.value());
  return response;
}

// Detects a peer that disappeared without closing after about a minute, also on a watch that is silent for
// long.
void KeepAlive(asio::ip::tcp::socket& socket) {
  error_code ignored;
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
}

}  // namespace

// The steps of one exchange, in order. Stream is the plain socket or the TLS stream on top of it.
struct ClientConnection::Steps {
  ClientConnection& c;
  Outgoing& out;
  bool received = false;  // a byte of the response has arrived

  asio::awaitable<Carried> Run() {
    if (!c.connected_) {
      if (auto connected = co_await Connect(); !connected) {
        co_return Carried{std::unexpected(std::move(connected).error()), false, false};
      }
    }
    const bool reused = std::exchange(c.used_, true);
    Carried carried{ClientResponse{}, false, false};
    if (c.secure_) {
      carried = co_await Exchange(*c.secure_);
    } else {
      carried = co_await Exchange(c.socket_);
    }
    carried.stale = !carried.response && !carried.reusable && reused && !received && !c.aborted_;
    co_return carried;
  }

  asio::awaitable<Expected<>> Connect() {
    const std::string where = c.proxy_ ? c.proxy_->HostPort() : c.origin_.HostPort();
    const std::string& host = c.proxy_ ? c.proxy_->host : c.origin_.host;
    const std::uint16_t port = c.proxy_ ? c.proxy_->port : c.origin_.port;
    Expected<std::vector<Tcp::endpoint>> addresses = co_await Resolve(host, port);
    if (!addresses) co_return std::unexpected(std::move(addresses).error());
    const error_code connect_ec =
        co_await Dial(c.socket_, *std::move(addresses), {.total = out.connect_by - c.now_()});
    if (connect_ec || c.aborted_) co_return Unreached(fmt::format("dial tcp {}: connect", where), connect_ec);
    KeepAlive(c.socket_);
    if (c.proxy_ && (c.tls_ || c.proxy_->kind == Proxy::Kind::kSocks5)) {
      // Not a conditional expression: g++ 12 destroys the temporaries of a conditional co_await twice.
      Expected<> tunnel;
      if (c.proxy_->kind == Proxy::Kind::kHttp) {
        tunnel = co_await HttpTunnel(c.socket_, *c.proxy_, c.origin_);
      } else {
        tunnel = co_await SocksTunnel(c.socket_, *c.proxy_, c.origin_);
      }
      if (!tunnel || c.aborted_) {
        co_return Fail(ErrorCode::kUnavailable, c.aborted_ ? c.aborted_->message : tunnel.error().message);
      }
    }
    if (c.tls_) {
      if (auto secured = co_await Handshake(); !secured) co_return secured;
    }
    c.connected_ = true;
    co_return Expected<>{};
  }

  // An address needs no lookup: Asio has one thread for all lookups, which the lookup of
  // another client's name may occupy for long.
  asio::awaitable<Expected<std::vector<Tcp::endpoint>>> Resolve(const std::string& host, std::uint16_t port) {
    std::vector<Tcp::endpoint> addresses;
    error_code is_name;
    const auto address = asio::ip::make_address(host, is_name);
    if (!is_name) {
      addresses.emplace_back(address, port);
      co_return addresses;
    }
    const auto [ec, found] = co_await c.resolver_.async_resolve(host, std::to_string(port), kAwait);
    if (ec || c.aborted_) co_return std::unexpected(Unreached(fmt::format("lookup {}", host), ec).error());
    for (const auto& entry : found) addresses.push_back(entry.endpoint());
    co_return addresses;
  }

  asio::awaitable<Expected<>> Handshake() {
    const std::string& name = c.server_name_.empty() ? c.origin_.host : c.server_name_;
    c.secure_.emplace(c.socket_, *c.tls_);
    if (!IsIpAddress(name)) SSL_set_tlsext_host_name(c.secure_->native_handle(), name.c_str());
    c.secure_->set_verify_callback(asio::ssl::host_name_verification(name));
    const auto [ec] = co_await c.secure_->async_handshake(asio::ssl::stream_base::client, kAwait);
    if (ec || c.aborted_) {
      const long verified = SSL_get_verify_result(c.secure_->native_handle());
      const std::string reason =
          verified == X509_V_OK ? "" : std::string(": ") + X509_verify_cert_error_string(verified);
      co_return Unreached(fmt::format("tls handshake with {}{}", c.origin_.HostPort(), reason), ec);
    }
    co_return Expected<>{};
  }

  template <class Stream>
  asio::awaitable<Carried> Exchange(Stream& stream) {
    const std::string& body = out.request.shared_body ? *out.request.shared_body : out.request.body;
    const std::string head_text = RequestHead(c.origin_, c.proxy_, out.request, body.size());
    if (out.request.refused) {
      if (auto why = out.request.refused()) {
        co_return Carried{Fail(ErrorCode::kCancelled, *std::move(why)), true, false};
      }
    }
    const std::array<asio::const_buffer, 2> message = {asio::buffer(head_text), asio::buffer(body)};
    const auto [write_ec, written] = co_await asio::async_write(stream, message, kAwait);
    // A peer that rejects a body responds before it has read it all; a failed write is reported only if the
    // read fails.
    std::optional<bhttp::response_parser<bhttp::empty_body>> head;
    do {  // 1xx responses such as 100 Continue precede the real head
      head.emplace();
      head->header_limit(kHeaderLimitBytes);
      head->body_limit(boost::none);
      if (out.request.method == "HEAD") head->skip(true);
      const error_code ec = co_await Read(stream, *head, [&] { return head->is_header_done(); });
      if (ec) co_return Broken("reading the answer", write_ec ? write_ec : ec);
    } while (head->get().result_int() < 200);
    if (!HasSupportedTransferCoding(head->get())) {
      co_return Carried{Fail(ErrorCode::kInvalid, "the response has an unsupported transfer coding"), false,
                        false};
    }
    ClientResponse response = Head(head->get());
    if (out.stream && response.status / 100 == 2) {
      if (IsFramed(response)) co_return co_await Pieces<LengthSplitter>(stream, *head, std::move(response));
      co_return co_await Pieces<LineSplitter>(stream, *head, std::move(response));
    }
    co_return co_await Collect(stream, *head, std::move(response));
  }

  // Like bhttp::async_read, but without its nested operations: with small responses these took a third of the
  // thread's time.
  template <class Stream, class Parser, class Done>
  asio::awaitable<error_code> Read(Stream& stream, Parser& parser, Done done) {
    error_code ec;
    while (!done()) {
      if (c.buffer_.size() > 0) {
        received = true;
        c.buffer_.consume(parser.put(c.buffer_.data(), ec));
        if (ec && ec != bhttp::error::need_more) co_return ec;
        if (!std::exchange(ec, {})) continue;
      }
      const std::size_t room = c.buffer_.capacity() - c.buffer_.size();
      const auto [read_ec, bytes] = co_await stream.async_read_some(
          c.buffer_.prepare(std::clamp<std::size_t>(room, kSmallBytes, kChunkBytes)), kAwait);
      c.buffer_.commit(bytes);
      if (bytes > 0) received = true;
      if (read_ec == asio::error::eof) {
        if (!parser.got_some()) co_return bhttp::error::end_of_stream;
        parser.put_eof(ec);
        co_return ec;
      }
      if (read_ec) co_return read_ec;
    }
    co_return error_code{};
  }

  template <class Stream>
  asio::awaitable<Carried> Collect(Stream& stream, bhttp::response_parser<bhttp::empty_body>& head,
                                   ClientResponse response) {
    // Beast compares Content-Length with the limit only while it parses the head, so this check is needed
    // here.
    if (head.content_length().value_or(0) > out.request.body_limit_bytes) {
      co_return Broken("reading the body", bhttp::error::body_limit);
    }
    bhttp::response_parser<bhttp::string_body> parser(std::move(head));
    parser.body_limit(out.request.body_limit_bytes);
    if (!parser.is_done()) {
      // Beast reads as much as the buffer can hold, which is little at first.
      if (parser.content_length().value_or(kChunkBytes) > kSmallBytes) c.buffer_.reserve(kChunkBytes);
      if (out.request.keep_cut_body) {
        out.head = response;
        out.body_so_far = &parser.get().body();
      }
      parser.eager(true);
      const error_code ec = co_await Read(stream, parser, [&] { return parser.is_done(); });
      const bool wanted = std::exchange(out.body_so_far, nullptr) != nullptr;
      if (ec) {
        Carried broken = Broken("reading the body", ec);
        if (!wanted || c.aborted_) co_return broken;
        response.body = std::move(parser.get().body());
        response.cut_short = std::move(broken.response).error();
        co_return Carried{std::move(response), false, false};
      }
    }
    response.body = std::move(parser.get().body());
    co_return Carried{std::move(response), parser.keep_alive(), false};
  }

  bool IsFramed(const ClientResponse& response) const {
    const std::string& framed = out.stream->framed_type;
    const std::string* type = response.Find("Content-Type");
    return !framed.empty() && type != nullptr && type->starts_with(framed) &&
           (type->size() == framed.size() || (*type)[framed.size()] == ';');
  }

  template <class Splitter, class Stream>
  asio::awaitable<Carried> Pieces(Stream& stream, bhttp::response_parser<bhttp::empty_body>& head,
                                  ClientResponse response) {
    bhttp::response_parser<bhttp::buffer_body> parser(std::move(head));
    parser.body_limit(boost::none);
    Splitter pieces(out.stream->max_line_bytes);
    out.last_byte = c.now_();
    // The call may have been cancelled after the head was read.
    if (!out.ended && out.stream->on_open) out.stream->on_open();
    // Beast reads as much as the buffer can hold: 512 bytes by default.
    c.buffer_.reserve(kChunkBytes);
    const auto chunk = std::make_unique_for_overwrite<char[]>(kChunkBytes);
    while (!parser.is_done() && !out.ended) {
      parser.get().body().data = chunk.get();
      parser.get().body().size = kChunkBytes;
      parser.get().body().more = true;
      const auto [ec, bytes] = co_await bhttp::async_read_some(stream, c.buffer_, parser, kAwait);
      const std::string_view text(chunk.get(), kChunkBytes - parser.get().body().size);
      bool wanted = true;
      if (!text.empty()) out.last_byte = c.now_();
      const bool fits = pieces.Feed(text, [&](std::string_view piece) { return wanted = Take(piece); });
      if (!wanted) co_return Carried{Fail(ErrorCode::kCancelled, "stopped by the reader"), false, false};
      if (!fits) {
        co_return Carried{Invalid(fmt::format("a {} of the stream is longer than allowed", Splitter::kPiece)),
                          false, false};
      }
      if (ec && ec != bhttp::error::need_buffer) co_return Broken("reading the stream", ec);
    }
    if (!pieces.End([this](std::string_view piece) { return Take(piece); })) {
      co_return Carried{Fail(ErrorCode::kAmbiguous, "the stream ended within a frame"), false, false};
    }
    co_return Carried{std::move(response), parser.keep_alive(), false};
  }

  bool Take(std::string_view piece) { return !out.ended && out.stream->on_line(piece); }

  Expected<> Unreached(std::string what, error_code ec) const {
    if (c.aborted_) return Fail(ErrorCode::kUnavailable, c.aborted_->message);
    return Fail(ErrorCode::kUnavailable, fmt::format("{}: {}", what, ec.message()));
  }

  Carried Broken(std::string_view what, error_code ec) const {
    if (c.aborted_) return {std::unexpected(*c.aborted_), false, false};
    const bool rubbish = ec.category() == bhttp::make_error_code(bhttp::error::bad_version).category() &&
                         ec != bhttp::error::end_of_stream && ec != bhttp::error::partial_message;
    const auto code = rubbish ? ErrorCode::kInvalid : ErrorCode::kAmbiguous;
    const std::string why = ec == bhttp::error::body_limit ? fmt::format("larger than the limit of {} bytes",
                                                                         out.request.body_limit_bytes)
                                                           : ec.message();
    return {Fail(code, fmt::format("{} from {}: {}", what, c.origin_.HostPort(), why)), false, false};
  }
};

ClientConnection::ClientConnection(asio::io_context& io, const Origin& origin,
                                   const std::optional<Proxy>& proxy, std::shared_ptr<asio::ssl::context> tls,
                                   std::string server_name, std::function<MonoTime()> now)
    : socket_(io),
      resolver_(io),
      tls_(std::move(tls)),
      origin_(origin),
      proxy_(proxy),
      server_name_(std::move(server_name)),
      now_(std::move(now)) {}

void ClientConnection::Carry(std::shared_ptr<Outgoing> outgoing, Done done) {
  auto exchange = [](std::shared_ptr<ClientConnection> self, std::shared_ptr<Outgoing> out,
                     Done done) -> asio::awaitable<void> {
    Steps steps{*self, *out};
    Carried carried = co_await steps.Run();
    if (!carried.reusable) {
      self->connected_ = false;
      error_code ignored;
      self->socket_.close(ignored);
    }
    // On the io thread the coroutine begins within Carry, and a request that must not be sent ends there.
    if (self->starting_) co_await asio::post(self->socket_.get_executor(), asio::use_awaitable);
    done(std::move(carried));
  };
  starting_ = true;
  asio::co_spawn(socket_.get_executor(), exchange(shared_from_this(), std::move(outgoing), std::move(done)),
                 asio::detached);
  starting_ = false;
}

void ClientConnection::Abort(Error why) {
  if (aborted_) return;
  aborted_ = std::move(why);
  connected_ = false;
  resolver_.cancel();
  error_code ignored;
  socket_.close(ignored);
}

bool ClientConnection::Usable() const {
  if (!connected_ || aborted_ || buffer_.size() > 0) return false;
  char byte = 0;
  const auto got =
      ::recv(const_cast<Tcp::socket&>(socket_).native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace berth::http
