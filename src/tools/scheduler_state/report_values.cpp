#include "tools/scheduler_state/report_values.hpp"

#include <charconv>

#include "kubernetes/api/timestamp.hpp"
#include "tools/migrate/server.hpp"

namespace berth::scheduler_state {

using config::Value;

std::int64_t NumberAt(const Value& value, std::string_view name) {
  const Value* member = value.Find(name);
  std::int64_t number = 0;
  if (member == nullptr || member->kind != Value::Kind::kNumber) return number;
  std::from_chars(member->text.data(), member->text.data() + member->text.size(), number);
  return number;
}

bool FlagAt(const Value& value, std::string_view name) {
  const Value* member = value.Find(name);
  return member != nullptr && member->kind == Value::Kind::kBool && member->text == "true";
}

std::optional<std::int64_t> TimeAt(const Value& value, std::string_view name) {
  return api::ParseTimestamp(migrate::TextAt(value, {name}));
}

}  // namespace berth::scheduler_state
