// Questions that the API server answers: TokenReview, SubjectAccessReview.
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
  Duration timeout = std::chrono::seconds(10);  // of each try
  Duration deadline{};                          // of all tries together; zero: none but that of each try
};

// Five tries as apiserver's webhooks make them: after half a second, and each pause half again as long, if
// the connection broke or the server is in trouble or asks for patience; any other failure is the answer.
// Lives on the loop; its destructor forgets what is under way: no `done` is called any more. Everything
// handed in outlives it.
class ReviewClient {
 public:
  ReviewClient(http::Loop& loop, client::Api& api, Random& random, metrics::Registry& registry,
               ReviewOptions options);
  ~ReviewClient();
  ReviewClient(const ReviewClient&) = delete;
  ReviewClient& operator=(const ReviewClient&) = delete;

  // `done` is not called from within.
  void Post(std::string body, std::move_only_function<void(client::Reply)> done);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::service
