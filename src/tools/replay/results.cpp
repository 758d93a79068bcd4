#include "tools/replay/results.hpp"

#include <boost/json.hpp>

namespace berth::replay {

std::string TextOf(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

Expected<void> ReadResult(const boost::json::value& result) {
  const auto* object = result.if_object();
  const auto* code = object == nullptr ? nullptr : object->if_contains("error");
  if (code == nullptr) return {};
  return Fail(static_cast<ErrorCode>(code->get_int64()), TextOf(*object, "message"));
}

Expected<std::string> ReadVersion(const boost::json::value& result) {
  BERTH_RETURN_IF_ERROR(ReadResult(result));
  return result.is_object() ? TextOf(result.get_object(), "version") : std::string();
}

Expected<ports::CreatedClaim> ReadClaim(const boost::json::value& result) {
  BERTH_RETURN_IF_ERROR(ReadResult(result));
  if (!result.is_object()) return ports::CreatedClaim{};
  const boost::json::object& object = result.get_object();
  return ports::CreatedClaim{TextOf(object, "name"), TextOf(object, "uid"), TextOf(object, "version")};
}

Expected<extenders::Reply> ReadReply(const boost::json::object& element) {
  if (const boost::json::value* result = element.if_contains("result"))
    BERTH_RETURN_IF_ERROR(ReadResult(*result));
  extenders::Reply reply;
  if (const boost::json::value* status = element.if_contains("status"))
    reply.status = static_cast<int>(status->get_int64());
  reply.body = TextOf(element, "body");
  reply.cut_short = TextOf(element, "cutShort");
  return reply;
}

}  // namespace berth::replay
