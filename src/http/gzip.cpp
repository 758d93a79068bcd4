#include "http/gzip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <new>

namespace berth::http {

namespace {

constexpr int kGzipWindow = 15 + 16;

Bytef* Input(std::string_view text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text.data())); }

}  // namespace

std::string Gzip(std::string_view text) {
  z_stream stream{};
  // Can fail only for lack of memory, and deflate cannot, since the output has room for the worst case.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = Input(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Expected<std::string> Gunzip(std::string_view gzip, std::size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK)
    return Fail(ErrorCode::kInternal, "zlib initialization failed");
  std::string out;
  stream.next_in = Input(gzip);
  stream.avail_in = static_cast<uInt>(gzip.size());
  int state = Z_OK;
  while (state == Z_OK && out.size() <= limit) {
    const std::size_t before = out.size();
    out.resize(before + std::max<std::size_t>(64U << 10, before));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = static_cast<uInt>(out.size() - before);
    state = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
    if (state == Z_OK && stream.avail_in == 0 && stream.avail_out != 0) state = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  if (out.size() > limit)
    return Fail(ErrorCode::kInvalid, fmt::format("the response is larger than {} bytes", limit));
  if (state != Z_STREAM_END)
    return Fail(ErrorCode::kUnavailable, "the response's gzip data are invalid or truncated");
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

}  // namespace berth::http
