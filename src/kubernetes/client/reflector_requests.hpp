// Requests of a reflector, and the classification of their failures.
#pragma once

#include <string>
#include <string_view>

#include "kubernetes/client/api.hpp"
#include "kubernetes/client/encoding.hpp"

namespace berth::client {

struct ReflectorAction;
struct ReflectorOptions;

// Requests one page of a list.
ApiRequest ListRequest(const ReflectorOptions& options, const ReflectorAction& action, Encoding encoding);
// Requests a watch, which may begin with a list.
ApiRequest WatchRequest(const ReflectorOptions& options, const ReflectorAction& action, Encoding encoding);

// Requests names and versions only: of one object, for the server's version from a quorum; or of all objects,
// at the version `not_older_than` or a later one.
ApiRequest VersionsRequest(const std::string& path, const std::string& field_selector,
                           std::string_view not_older_than = "");

// The error for an event that cannot be decoded: an internal error of the watch, as in client-go.
RequestError UndecodableEvent(std::string_view why);
RequestError EventOutOfOrder(std::string_view version, std::string_view after);

// The value of the metrics' reason label for a failure.
std::string_view ReasonOf(const RequestError& error);

// Whether the server does not support the requested encoding.
bool RefusesEncoding(const RequestError& error);

}  // namespace berth::client
