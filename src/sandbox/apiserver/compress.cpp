#include "sandbox/apiserver/compress.hpp"

#include <zlib.h>

#include <optional>
#include <string>

namespace berth::sandbox {
namespace {

constexpr std::size_t kSmallest = 128 << 10;

std::optional<std::string> Gzip(const std::string& text) {
  constexpr int kFastest = 1;
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, kFastest, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return result == Z_STREAM_END ? std::optional(std::move(packed)) : std::nullopt;
}

class CompressingExchange final : public http::Exchange {
 public:
  explicit CompressingExchange(std::shared_ptr<http::Exchange> exchange) : exchange_(std::move(exchange)) {}
  void Respond(http::Response response) override {
    if (response.body && response.body->size() > kSmallest && response.body->size() < (1u << 31)) {
      if (auto packed = Gzip(*response.body)) {
        response.body = http::Share(std::move(*packed));
        response.headers.Add("Content-Encoding", "gzip");
        response.headers.Add("Vary", "Accept-Encoding");
      }
    }
    exchange_->Respond(std::move(response));
  }
  std::shared_ptr<http::Stream> StartStream(http::Response head, std::size_t queue_limit_bytes) override {
    return exchange_->StartStream(std::move(head), queue_limit_bytes);
  }

 private:
  std::shared_ptr<http::Exchange> exchange_;
};

}  // namespace

std::shared_ptr<http::Exchange> CompressAnswers(std::shared_ptr<http::Exchange> exchange) {
  return std::make_shared<CompressingExchange>(std::move(exchange));
}

}  // namespace berth::sandbox
