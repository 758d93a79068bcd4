// What a reflector asks an API server, and what its failures are called.
#pragma once

#include <string>
#include <string_view>

#include "kubernetes/client/api.hpp"
#include "kubernetes/client/encoding.hpp"

namespace berth::client {

struct ReflectorAction;
struct ReflectorOptions;

// A page of a list.
ApiRequest ListRequest(const ReflectorOptions& options, const ReflectorAction& action, Encoding encoding);
// A watch, which may begin with a list.
ApiRequest WatchRequest(const ReflectorOptions& options, const ReflectorAction& action, Encoding encoding);

// As client-go has them: internal errors of the watch.
RequestError UndecodableEvent(std::string_view why);
RequestError EventOutOfOrder(std::string_view version, std::string_view after);

// What a failure is called in metrics.
std::string_view ReasonOf(const RequestError& error);

// The server does not speak the encoding that it was asked for.
bool RefusesEncoding(const RequestError& error);

}  // namespace berth::client
