// Tunnels through a proxy; private to this module.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.hpp"
#include "http/origin.hpp"
#include "http/proxy.hpp"

namespace berth::http {

// HTTP CONNECT on a socket that is connected to the proxy: after success the other end is the origin. An
// error contains the proxy's message.
boost::asio::awaitable<Expected<>> HttpTunnel(boost::asio::ip::tcp::socket& socket, const Proxy& proxy,
                                              const Origin& origin);
// SOCKS 5 (RFC 1928), with user and password (RFC 1929) if the proxy has them.
boost::asio::awaitable<Expected<>> SocksTunnel(boost::asio::ip::tcp::socket& socket, const Proxy& proxy,
                                               const Origin& origin);

}  // namespace berth::http
