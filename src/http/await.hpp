// How coroutines of this module wait for Asio.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace berth::http {

// The awaited operation returns its error code first, and throws nothing.
inline constexpr auto kAwait = boost::asio::as_tuple(boost::asio::use_awaitable);

}  // namespace berth::http
