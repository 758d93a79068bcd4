#include "sandbox/apiserver/compress.hpp"

#include "http/gzip.hpp"

namespace berth::sandbox {
namespace {

constexpr std::size_t kSmallest = 128 << 10;

class CompressingExchange final : public http::Exchange {
 public:
  explicit CompressingExchange(std::shared_ptr<http::Exchange> exchange) : exchange_(std::move(exchange)) {}
  void Respond(http::Response response) override {
    if (response.body && response.body->size() > kSmallest && response.body->size() < (1u << 31)) {
      response.body = ShareText(http::Gzip(*response.body));
      response.headers.Add("Content-Encoding", "gzip");
      response.headers.Add("Vary", "Accept-Encoding");
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
