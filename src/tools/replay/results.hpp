// The results of writes and requests, as a recording has them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "base/result.hpp"
#include "kubernetes/ports/ports.hpp"
#include "scheduler/extenders/transport.hpp"

namespace berth::replay {

// `result`: the member "result" of a step.
Expected<void> ReadResult(const boost::json::value& result);
Expected<std::string> ReadVersion(const boost::json::value& result);
Expected<ports::CreatedClaim> ReadClaim(const boost::json::value& result);
Expected<extenders::Reply> ReadReply(const boost::json::object& element);

// The member as a text; empty if it is no text.
std::string TextOf(const boost::json::object& object, std::string_view key);

}  // namespace berth::replay
