// Review requests to the API server: TokenReview, SubjectAccessReview.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kubernetes/client/api.hpp"
#include "service/auth/auth_metrics.hpp"

namespace berth {
class Random;
}
namespace berth::http {
class Loop;
}

namespace berth::service {

struct ReviewOptions {
  std::string path;                             // "/apis/authentication.k8s.io/v1/tokenreviews"
  std::string kind;                             // "authn", "authz": part of the metrics' names
  Duration timeout = std::chrono::seconds(10);  // of each attempt
  Duration deadline{};                          // of all attempts together; zero: only `timeout`
};

// Makes up to five attempts as apiserver's webhooks: the first delay is 0.5 s, each further one 1.5 times as
// long, if the connection broke, the server failed temporarily or requested a delay; any other failure is
// final. Lives on the loop; its destructor cancels pending requests without calling `done`. Arguments must
// outlive it.
class ReviewClient {
 public:
  ReviewClient(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
               ReviewOptions options);
  ~ReviewClient();
  ReviewClient(const ReviewClient&) = delete;
  ReviewClient& operator=(const ReviewClient&) = delete;

  // `done` is not called before Post returns.
  void Post(std::string body, std::move_only_function<void(client::Reply)> done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::service
