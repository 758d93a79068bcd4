#include "tools/rebalance/api_evictor.hpp"

#include <fmt/format.h>

#include "base/json_text.hpp"
#include "http/loop.hpp"
#include "kubernetes/client/api.hpp"

namespace berth::rebalance {
namespace {

constexpr std::chrono::seconds kTimeout{15};

std::string Body(const api::Pod& pod) {
  std::string metadata, preconditions, options, body;
  JsonObject(metadata).Add("name", pod.metadata.name).Add("namespace", pod.metadata.ns.str());
  JsonObject(preconditions).Add("uid", pod.metadata.uid);
  JsonObject(options).AddRaw("preconditions", preconditions);
  JsonObject(body)
      .Add("apiVersion", "policy/v1")
      .Add("kind", "Eviction")
      .AddRaw("metadata", metadata)
      .AddRaw("deleteOptions", options);
  return body;
}

EvictionOutcome OutcomeOf(const client::Reply& reply) {
  if (reply) return {EvictionResult::kEvicted, ""};
  const client::RequestError& error = reply.error();
  if (error.http_code == 429) return {EvictionResult::kRefused, error.message};
  if (error.code == ErrorCode::kNotFound || error.code == ErrorCode::kConflict)
    return {EvictionResult::kGone, error.message};
  return {error.ambiguous() ? EvictionResult::kUnknown : EvictionResult::kFailed, error.message};
}

}  // namespace

void ApiEvictor::Evict(const api::PodPtr& pod, std::move_only_function<void(EvictionOutcome)> done) {
  client::ApiRequest request;
  request.method = "POST";
  request.path =
      fmt::format("/api/v1/namespaces/{}/pods/{}/eviction", pod->metadata.ns.str(), pod->metadata.name);
  request.body = Body(*pod);
  request.timeout = kTimeout;
  // The other moves of the round must not wait until a disruption budget permits this one.
  request.single_attempt = true;
  request.refused = client::RefusedUnlessOpen(fence_);
  loop_.Post([this, request = std::move(request), done = std::move(done)]() mutable {
    api_.Send(std::move(request),
              [done = std::move(done)](client::Reply reply) mutable { done(OutcomeOf(reply)); });
  });
}

}  // namespace berth::rebalance
