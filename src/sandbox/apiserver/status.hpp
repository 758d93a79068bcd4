// Error responses of the API server: metav1.Status, with the texts that clients match on.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "sandbox/store/resource.hpp"

namespace berth::sandbox {

struct ErrorCause {
  std::string reason;  // FieldValueRequired, NamespaceTerminating, ...
  std::string message;
  std::string field;
};

struct [[nodiscard]] ApiError {
  int code = 500;
  std::string reason;
  std::string message;
  // details; `kind` is the plural of the resource (the kind itself for 422)
  bool has_details = false;
  std::string name, group, kind;
  std::vector<ErrorCause> causes;
  int retry_after_seconds = 0;
  std::string continue_token;  // of an expired list: continues it, inconsistently

  // The Status object, ending in a newline.
  std::string ToJson() const;
};

template <class T = void>
using ApiResult = std::expected<T, ApiError>;

std::unexpected<ApiError> BadRequest(std::string message);
// Also for resources and subresources that do not exist: no details then.
std::unexpected<ApiError> NotFound(const ResourceType& type, std::string_view name);
std::unexpected<ApiError> NoSuchResource();
std::unexpected<ApiError> MethodNotAllowed();
std::unexpected<ApiError> AlreadyExists(const ResourceType& type, std::string_view name);
// The reason of a conflict between the resource version of a write and that of the object.
inline constexpr std::string_view kConcurrentChange =
    "the object has been modified; please apply your changes to the latest version and try again";
// "Operation cannot be fulfilled on pods "x": <reason>". `subresource`: "pods/binding" instead of "pods".
std::unexpected<ApiError> Conflict(const ResourceType& type, std::string_view name, std::string_view why,
                                   std::string_view subresource = {});
std::unexpected<ApiError> Forbidden(const ResourceType& type, std::string_view name, std::string_view why,
                                    std::vector<ErrorCause> causes = {});
// "Pod "x" is invalid: <field>: <message>", several in brackets.
std::unexpected<ApiError> InvalidObject(std::string_view group, std::string_view kind, std::string_view name,
                                        std::vector<ErrorCause> causes);
std::unexpected<ApiError> Expired(std::string message);
std::unexpected<ApiError> TooLargeVersion(std::string_view requested, std::uint64_t current);
std::unexpected<ApiError> InternalError(std::string message);
std::unexpected<ApiError> UnsupportedMediaType(std::string message);

ErrorCause Required(std::string field, std::string_view detail = {});
ErrorCause InvalidValue(std::string field, std::string_view value_as_json, std::string_view detail);
ErrorCause FieldForbidden(std::string field, std::string_view detail);
ErrorCause NotSupported(std::string field, std::string_view value, std::string_view supported);

// {"kind":"Status",...,"status":"Success"}; `details` is "" or a JSON object.
std::string SuccessStatus(int code, std::string_view details = {});

}  // namespace berth::sandbox
