#include "base/json_fields.hpp"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>

#include "base/append_format.hpp"

namespace berth::json_fields {
namespace {

// Sums of two times must not overflow.
constexpr std::int64_t kMostNanoseconds = std::int64_t{1} << 61;

template <class T>
Expected<T> ReadNumber(const boost::json::value& from, std::string_view form) {
  T number{};
  const auto* text = from.if_string();
  if (text == nullptr) return std::unexpected(Expect(form));
  const char* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::unexpected(Expect(form));
  return number;
}

}  // namespace

void AppendInteger(std::string& out, std::int64_t number) { AppendFormat(out, "{}", number); }

// Strings, where readers of JSON would round the number.
void AppendUnsigned(std::string& out, std::uint64_t number) {
  if (std::in_range<std::int64_t>(number)) return AppendInteger(out, static_cast<std::int64_t>(number));
  AppendFormat(out, "\"{}\"", number);
}

void AppendFloat(std::string& out, double number) { AppendFormat(out, "\"{}\"", number); }

Error Expect(std::string_view form) { return Error{ErrorCode::kInvalid, fmt::format("expected {}", form)}; }

Expected<std::int64_t> ReadInteger(const boost::json::value& from) {
  if (!from.is_int64()) return std::unexpected(Expect("an integer in its range"));
  return from.get_int64();
}

Expected<std::uint64_t> ReadUnsigned(const boost::json::value& from) {
  if (from.is_int64() && from.get_int64() >= 0) return static_cast<std::uint64_t>(from.get_int64());
  return ReadNumber<std::uint64_t>(from, "an integer in its range");
}

Expected<double> ReadFloat(const boost::json::value& from) {
  return ReadNumber<double>(from, "a number in a string");
}

Expected<std::string> ReadText(const boost::json::value& from) {
  if (!from.is_string()) return std::unexpected(Expect("a string"));
  return std::string(from.get_string());
}

Expected<bool> ReadBool(const boost::json::value& from) {
  if (!from.is_bool()) return std::unexpected(Expect("a boolean"));
  return from.get_bool();
}

Expected<std::int64_t> ReadTime(const boost::json::value& from) {
  BERTH_TRY(const std::int64_t count, ReadInteger(from));
  if (count < -kMostNanoseconds || count > kMostNanoseconds)
    return std::unexpected(Expect("nanoseconds from -2^61 to 2^61"));
  return count;
}

Expected<const boost::json::object*> ReadObject(const boost::json::value& from) {
  if (!from.is_object()) return std::unexpected(Expect("an object"));
  return &from.get_object();
}

Expected<ValuePair> ReadPair(const boost::json::value& from) {
  const auto* list = from.if_array();
  if (list == nullptr || list->size() != 2) return std::unexpected(Expect("an array of two"));
  return ValuePair{&(*list)[0], &(*list)[1]};
}

Expected<void> ReadItems(const boost::json::value& from,
                         const std::function<Expected<void>(const boost::json::value&)>& read) {
  if (!from.is_array()) return std::unexpected(Expect("an array"));
  for (const boost::json::value& item : from.get_array()) BERTH_RETURN_IF_ERROR(read(item));
  return {};
}

const boost::json::value* FindMember(const boost::json::object& object, std::string_view key) {
  return object.if_contains(key);
}

Expected<std::shared_ptr<const boost::json::value>> Parse(std::string_view json) {
  boost::system::error_code failed;
  auto parsed = std::make_shared<const boost::json::value>(boost::json::parse(json, failed));
  if (failed) return std::unexpected(Expect("JSON"));
  return parsed;
}

}  // namespace berth::json_fields
