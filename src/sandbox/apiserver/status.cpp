#include "sandbox/apiserver/status.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/utf8.hpp"

namespace berth::sandbox {
namespace {

namespace json = boost::json;

std::unexpected<ApiError> Make(int code, std::string_view reason, std::string message) {
  ApiError error;
  error.code = code;
  error.reason = reason;
  error.message = std::move(message);
  return std::unexpected(std::move(error));
}

// With details that identify the object.
std::unexpected<ApiError> Make(int code, std::string_view reason, std::string message,
                               const ResourceType& type, std::string_view name) {
  auto error = Make(code, reason, std::move(message));
  error.error().has_details = true;
  error.error().name = name;
  error.error().group = type.group;
  error.error().kind = type.plural;
  return error;
}

}  // namespace

std::string ApiError::ToJson() const {
  json::object metadata;
  if (!continue_token.empty()) metadata["continue"] = continue_token;
  json::object status{{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", metadata},
                      {"status", "Failure"},
                      {"message", ToUtf8(message)}};
  if (!reason.empty()) status["reason"] = reason;
  if (has_details) {
    json::object details;
    if (!name.empty()) details["name"] = ToUtf8(name);
    if (!group.empty()) details["group"] = group;
    if (!kind.empty()) details["kind"] = ToUtf8(kind);
    if (!causes.empty()) {
      json::array list;
      for (const auto& cause : causes) {
        json::object entry{{"reason", cause.reason}, {"message", ToUtf8(cause.message)}};
        if (!cause.field.empty()) entry["field"] = ToUtf8(cause.field);
        list.push_back(std::move(entry));
      }
      details["causes"] = std::move(list);
    }
    if (retry_after_seconds > 0) details["retryAfterSeconds"] = retry_after_seconds;
    status["details"] = std::move(details);
  }
  status["code"] = code;
  return json::serialize(status) + "\n";
}

std::unexpected<ApiError> BadRequest(std::string message) {
  return Make(400, "BadRequest", std::move(message));
}

std::unexpected<ApiError> NotFound(const ResourceType& type, std::string_view name) {
  return Make(404, "NotFound", fmt::format("{} \"{}\" not found", type.qualified_plural(), name), type, name);
}

std::unexpected<ApiError> NoSuchResource() {
  auto error = Make(404, "NotFound", "the server could not find the requested resource");
  error.error().has_details = true;
  return error;
}

std::unexpected<ApiError> MethodNotAllowed() {
  auto error =
      Make(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
  error.error().has_details = true;
  return error;
}

std::unexpected<ApiError> AlreadyExists(const ResourceType& type, std::string_view name) {
  return Make(409, "AlreadyExists", fmt::format("{} \"{}\" already exists", type.qualified_plural(), name),
              type, name);
}

std::unexpected<ApiError> Conflict(const ResourceType& type, std::string_view name, std::string_view why,
                                   std::string_view subresource) {
  const std::string_view what = subresource.empty() ? type.qualified_plural() : subresource;
  auto error =
      Make(409, "Conflict", fmt::format("Operation cannot be fulfilled on {} \"{}\": {}", what, name, why),
           type, name);
  if (!subresource.empty()) error.error().kind = subresource;
  return error;
}

std::unexpected<ApiError> Forbidden(const ResourceType& type, std::string_view name, std::string_view why,
                                    std::vector<ErrorCause> causes) {
  const std::string subject = name.empty() ? std::string(type.qualified_plural())
                                           : fmt::format("{} \"{}\"", type.qualified_plural(), name);
  auto error = Make(403, "Forbidden", fmt::format("{} is forbidden: {}", subject, why), type, name);
  error.error().causes = std::move(causes);
  return error;
}

std::unexpected<ApiError> InvalidObject(std::string_view group, std::string_view kind, std::string_view name,
                                        std::vector<ErrorCause> causes) {
  std::vector<std::string> texts;
  for (const auto& cause : causes) texts.push_back(fmt::format("{}: {}", cause.field, cause.message));
  const std::string list = texts.size() == 1 ? texts[0] : fmt::format("[{}]", fmt::join(texts, ", "));
  const std::string qualified = group.empty() ? std::string(kind) : fmt::format("{}.{}", kind, group);
  auto error = Make(422, "Invalid", fmt::format("{} \"{}\" is invalid: {}", qualified, name, list));
  error.error().has_details = true;
  error.error().name = name;
  error.error().group = group;
  error.error().kind = kind;
  error.error().causes = std::move(causes);
  return error;
}

std::unexpected<ApiError> Expired(std::string message) { return Make(410, "Expired", std::move(message)); }

std::unexpected<ApiError> TooLargeVersion(std::string_view requested, std::uint64_t current) {
  auto error = Make(504, "Timeout",
                    fmt::format("Timeout: Too large resource version: {}, current: {}", requested, current));
  error.error().has_details = true;
  error.error().causes.push_back({"ResourceVersionTooLarge", "Too large resource version", ""});
  error.error().retry_after_seconds = 1;
  return error;
}

std::unexpected<ApiError> InternalError(std::string message) {
  return Make(500, "InternalError", "Internal error occurred: " + std::move(message));
}

std::unexpected<ApiError> UnsupportedMediaType(std::string message) {
  auto error = Make(415, "UnsupportedMediaType", std::move(message));
  error.error().has_details = true;
  return error;
}

ErrorCause Required(std::string field, std::string_view detail) {
  return {"FieldValueRequired", detail.empty() ? "Required value" : fmt::format("Required value: {}", detail),
          std::move(field)};
}

ErrorCause InvalidValue(std::string field, std::string_view value_as_json, std::string_view detail) {
  return {"FieldValueInvalid", fmt::format("Invalid value: {}: {}", value_as_json, detail), std::move(field)};
}

ErrorCause FieldForbidden(std::string field, std::string_view detail) {
  return {"FieldValueForbidden", fmt::format("Forbidden: {}", detail), std::move(field)};
}

ErrorCause NotSupported(std::string field, std::string_view value, std::string_view supported) {
  return {"FieldValueNotSupported",
          fmt::format("Unsupported value: \"{}\": supported values: {}", value, supported), std::move(field)};
}

std::string SuccessStatus(int code, std::string_view details) {
  std::string text = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success")";
  if (!details.empty()) text.append(",\"details\":").append(details);
  if (code != 200) text += fmt::format(",\"code\":{}", code);
  return text + "}\n";
}

}  // namespace berth::sandbox
