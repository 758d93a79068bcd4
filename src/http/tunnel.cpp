#include "http/tunnel.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "http/await.hpp"

namespace berth::http {

namespace asio = boost::asio;
namespace bhttp = boost::beast::http;
using boost::system::error_code;
using Socket = asio::ip::tcp::socket;

namespace {

constexpr std::size_t kNameMax = 255;

Expected<> Broken(const Proxy& proxy, std::string_view what) {
  return Fail(ErrorCode::kUnavailable, fmt::format("proxy {}: {}", proxy.HostPort(), what));
}

// Sends `out` and reads exactly `in`; returns no error on success.
asio::awaitable<error_code> RoundTrip(Socket& socket, const std::string& out, asio::mutable_buffer in) {
  const auto [write_ec, written] = co_await asio::async_write(socket, asio::buffer(out), kAwait);
  if (write_ec) co_return write_ec;
  const auto [read_ec, got] = co_await asio::async_read(socket, in, kAwait);
  co_return read_ec;
}

std::string_view SocksError(unsigned char code) {
  static constexpr std::array<std::string_view, 9> kTexts = {"succeeded",
                                                             "general SOCKS server failure",
                                                             "connection not allowed by ruleset",
                                                             "network unreachable",
                                                             "host unreachable",
                                                             "connection refused",
                                                             "TTL expired",
                                                             "command not supported",
                                                             "address type not supported"};
  return code < kTexts.size() ? kTexts[code] : "unknown code";
}

}  // namespace

asio::awaitable<Expected<>> HttpTunnel(Socket& socket, const Proxy& proxy, const Origin& origin) {
  bhttp::request<bhttp::empty_body> request(bhttp::verb::connect, origin.HostPort(), 11);
  request.set(bhttp::field::host, origin.HostPort());
  if (const auto who = proxy.Authorization(); !who.empty())
    request.set(bhttp::field::proxy_authorization, who);
  const auto [write_ec, written] = co_await bhttp::async_write(socket, request, kAwait);
  if (write_ec) co_return Broken(proxy, write_ec.message());
  // The origin does not send first (TLS clients do), so the buffer cannot contain data of the origin.
  boost::beast::flat_buffer buffer;
  bhttp::response_parser<bhttp::empty_body> parser;
  parser.skip(true);
  const auto [read_ec, got] = co_await bhttp::async_read_header(socket, buffer, parser, kAwait);
  if (read_ec) co_return Broken(proxy, read_ec.message());
  const auto& answer = parser.get();
  if (answer.result_int() / 100 != 2) {
    co_return Broken(proxy, fmt::format("{} {}", answer.result_int(), std::string_view(answer.reason())));
  }
  co_return Expected<>{};
}

asio::awaitable<Expected<>> SocksTunnel(Socket& socket, const Proxy& proxy, const Origin& origin) {
  const bool with_password = !proxy.username.empty();
  std::array<unsigned char, 2> answer{};
  const std::string greeting =
      with_password ? std::string("\x05\x02\x00\x02", 4) : std::string("\x05\x01\x00", 3);
  if (const auto ec = co_await RoundTrip(socket, greeting, asio::buffer(answer)); ec) {
    co_return Broken(proxy, ec.message());
  }
  if (answer[0] != 5) co_return Broken(proxy, "no SOCKS5 server");
  if (answer[1] == 2 && with_password) {
    if (proxy.username.size() > kNameMax || proxy.password.size() > kNameMax) {
      co_return Broken(proxy, "user or password longer than 255 bytes");
    }
    const std::string login = std::string("\x01") + static_cast<char>(proxy.username.size()) +
                              proxy.username + static_cast<char>(proxy.password.size()) + proxy.password;
    if (const auto ec = co_await RoundTrip(socket, login, asio::buffer(answer)); ec)
      co_return Broken(proxy, ec.message());
    if (answer[1] != 0) co_return Broken(proxy, "username/password authentication failed");
  } else if (answer[1] != 0) {
    co_return Broken(proxy, "no acceptable authentication methods");
  }
  if (origin.host.size() > kNameMax) co_return Broken(proxy, "host name longer than 255 bytes");
  error_code is_name;
  const auto address = asio::ip::make_address(origin.host, is_name);
  std::string request("\x05\x01\x00", 3);
  if (is_name) {
    request += '\x03';
    request += static_cast<char>(origin.host.size());
    request += origin.host;
  } else if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    request += '\x01';
    request.append(bytes.begin(), bytes.end());
  } else {
    const auto bytes = address.to_v6().to_bytes();
    request += '\x04';
    request.append(bytes.begin(), bytes.end());
  }
  request += static_cast<char>(origin.port >> 8);
  request += static_cast<char>(origin.port & 0xff);
  std::array<unsigned char, 4> reply{};
  if (const auto ec = co_await RoundTrip(socket, request, asio::buffer(reply)); ec)
    co_return Broken(proxy, ec.message());
  if (reply[1] != 0) co_return Broken(proxy, SocksError(reply[1]));
  // The address that follows is not used, but must be read.
  std::array<unsigned char, kNameMax + 3> bound{};
  std::size_t length = reply[3] == 4 ? 16 : 4;
  if (reply[3] == 3) {
    const auto [ec, got] = co_await asio::async_read(socket, asio::buffer(bound, 1), kAwait);
    if (ec) co_return Broken(proxy, ec.message());
    length = bound[0];
  }
  const auto [ec, got] = co_await asio::async_read(socket, asio::buffer(bound, length + 2), kAwait);
  if (ec) co_return Broken(proxy, ec.message());
  co_return Expected<>{};
}

}  // namespace berth::http
