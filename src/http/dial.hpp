// Opens a TCP connection to one of several addresses. Internal to the client; io thread only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <vector>

#include "base/clock.hpp"

namespace berth::http {

struct DialLimits {
  Duration total;
  // Of one address, unless less is left.
  Duration least = std::chrono::seconds(2);
};

// Tries the addresses in order. Each may take an equal share of the time that is left, so that one which
// swallows packets leaves time for those behind it (as Go's net.Dialer; without its race of IPv4 and IPv6).
// The error of the last address; timed_out if its share has passed. Closing the socket ends the call.
// `addresses` is not empty.
boost::asio::awaitable<boost::system::error_code> Dial(boost::asio::ip::tcp::socket& socket,
                                                       std::vector<boost::asio::ip::tcp::endpoint> addresses,
                                                       DialLimits limits);

}  // namespace berth::http
