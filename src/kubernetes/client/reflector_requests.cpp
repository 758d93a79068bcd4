#include "kubernetes/client/reflector_requests.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "http/origin.hpp"
#include "kubernetes/client/reflector.hpp"
#include "kubernetes/client/reflector_state.hpp"

namespace berth::client {
namespace {

using Kind = ReflectorAction::Kind;

// The client ends a watch that the server has not ended this long after the requested timeout.
constexpr std::chrono::seconds kWatchGrace{30};
constexpr std::chrono::seconds kVersionsTimeout{15};
// Protobuf costs an API server a fifth of what JSON does.
constexpr const char* kNamesAndVersions =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

std::string ListPath(const ReflectorOptions& options, const ReflectorAction& action) {
  std::string path = options.path + "?";
  const auto add = [&](std::string_view key, std::string_view value) {
    if (path.back() != '?') path += '&';
    path.append(key).append("=").append(http::EncodeQuery(value));
  };
  if (!action.continue_token.empty()) add("continue", action.continue_token);
  if (!options.field_selector.empty()) add("fieldSelector", options.field_selector);
  if (action.limit > 0) add("limit", std::to_string(action.limit));
  if (!action.resource_version.empty()) add("resourceVersion", action.resource_version);
  if (path.back() == '?') path.pop_back();
  return path;
}

std::string WatchPath(const ReflectorOptions& options, const ReflectorAction& action) {
  std::string path = options.path + "?allowWatchBookmarks=true";
  if (!options.field_selector.empty()) path += "&fieldSelector=" + http::EncodeQuery(options.field_selector);
  if (!action.resource_version.empty())
    path += "&resourceVersion=" + http::EncodeQuery(action.resource_version);
  if (action.kind == Kind::kStreamList) path += "&resourceVersionMatch=NotOlderThan&sendInitialEvents=true";
  return path + fmt::format("&timeoutSeconds={}&watch=true", action.timeout_seconds);
}

RequestError WatchError(std::string message, std::string cause) {
  return {.code = ErrorCode::kInternal,
          .message = std::move(message),
          .http_code = 500,
          .reason = "InternalError",
          .causes = {std::move(cause)}};
}

}  // namespace

ApiRequest ListRequest(const ReflectorOptions& options, const ReflectorAction& action, Encoding encoding) {
  return {.path = ListPath(options, action), .accept = AcceptOf(encoding)};
}

ApiRequest WatchRequest(const ReflectorOptions& options, const ReflectorAction& action, Encoding encoding) {
  return {.path = WatchPath(options, action),
          .timeout = std::chrono::seconds(action.timeout_seconds) + kWatchGrace,
          .idle_timeout = options.idle_timeout,
          .accept = AcceptOf(encoding)};
}

ApiRequest VersionsRequest(const std::string& path, const std::string& field_selector,
                           std::string_view not_older_than) {
  ApiRequest request{.path = path + "?", .timeout = kVersionsTimeout, .accept = kNamesAndVersions};
  if (!field_selector.empty()) request.path += "fieldSelector=" + http::EncodeQuery(field_selector) + "&";
  // The server's cache already has that version, so it need not read etcd again.
  request.path += not_older_than.empty() ? "limit=1"
                                         : "resourceVersion=" + http::EncodeQuery(not_older_than) +
                                               "&resourceVersionMatch=NotOlderThan";
  return request;
}

RequestError UndecodableEvent(std::string_view why) {
  return WatchError(fmt::format("unable to decode an event from the watch stream: {}", why),
                    "ClientWatchDecoding");
}

RequestError EventOutOfOrder(std::string_view version, std::string_view after) {
  return WatchError(fmt::format("event out of order: version {} after {}", version, after),
                    "ClientWatchDisorder");
}

std::string_view ReasonOf(const RequestError& error) {
  for (const auto* cause : {"ClientWatchDecoding", "ClientWatchDisorder"}) {
    if (std::ranges::find(error.causes, cause) != error.causes.end()) {
      return cause == std::string_view("ClientWatchDecoding") ? "undecodable" : "disorder";
    }
  }
  if (error.expired()) return "expired";
  if (error.code == ErrorCode::kThrottled) return "throttled";
  if (!error.answered()) {
    switch (error.code) {
      case ErrorCode::kUnavailable:
        return "unreachable";
      case ErrorCode::kAmbiguous:
        return "broken";
      case ErrorCode::kTimeout:
        return "silent";
      default:
        return "undecodable";
    }
  }
  if (error.http_code >= 500) return "server_error";
  return error.http_code == 404 ? "not_found" : "refused";
}

bool RefusesEncoding(const RequestError& error) { return error.http_code == 406 || error.http_code == 415; }

}  // namespace berth::client
