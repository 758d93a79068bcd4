#include "http/dial.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>

namespace berth::http {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class DialTest : public testing::Test {
 protected:
  tcp::acceptor Listen(int backlog) {
    tcp::acceptor acceptor(io_);
    acceptor.open(tcp::v4());
    acceptor.bind({asio::ip::address_v4::loopback(), 0});
    acceptor.listen(backlog);
    return acceptor;
  }
  // An address that swallows packets: the kernel drops connections to a port whose queue is full.
  tcp::endpoint Silent() {
    const tcp::endpoint address = full_.local_endpoint();
    for (tcp::socket& waiting : waiting_) {
      waiting.open(tcp::v4());
      waiting.native_non_blocking(true);
      ::connect(waiting.native_handle(), address.data(), address.size());
    }
    return address;
  }
  error_code Connect(std::vector<tcp::endpoint> addresses, DialLimits limits) {
    std::optional<error_code> result;
    asio::co_spawn(io_, Dial(socket_, std::move(addresses), limits),
                   [&](const std::exception_ptr&, error_code failed) { result = failed; });
    io_.restart();
    io_.run();
    return result.value();
  }

  asio::io_context io_;
  tcp::acceptor full_ = Listen(0), open_ = Listen(10);
  std::vector<tcp::socket> waiting_ = [this] {
    std::vector<tcp::socket> sockets;
    for (int i = 0; i < 4; ++i) sockets.emplace_back(io_);
    return sockets;
  }();
  tcp::socket socket_{io_};
};

TEST_F(DialTest, AnAddressThatSwallowsPacketsLeavesTimeForTheNext) {
  const tcp::endpoint silent = Silent(), good = open_.local_endpoint();
  // The silent address gets a thousandth of the time.
  std::vector<tcp::endpoint> addresses(1000, good);
  addresses.front() = silent;
  EXPECT_EQ(Connect(addresses, {.total = 60s, .least = 10ms}), error_code());
  EXPECT_EQ(socket_.remote_endpoint(), good);
  EXPECT_EQ(Connect({silent, silent}, {.total = 20ms, .least = 1ms}), asio::error::timed_out);
}

TEST_F(DialTest, AnAddressThatRefusesIsFollowedByTheNextAtOnce) {
  const tcp::endpoint refusing = Listen(1).local_endpoint();
  EXPECT_EQ(Connect({refusing, open_.local_endpoint()}, {.total = 1h}), error_code());
  EXPECT_EQ(Connect({refusing}, {.total = 1h}), asio::error::connection_refused);
}

}  // namespace
}  // namespace berth::http
