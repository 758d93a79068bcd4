#include "service/gzip.hpp"

#include <zlib.h>

#include <charconv>

namespace berth::service {

std::string Gzip(std::string_view text) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

bool PrefersGzip(std::string_view accept_encoding) {
  double gzip = 0, identity = 0;
  while (!accept_encoding.empty()) {
    std::string_view item = accept_encoding.substr(0, accept_encoding.find(','));
    accept_encoding.remove_prefix(std::min(item.size() + 1, accept_encoding.size()));
    while (item.starts_with(' ')) item.remove_prefix(1);
    const std::string_view name = item.substr(0, item.find_first_of("; "));
    double quality = 1;
    if (const auto q = item.find("q="); q != item.npos) {
      std::from_chars(item.data() + q + 2, item.data() + item.size(), quality);
    }
    if (name == "gzip") gzip = std::max(gzip, quality);
    if (name == "identity" || name == "*") identity = std::max(identity, quality);
  }
  return gzip > 0 && gzip >= identity;
}

}  // namespace berth::service
