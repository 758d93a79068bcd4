// Functions that read parts of timestamps and durations.
#include "cel/functions.hpp"
#include "cel/times.hpp"

namespace berth::cel {
namespace {

constexpr std::uint64_t kZoneLookup = 256;  // may read a file

using TimePart = std::int64_t (*)(const CivilTime&, std::int32_t nanoseconds);

template <TimePart part>
Value TimestampPart(CallContext& context, Arguments args) {
  const TimestampObject& t = args[0].timestamp();
  std::int64_t seconds = t.seconds;
  if (args.size() == 2) {
    if (!context.budget.Spend(kZoneLookup + args[1].text().size())) return {};
    Value offset = TimeZoneOffset(args[1].text(), t.seconds);
    if (offset.IsError()) return offset;
    seconds += offset.as_int();
  }
  return Value::Int(part(ToCivil(seconds), t.nanoseconds));
}

std::int64_t Year(const CivilTime& t, std::int32_t) { return t.year; }
std::int64_t Month(const CivilTime& t, std::int32_t) { return t.month - 1; }
std::int64_t DayOfYear(const CivilTime& t, std::int32_t) { return t.day_of_year; }
std::int64_t DayOfMonth(const CivilTime& t, std::int32_t) { return t.day - 1; }
std::int64_t Date(const CivilTime& t, std::int32_t) { return t.day; }
std::int64_t DayOfWeek(const CivilTime& t, std::int32_t) { return t.day_of_week; }
std::int64_t Hours(const CivilTime& t, std::int32_t) { return t.hour; }
std::int64_t Minutes(const CivilTime& t, std::int32_t) { return t.minute; }
std::int64_t Seconds(const CivilTime& t, std::int32_t) { return t.second; }
std::int64_t Milliseconds(const CivilTime&, std::int32_t nanoseconds) { return nanoseconds / 1'000'000; }

template <TimePart part>
void AddPart(FunctionRegistry& registry, std::string_view function, const std::string& id) {
  registry.AddMember(function, id, {TimestampType()}, IntType(), TimestampPart<part>);
  registry.AddMember(function, id + "_with_tz", {TimestampType(), StringType()}, IntType(),
                     TimestampPart<part>);
}

template <std::int64_t unit>
Value DurationIn(CallContext&, Arguments args) {
  return Value::Int(args[0].as_int() / unit);
}

}  // namespace

void AddTimeFunctions(FunctionRegistry& registry) {
  AddPart<Year>(registry, "getFullYear", "timestamp_to_year");
  AddPart<Month>(registry, "getMonth", "timestamp_to_month");
  AddPart<DayOfYear>(registry, "getDayOfYear", "timestamp_to_day_of_year");
  AddPart<DayOfMonth>(registry, "getDayOfMonth", "timestamp_to_day_of_month");
  AddPart<Date>(registry, "getDate", "timestamp_to_day_of_month_1_based");
  AddPart<DayOfWeek>(registry, "getDayOfWeek", "timestamp_to_day_of_week");
  AddPart<Hours>(registry, "getHours", "timestamp_to_hours");
  AddPart<Minutes>(registry, "getMinutes", "timestamp_to_minutes");
  AddPart<Seconds>(registry, "getSeconds", "timestamp_to_seconds");
  AddPart<Milliseconds>(registry, "getMilliseconds", "timestamp_to_milliseconds");
  registry.AddMember("getHours", "duration_to_hours", {DurationType()}, IntType(),
                     DurationIn<3'600'000'000'000>);
  registry.AddMember("getMinutes", "duration_to_minutes", {DurationType()}, IntType(),
                     DurationIn<60'000'000'000>);
  registry.AddMember("getSeconds", "duration_to_seconds", {DurationType()}, IntType(),
                     DurationIn<1'000'000'000>);
  registry.AddMember("getMilliseconds", "duration_to_milliseconds", {DurationType()}, IntType(),
                     DurationIn<1'000'000>);
}

}  // namespace berth::cel
