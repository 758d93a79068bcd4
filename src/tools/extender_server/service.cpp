#include "tools/extender_server/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "http/loop.hpp"
#include "http/server.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "service/endpoints.hpp"
#include "service/gate.hpp"
#include "service/negotiation.hpp"
#include "service/target.hpp"
#include "tools/extender_server/replies.hpp"
#include "tools/extender_server/requests.hpp"

namespace berth::extender_server {
namespace {

constexpr std::string_view kVerbs[] = {"filter", "prioritize", "preempt", "bind"};
constexpr double kSeconds[] = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                               0.05,   0.1,    0.2,    0.5,   1,     2,     5,    10};

struct Outcome {
  int status = 200;
  std::string text;          // JSON with status 200, else an error text
  std::string body_error{};  // the error in a response with status 200
  std::size_t nodes = 0;     // number of evaluated nodes
};

Outcome Refused(int status, std::string text) { return {status, std::move(text)}; }

std::string_view ResultName(const Outcome& outcome) {
  if (outcome.status == 200) return outcome.body_error.empty() ? "success" : "error";
  if (outcome.status == 400 || outcome.status == 405) return "bad_request";
  if (outcome.status == 401) return "unauthorized";
  if (outcome.status == 429) return "too_many";
  if (outcome.status == 503) return "not_ready";
  return "error";
}

http::Response ResponseOf(Outcome outcome) {
  http::Response response;
  response.status = outcome.status;
  if (outcome.status == 200) {
    response.content_type = "application/json";
  } else {
    outcome.text += '\n';
    if (outcome.status == 429 || outcome.status == 503) response.headers.Add("Retry-After", "1");
    if (outcome.status == 405) response.headers.Add("Allow", "POST");
  }
  response.body = ShareText(std::move(outcome.text));
  return response;
}

// Shared with requests, because they may outlive the service.
struct ServiceMetrics {
  ServiceMetrics(metrics::Registry& registry) : registry(registry) {
    registry.CallbackGauge("berth_extender_server_in_flight", "[ALPHA] Requests in progress.", {},
                           [this] { return static_cast<double>(in_flight.load()); });
  }
  ~ServiceMetrics() { registry.RemoveCallback("berth_extender_server_in_flight", {}); }

  void Record(std::string_view verb, const Outcome& outcome, Duration duration) {
    registry
        .Counter("berth_extender_server_requests_total", "[ALPHA] Requests of schedulers by verb and result.",
                 {{"verb", std::string(verb)}, {"result", std::string(ResultName(outcome))}})
        .Add();
    registry
        .Histogram("berth_extender_server_duration_seconds",
                   "[ALPHA] Time from a complete request to its response, including the queue.", kSeconds,
                   {{"verb", std::string(verb)}})
        .Observe(std::chrono::duration<double>(duration).count());
    if (outcome.nodes > 0) {
      registry
          .Counter("berth_extender_server_nodes_total", "[ALPHA] Nodes evaluated.",
                   {{"verb", std::string(verb)}})
          .Add(outcome.nodes);
    }
  }

  metrics::Registry& registry;
  std::atomic<std::int64_t> in_flight{0};
};

}  // namespace

struct Service::Impl : std::enable_shared_from_this<Service::Impl> {
  Impl(ServiceOptions options, ServiceParts parts)
      : options(std::move(options)), parts(std::move(parts)), metrics(this->parts.metrics) {}

  // One request in progress.
  struct Call {
    Impl& service;
    std::string_view verb;
    MonoTime began;
    std::string peer;
    std::shared_ptr<http::Exchange> exchange;
    bool counted = false;

    void Answer(Outcome outcome) {
      if (counted) service.metrics.in_flight.fetch_sub(1);
      const Duration duration = service.parts.clock.Now() - began;
      service.metrics.Record(verb, outcome, duration);
      if (const auto log = log::V(2)) {
        log.Info("Answered", {{"verb", verb},
                              {"status", outcome.status},
                              {"nodes", outcome.nodes},
                              {"seconds", std::chrono::duration<double>(duration).count()},
                              {"peer", peer},
                              {"err", outcome.status == 200 ? outcome.body_error : outcome.text}});
      }
      exchange->Respond(ResponseOf(std::move(outcome)));
    }
  };
  using CallPtr = std::shared_ptr<Call>;

  void Handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  std::optional<Outcome> CheckRequest(const http::Request& request, std::string_view verb) const;
  Expected<void> Read(http::Request request, const CallPtr& call);
  template <class DecodedRequest>
  void Submit(const CallPtr& call, DecodedRequest request, Outcome (Impl::*evaluator)(const DecodedRequest&));
  Outcome Filter(const NodesRequest& request);
  Outcome Prioritize(const NodesRequest& request);
  Outcome Preempt(const PreemptRequest& request);
  void Bind(const CallPtr& call, const BindRequest& request);

  const ServiceOptions options;
  const ServiceParts parts;
  ServiceMetrics metrics;
  api::Decoder decoder{parts.retained};
};

Service::Service(ServiceOptions options, ServiceParts parts)
    : impl_(std::make_shared<Impl>(std::move(options), std::move(parts))) {}
Service::~Service() = default;

void Service::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  impl_->Handle(std::move(request), std::move(exchange));
}

void Service::Impl::Handle(http::Request request, std::shared_ptr<http::Exchange> exchange) {
  auto shared = service::FromAnyThread(parts.io, std::move(exchange));
  const auto target = service::ParseTarget(request.target);
  if (!target) return shared->Respond(service::BadRequest());
  const std::string_view path = target->path;
  std::string_view verb;
  for (const std::string_view known : kVerbs) {
    if (path.size() == options.prefix.size() + 1 + known.size() && path.starts_with(options.prefix) &&
        path.ends_with(known) && path[options.prefix.size()] == '/' && (options.bind || known != "bind"))
      verb = known;
  }
  if (verb.empty()) {
    if (!parts.endpoints.IsHealth(path) && !service::Endpoints::IsMetrics(path)) {
      return shared->Respond(ResponseOf(
          Refused(404, fmt::format("{}: expected {}/filter, /prioritize, /preempt{}, or /healthz, /readyz, "
                                   "/metrics",
                                   path, options.prefix, options.bind ? ", /bind" : ""))));
    }
    if (request.method != "GET" && request.method != "HEAD")
      return shared->Respond(service::PlainError(405, "Method Not Allowed"));
    return parts.endpoints.Answer(
        request, *target, [shared](http::Response response) { shared->Respond(std::move(response)); });
  }
  const auto call = std::make_shared<Call>(
      Call{*this, verb, parts.clock.Now(), request.peer ? request.peer->common_name : "", shared});
  if (auto refused = CheckRequest(request, verb)) return call->Answer(*std::move(refused));
  call->counted = true;
  metrics.in_flight.fetch_add(1);
  if (const auto read = Read(std::move(request), call); !read)
    call->Answer(Refused(400, fmt::format("{}: {}", verb, read.error().message)));
}

std::optional<Outcome> Service::Impl::CheckRequest(const http::Request& request,
                                                   std::string_view verb) const {
  if (options.require_certificate && (request.peer == nullptr || !request.peer->trusted))
    return Refused(401, "expected a client certificate signed by --client-ca-file");
  if (request.method != "POST")
    return Refused(405, fmt::format("{}: expected POST, got {}", verb, request.method));
  if (!parts.ready())
    return Refused(503, "the initial lists from the API server are not complete yet, see /readyz?verbose");
  if (metrics.in_flight.load() >= static_cast<std::int64_t>(options.max_in_flight))
    return Refused(429,
                   fmt::format("{} requests are in progress, which is the limit", options.max_in_flight));
  return std::nullopt;
}

Expected<void> Service::Impl::Read(http::Request request, const CallPtr& call) {
  if (call->verb == "bind") {
    BERTH_TRY(const BindRequest request, DecodeBindRequest(request.body));
    Bind(call, request);
  } else if (call->verb == "preempt") {
    BERTH_TRY(PreemptRequest request, DecodePreemptRequest(request.body, decoder));
    Submit(call, std::move(request), &Impl::Preempt);
  } else {
    BERTH_TRY(NodesRequest request,
              DecodeNodesRequest(std::make_shared<const std::string>(std::move(request.body)), decoder));
    Submit(call, std::move(request), call->verb == "filter" ? &Impl::Filter : &Impl::Prioritize);
  }
  return {};
}

template <class DecodedRequest>
void Service::Impl::Submit(const CallPtr& call, DecodedRequest request,
                           Outcome (Impl::*evaluator)(const DecodedRequest&)) {
  parts.post([self = shared_from_this(), call, request = std::move(request), evaluator] {
    const Duration waited = self->parts.clock.Now() - call->began;
    if (waited > self->options.deadline) {
      return call->Answer(
          Refused(503, fmt::format("not evaluated: waited {:.1f} s in the queue, --deadline is {:.1f} s",
                                   std::chrono::duration<double>(waited).count(),
                                   std::chrono::duration<double>(self->options.deadline).count())));
    }
    call->Answer((self.get()->*evaluator)(request));
  });
}

Outcome Service::Impl::Filter(const NodesRequest& request) {
  const auto nominations = parts.nominations();
  FilterVerdict verdict = parts.evaluator.Filter(request, nominations);
  return {200, FilterResponse(request, verdict), std::move(verdict.error), request.names.size()};
}

Outcome Service::Impl::Prioritize(const NodesRequest& request) {
  const auto scores = parts.evaluator.Prioritize(request);
  if (!scores) return Refused(500, scores.error().message);
  return {200, PrioritizeResponse(request, *scores), {}, request.names.size()};
}

Outcome Service::Impl::Preempt(const PreemptRequest& request) {
  const auto nominations = parts.nominations();
  const auto kept = parts.evaluator.Preempt(request, nominations);
  if (!kept) return Refused(500, kept.error().message);
  return {200, PreemptResponse(request, *kept), {}, request.nodes.size()};
}

void Service::Impl::Bind(const CallPtr& call, const BindRequest& request) {
  parts.api.Bind({request.ns, request.pod, request.uid, request.node},
                 [self = shared_from_this(), call](Expected<void> bound) {
                   std::string error = bound ? std::string() : bound.error().message;
                   call->Answer({200, BindResponse(error), error, 0});
                 });
}

}  // namespace berth::extender_server
