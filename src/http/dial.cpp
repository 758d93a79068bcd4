#include "http/dial.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>

#include "http/await.hpp"

namespace berth::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// One address. Shared with the timer's handler, which may run after the attempt has ended.
struct Attempt {
  tcp::socket* socket;  // null: it has ended
  bool expired = false;
};

asio::awaitable<error_code> DialOne(tcp::socket& socket, const tcp::endpoint& address, Duration limit) {
  const auto attempt = std::make_shared<Attempt>(&socket);
  asio::steady_timer timer(socket.get_executor(), limit);
  timer.async_wait([attempt](error_code cancelled) {
    if (cancelled || attempt->socket == nullptr) return;
    attempt->expired = true;
    error_code ignored;
    attempt->socket->cancel(ignored);
  });
  const auto [failed] = co_await socket.async_connect(address, kAwait);
  attempt->socket = nullptr;
  timer.cancel();
  if (failed && attempt->expired) co_return asio::error::timed_out;
  co_return failed;
}

}  // namespace

asio::awaitable<error_code> Dial(tcp::socket& socket, std::vector<tcp::endpoint> addresses,
                                 DialLimits limits) {
  const auto end = std::chrono::steady_clock::now() + limits.total;
  error_code failed;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Duration left = end - std::chrono::steady_clock::now();
    if (i > 0 && left <= Duration::zero()) break;
    const Duration share = left / static_cast<std::int64_t>(addresses.size() - i);
    error_code ignored;
    socket.close(ignored);
    failed = co_await DialOne(socket, addresses[i], std::min(left, std::max(share, limits.least)));
    if (!failed) break;
    if (!socket.is_open()) co_return asio::error::operation_aborted;  // closed by the caller, maybe meanwhile
  }
  co_return failed;
}

}  // namespace berth::http
