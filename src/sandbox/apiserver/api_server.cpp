#include "sandbox/apiserver/api_server.hpp"

#include <fmt/format.h>

#include "sandbox/apiserver/auth/access.hpp"
#include "sandbox/apiserver/compress.hpp"
#include "sandbox/apiserver/discovery.hpp"
#include "sandbox/apiserver/duplicates.hpp"
#include "sandbox/apiserver/events.hpp"
#include "sandbox/apiserver/metrics/metrics.hpp"
#include "sandbox/apiserver/reviews.hpp"
#include "sandbox/apiserver/scale.hpp"
#include "sandbox/apiserver/validate/validate.hpp"

namespace berth::sandbox {
namespace {

// Maximum wait of a list for a version that does not exist yet, and the poll interval.
constexpr std::chrono::seconds kMaxVersionWait{3};
constexpr std::chrono::milliseconds kVersionPoll{50};

http::Response Reply(int status, std::string body, std::string content_type = "application/json") {
  return {.status = status,
          .content_type = std::move(content_type),
          .body = ShareText(std::move(body)),
          .headers = {{"Cache-Control", "no-cache, private"}}};
}

http::Response Reply(const ApiError& error) {
  http::Response response = Reply(error.code, error.ToJson());
  if (error.retry_after_seconds > 0)
    response.headers.Add("Retry-After", fmt::to_string(error.retry_after_seconds));
  return response;
}

// Only if the client requests it: the search takes as long as parsing.
ApiResult<> CheckDuplicates(const ApiRequest& request, const WriteOptions& options,
                            std::vector<std::string>& warnings) {
  const bool json = request.content_type.empty() || request.content_type == "application/json";
  if (!json || options.validation == FieldValidation::kIgnore || !request.query.Has("fieldValidation"))
    return {};
  std::vector<std::string> twice = DuplicateFields(request.body);
  if (twice.empty()) return {};
  for (auto& field : twice) field = fmt::format("duplicate field \"{}\"", field);
  if (options.validation == FieldValidation::kStrict) {
    return BadRequest(
        fmt::format("{0} in version \"{1}\" cannot be handled as a {0}: strict decoding error: {2}",
                    request.type->kind, request.type->version, fmt::join(twice, ", ")));
  }
  warnings.insert(warnings.end(), twice.begin(), twice.end());
  return {};
}

const SharedText& BoundText() {
  static const SharedText text = ShareText(SuccessStatus(201));
  return text;
}

}  // namespace

ApiServer::ApiServer(Verbs& verbs, TimerQueue& timers, Random& random, ApiServerOptions options)
    : verbs_(verbs),
      timers_(timers),
      random_(random),
      options_(std::move(options)),
      watches_(verbs.store(), timers, verbs.clock()) {}

http::Response ApiServer::Refusal(int status) {
  ApiError error;
  error.code = status;
  error.has_details = true;
  if (status == 413) {
    error.reason = "RequestEntityTooLarge";
    error.message = "Request entity too large: limit is 3145728";
  } else if (status == 500) {
    error.reason = "InternalError";
    error.message = "Internal error occurred: the request could not be processed";
  } else {
    error.reason = "BadRequest";
    error.message = "the request is not valid HTTP";
  }
  return Reply(error);
}

void ApiServer::Handle(http::Request raw, std::shared_ptr<http::Exchange> exchange) {
  auto user = Authenticate(options_.policy.get(), raw);
  if (!user) return exchange->Respond(Reply(user.error()));
  auto request = ParseRequest(std::move(raw));
  if (!request) return exchange->Respond(Reply(request.error()));
  request->user = std::move(*user);
  if (request->accepts_gzip) exchange = CompressAnswers(std::move(exchange));
  if (auto served = Serve(*request, exchange); !served) exchange->Respond(Reply(served.error()));
}

// Either answers (now or later), or returns the error.
ApiResult<> ApiServer::Serve(ApiRequest& request, const Exchange& exchange) {
  if (request.method == "HEAD") request.method = "GET";  // the HTTP server omits the body
  if (IsReview(request)) {
    if (options_.policy && !IsSelfReview(request))
      BERTH_RETURN_IF_ERROR(Authorize(*options_.policy, request));
    BERTH_TRY(std::string answer, AnswerReview(request, options_.policy.get()));
    exchange->Respond(Reply(201, std::move(answer)));
    return {};
  }
  if (IsMetrics(request)) {
    if (options_.policy) BERTH_RETURN_IF_ERROR(Authorize(*options_.policy, request));
    BERTH_TRY(std::string answer, AnswerMetrics(verbs_, request));
    exchange->Respond(Reply(200, std::move(answer)));
    return {};
  }
  if (auto answer = AnswerDiscovery(request)) {
    if (options_.policy) BERTH_RETURN_IF_ERROR(Authorize(*options_.policy, request));
    if (request.method != "GET") return MethodNotAllowed();
    exchange->Respond(Reply(answer->status, std::move(answer->body), std::move(answer->content_type)));
    return {};
  }
  BERTH_RETURN_IF_ERROR(ResolveResource(request));
  if (options_.policy) BERTH_RETURN_IF_ERROR(Authorize(*options_.policy, request));
  BERTH_TRY(const View view, NegotiateView(request));
  if (!request.subresource.empty() && request.subresource != "status") {
    return ServeSubresource(request, view, exchange);
  }
  if (request.subresource == "status" && !request.type->has_status) return NoSuchResource();
  if (request.name.empty()) return ServeCollection(request, view, exchange);
  return ServeObject(request, view, request.subresource.empty() ? Part::kMain : Part::kStatus, exchange);
}

ApiResult<> ApiServer::ServeCollection(const ApiRequest& request, const View& view,
                                       const Exchange& exchange) {
  if (request.method == "GET" && request.query.Flag("watch")) {
    BERTH_TRY(Selector selector, ParseSelector(request));
    BERTH_TRY(WatchOptions options, ParseWatchOptions(request, view, std::move(selector), random_));
    watches_.Open(std::move(options), *exchange);
    return {};
  }
  if (request.method == "GET") return List(request, view, exchange);
  if (request.type->namespaced && request.ns.empty()) return MethodNotAllowed();
  if (request.method == "POST") return Create(request, view, exchange);
  if (request.method == "DELETE") return DeleteCollection(request, view, exchange);
  return MethodNotAllowed();
}

ApiResult<> ApiServer::ServeObject(const ApiRequest& request, const View& view, Part part,
                                   const Exchange& exchange) {
  const ResourceType& type = *request.type;
  if (request.method == "GET") {
    const ObjectPtr object = verbs_.store().Get(type, request.place().key());
    if (!object) return NotFound(type, request.name);
    Answer(exchange, 200, view, object);
    return {};
  }
  if (request.method == "PUT") {
    Warnings warnings;
    BERTH_TRY(const WriteOptions options, Writing(request, std::nullopt, warnings));
    BERTH_TRY(Document document, DecodeBody(request, view.group_version(), type.kind));
    BERTH_RETURN_IF_ERROR(CheckDuplicates(request, options, warnings));
    if (request.events_group) EventToCore(document.root());
    BERTH_TRY(const Written written, verbs_.Update(request.place(), std::move(document), part, options));
    Answer(exchange, written.created ? 201 : 200, view, written.object, warnings);
    return {};
  }
  if (request.method == "PATCH") {
    const auto patch = PatchTypeOf(request.content_type);
    if (!patch) return UnsupportedMediaType("415: Unsupported Media Type");
    Warnings warnings;
    BERTH_TRY(const WriteOptions options, Writing(request, patch, warnings));
    BERTH_TRY(const Written written, verbs_.Patch(request.place(), *patch, request.body, part, options));
    Answer(exchange, written.created ? 201 : 200, view, written.object, warnings);
    return {};
  }
  if (request.method == "DELETE" && part == Part::kMain) return Delete(request, view, exchange);
  return MethodNotAllowed();
}

ApiResult<> ApiServer::ServeSubresource(const ApiRequest& request, const View& view,
                                        const Exchange& exchange) {
  const std::string& sub = request.subresource;
  const bool pod = request.type == &Known().pods;
  if (pod && sub == "binding") return Bind(request, exchange);
  if (pod && sub == "eviction") return Evict(request, exchange);
  if (pod && sub == "log") {
    if (!verbs_.store().Get(*request.type, request.place().key()))
      return NotFound(*request.type, request.name);
    exchange->Respond(
        Reply(200, "This container is simulated and has no log.\n", "text/plain; charset=utf-8"));
    return {};
  }
  if (pod && (sub == "exec" || sub == "attach" || sub == "portforward")) {
    return BadRequest(fmt::format("{} is not possible: the containers of this cluster are simulated", sub));
  }
  if (request.type == &Known().namespaces && sub == "finalize") return Finalize(request, view, exchange);
  if (!request.type->has_scale || sub != "scale") return NoSuchResource();
  Warnings warnings;
  BERTH_TRY(const WriteOptions options, Writing(request, std::nullopt, warnings));
  BERTH_TRY(std::string scale, AnswerScale(verbs_, request, options));
  exchange->Respond(Reply(200, std::move(scale)));
  return {};
}

// --- collections ---

ApiResult<> ApiServer::List(const ApiRequest& request, const View& view, const Exchange& exchange) {
  BERTH_TRY(Selector selector, ParseSelector(request));
  BERTH_TRY(const ListOptions options, ParseListOptions(request, std::move(selector)));
  const Version wanted = std::max(options.at_least.value_or(0), options.exactly.value_or(0));
  if (wanted <= verbs_.store().version()) {
    AnswerList(options, view, exchange);
    return {};
  }
  // The client sent a version that is newer than the store's: another writer may reach it soon.
  struct Waiting {
    ApiServer* server;
    ListOptions options;
    View view;
    Exchange exchange;
    Version wanted;
    MonoTime deadline;
    void Poll(const std::shared_ptr<Waiting>& self) {
      auto& verbs = server->verbs_;
      if (verbs.store().version() >= wanted) return server->AnswerList(options, view, exchange);
      if (verbs.clock().Now() >= deadline) {
        return exchange->Respond(
            Reply(TooLargeVersion(fmt::to_string(wanted), verbs.store().version()).error()));
      }
      server->timers_.After(kVersionPoll, [self] { self->Poll(self); });
    }
  };
  const auto waiting = std::make_shared<Waiting>(
      Waiting{this, options, view, exchange, wanted, verbs_.clock().Now() + kMaxVersionWait});
  waiting->Poll(waiting);
  return {};
}

void ApiServer::AnswerList(const ListOptions& options, const View& view, const Exchange& exchange) {
  const auto result = ListObjects(verbs_.store(), *view.type, options);
  if (!result) return exchange->Respond(Reply(result.error()));
  exchange->Respond(
      Reply(200, RenderList(view, result->objects, result->metadata, verbs_.clock().WallNow())));
}

ApiResult<> ApiServer::Create(const ApiRequest& request, const View& view, const Exchange& exchange) {
  BERTH_TRY(Document document, DecodeBody(request, view.group_version(), request.type->kind));
  if (request.events_group) EventToCore(document.root());
  if (request.type == &Known().events) {
    BERTH_RETURN_IF_ERROR(ValidateNewEvent(document.root(), request.ns, request.events_group));
  }
  Warnings warnings;
  BERTH_TRY(const WriteOptions options, Writing(request, std::nullopt, warnings));
  BERTH_RETURN_IF_ERROR(CheckDuplicates(request, options, warnings));
  BERTH_TRY(const ObjectPtr created, verbs_.Create(*request.type, request.ns, std::move(document), options));
  Answer(exchange, 201, view, created, warnings);
  return {};
}

ApiResult<> ApiServer::DeleteCollection(const ApiRequest& request, const View& view,
                                        const Exchange& exchange) {
  BERTH_TRY(const DeleteOptions options, DecodeDeleteOptions(request));
  BERTH_TRY(Selector selector, ParseSelector(request));
  ListOptions all;
  all.selector = std::move(selector);
  BERTH_TRY(const ListResult before, ListObjects(verbs_.store(), *request.type, all));
  for (const auto& object : before.objects) {
    // Another client may delete the object in between; the result is the same.
    (void)verbs_.Delete({*request.type, object->ns, object->name}, options);
  }
  exchange->Respond(Reply(200, RenderList(view, before.objects, before.metadata, verbs_.clock().WallNow())));
  return {};
}

// --- single objects ---

ApiResult<> ApiServer::Delete(const ApiRequest& request, const View& view, const Exchange& exchange) {
  BERTH_TRY(const DeleteOptions options, DecodeDeleteOptions(request));
  BERTH_TRY(const ObjectPtr last, verbs_.Delete(request.place(), options));
  const ObjectPtr left = verbs_.store().Get(*request.type, last->key);
  const bool waits = left && left->uid == last->uid && left->deleting;  // for finalizers or its grace period
  if (request.type->delete_shows_object || waits) {
    Answer(exchange, 200, view, last);
    return {};
  }
  json::object details{{"name", last->name}};
  if (!request.type->group.empty()) details["group"] = request.type->group;
  details["kind"] = request.type->plural;
  details["uid"] = last->uid;
  exchange->Respond(Reply(200, SuccessStatus(200, json::serialize(details))));
  return {};
}

ApiResult<> ApiServer::Bind(const ApiRequest& request, const Exchange& exchange) {
  if (request.method != "POST") return MethodNotAllowed();
  BERTH_TRY(Document binding, DecodeBody(request, "v1", "Binding"));
  Place place = request.place();
  if (place.name
          .empty()) {  // the legacy binding path, which admission ignores: the pod gets no topology labels
    place.name = FindString(binding.root(), "metadata.name");
    ObjectAt(binding.root(), "target").erase("kind");
  }
  BERTH_RETURN_IF_ERROR(verbs_.Bind(place, binding.root(), request.dry_run()));
  exchange->Respond({.status = 201, .content_type = "application/json", .body = BoundText()});
  return {};
}

ApiResult<> ApiServer::Evict(const ApiRequest& request, const Exchange& exchange) {
  if (request.method != "POST") return MethodNotAllowed();
  BERTH_TRY(const Document eviction, DecodeBody(request, "policy/v1", "Eviction"));
  const auto its_name = FindString(eviction.root(), "metadata.name");
  if (its_name != request.name) return BadRequest("name in URL does not match name in Eviction object");
  DeleteOptions options;
  options.dry_run = request.dry_run();
  if (const json::value* grace = FindPath(eviction.root(), "deleteOptions.gracePeriodSeconds");
      grace != nullptr && grace->is_int64()) {
    options.grace_period_seconds = grace->get_int64();
  }
  options.uid = FindString(eviction.root(), "deleteOptions.preconditions.uid");
  BERTH_RETURN_IF_ERROR(verbs_.Evict(request.place(), options));
  exchange->Respond({.status = 201, .content_type = "application/json", .body = BoundText()});
  return {};
}

ApiResult<> ApiServer::Finalize(const ApiRequest& request, const View& view, const Exchange& exchange) {
  if (request.method != "PUT") return MethodNotAllowed();
  BERTH_TRY(const Document body, DecodeBody(request, "v1", "Namespace"));
  const json::array* left = FindArray(body.root(), "spec.finalizers");
  const auto change = [&](json::object& document) -> ApiResult<> {
    ObjectAt(document, "spec")["finalizers"] =
        left != nullptr ? json::value(*left) : json::value(json::array());
    return {};
  };
  BERTH_TRY(ObjectPtr written, verbs_.Edit(request.place(), Part::kMain, change, request.dry_run()));
  const Document after = written->Parse();
  const json::array* others = FindArray(after.root(), "metadata.finalizers");
  const bool last = (left == nullptr || left->empty()) && (others == nullptr || others->empty());
  if (last && !FindString(after.root(), "metadata.deletionTimestamp").empty() &&
      request.dry_run() == DryRun::kNo) {
    written = verbs_.store().Remove(*request.type, written->key);
  }
  Answer(exchange, 200, view, written);
  return {};
}

ApiResult<WriteOptions> ApiServer::Writing(const ApiRequest& request, std::optional<PatchType> patch,
                                           Warnings& warnings) const {
  BERTH_TRY(WriteOptions options, DecodeWriteOptions(request, patch, warnings));
  if (!options_.field_ownership && patch != PatchType::kApply) options.manager.clear();
  return options;
}

void ApiServer::Answer(const Exchange& exchange, int status, const View& view, const ObjectPtr& object,
                       const Warnings& warnings) {
  auto response = Reply(status, *RenderObject(view, object, verbs_.clock().WallNow()) + "\n");
  for (const auto& warning : warnings)
    response.headers.Add("Warning", fmt::format("299 - {}", json::serialize(json::value(warning))));
  exchange->Respond(std::move(response));
}

}  // namespace berth::sandbox
