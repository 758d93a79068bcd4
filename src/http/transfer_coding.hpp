// Transfer codings of HTTP/1.1 messages (RFC 9112 section 7).
#pragma once

#include <boost/beast/core/string.hpp>
#include <boost/beast/http/fields.hpp>

namespace berth::http {

// True if the message has no transfer coding, or "chunked" alone, the only one that is supported. With any
// other the end of the message is unknown: what follows would be taken for the next message.
inline bool HasSupportedTransferCoding(const boost::beast::http::fields& headers) {
  const auto [begin, end] = headers.equal_range(boost::beast::http::field::transfer_encoding);
  if (begin == end) return true;
  return std::next(begin) == end && boost::beast::iequals(begin->value(), "chunked");
}

}  // namespace berth::http
