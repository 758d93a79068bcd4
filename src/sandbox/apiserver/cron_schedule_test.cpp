// Schedules of CronJobs.
#include "sandbox/apiserver/cron_schedule.hpp"

#include <gtest/gtest.h>

#include "sandbox/cluster/test_cluster.hpp"
#include "sandbox/controllers/fields.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

TEST(CronSchedule, FindsTheNextTime) {
  const WallTime start = *TimeOf("2026-02-27T23:58:30Z");  // a Friday
  const struct {
    std::string_view schedule, next;
  } rows[] = {{"* * * * *", "2026-02-27T23:59:00Z"},
              {"*/5 * * * *", "2026-02-28T00:00:00Z"},
              {"30 4 1 * *", "2026-03-01T04:30:00Z"},
              {"0 9 * * mon-fri", "2026-03-02T09:00:00Z"},
              {"@yearly", "2027-01-01T00:00:00Z"},
              {"0 0 29 2 *", "2028-02-29T00:00:00Z"},
              {"0 0 13 * fri", "2026-03-06T00:00:00Z"},
              {"0 0 */2 * mon", "2026-03-01T00:00:00Z"},
              {"0 0 */1 * mon", "2026-03-02T00:00:00Z"},
              {"15,45 22-23 * feb 0", "2027-02-07T22:15:00Z"},
              {"0 0 * * SUN,,Sat", "2026-02-28T00:00:00Z"},
              {"0 0 ? * 5-6/1", "2026-02-28T00:00:00Z"},
              {"@every 90m", "2026-02-28T01:28:30Z"},
              {"@every -5m", "2026-02-27T23:58:31Z"},
              {"30/2147483647 * * * *", "2026-02-28T00:30:00Z"}};
  for (const auto& row : rows) {
    const auto schedule = CronSchedule::Parse(row.schedule);
    ASSERT_TRUE(schedule.has_value()) << row.schedule;
    const auto next = schedule->Next(start);
    ASSERT_TRUE(next.has_value()) << row.schedule;
    EXPECT_EQ(FormatTime(*next), row.next) << row.schedule;
  }
  const WallTime year_before = start - std::chrono::days(365);
  EXPECT_EQ(CronSchedule::Parse("30 4 1 * *")->Last(year_before, start), TimeOf("2026-02-01T04:30:00Z"));
  EXPECT_EQ(CronSchedule::Parse("58 23 27 2 *")->Last(year_before, start), TimeOf("2026-02-27T23:58:00Z"));
  EXPECT_EQ(CronSchedule::Parse("0 0 29 2 *")->Last(year_before, start), std::nullopt);
  EXPECT_EQ(CronSchedule::Parse("@every 1h")->Last(start - 150min, start), TimeOf("2026-02-27T23:28:30Z"));
  EXPECT_EQ(CronSchedule::Parse("@every 1h")->Last(start - 50min, start), std::nullopt);
}

TEST(CronSchedule, HasTimesUpToTheEndsOfTime) {
  const WallTime now = *TimeOf("2026-02-27T23:58:30Z"), long_ago = *TimeOf("1700-01-01T00:00:00Z"),
                 last = *TimeOf("2262-04-11T23:45:00Z");
  EXPECT_EQ(CronSchedule::Parse("@every 1h")->Last(long_ago, now), TimeOf("2026-02-27T23:00:00Z"));
  EXPECT_EQ(CronSchedule::Parse("@every 1h")->Last(last, now), std::nullopt);
  EXPECT_EQ(CronSchedule::Parse("* * * * *")->Last(long_ago, now), TimeOf("2026-02-27T23:58:00Z"));
  EXPECT_EQ(CronSchedule::Parse("* * * * *")->Next(last), last + 1min);
  for (const std::string_view schedule : {"* * * * *", "@yearly", "@every 1h"})
    EXPECT_EQ(CronSchedule::Parse(schedule)->Next(last + 1min), std::nullopt) << schedule;
}

TEST(CronSchedule, RejectsWhatRobfigCronRejects) {
  const struct {
    std::string_view schedule, error;
  } rows[] = {
      {"", "empty spec string"},
      {"* * * *", "expected exactly 5 fields, found 4: [* * * *]"},
      {"0 0 * * 7", "end of range (7) above maximum (6): 7"},
      {"0 0 * * 5-7", "end of range (7) above maximum (6): 5-7"},
      {"0 0 * * fri-sun", "beginning of range (5) beyond end of range (0): fri-sun"},
      {"60 * * * *", "end of range (60) above maximum (59): 60"},
      {"* * 0 * *", "beginning of range (0) below minimum (1): 0"},
      {"a * * * *", "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax"},
      {"0 0 * * sunday", "failed to parse int from sunday: strconv.Atoi: parsing \"sunday\": invalid syntax"},
      {"99999999999999999999 * * * *",
       "failed to parse int from 99999999999999999999: strconv.Atoi: parsing \"99999999999999999999\": "
       "value out of range"},
      {"5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"},
      {"1-2-3 * * * *", "too many hyphens: 1-2-3"},
      {"*/2/3 * * * *", "too many slashes: */2/3"},
      {"*/0 * * * *", "step of range should be a positive number: */0"},
      {"*/-1 * * * *", "negative number (-1) not allowed: -1"},
      {"@Daily", "unrecognized descriptor: @Daily"},
      {"@every day", "failed to parse duration @every day: time: invalid duration \"day\""}};
  for (const auto& row : rows) {
    const auto schedule = CronSchedule::Parse(row.schedule);
    ASSERT_FALSE(schedule.has_value()) << row.schedule;
    EXPECT_EQ(schedule.error().message, row.error) << row.schedule;
  }
}

TEST(CronSchedule, OfACronJobIsValidated) {
  TestCluster cluster;
  const auto create = [&](std::string_view name, std::string_view schedule) {
    return cluster.Create(
        "/apis/batch/v1/namespaces/default/cronjobs",
        fmt::format(
            R"({{"metadata":{{"name":"{}"}},"spec":{{"schedule":"{}","jobTemplate":{{"spec":{{"template":{{"spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i"}}]}}}}}}}}}}}})",
            name, schedule));
  };
  const auto sunday = create("a", "0 0 * * 7");
  EXPECT_EQ(sunday.status, 422);
  EXPECT_EQ(
      At(sunday.Json(), "message"),
      "CronJob.batch \"a\" is invalid: spec.schedule: Invalid value: \"0 0 * * 7\": end of range (7) above "
      "maximum (6): 7");
  EXPECT_EQ(At(create("a", "").Json(), "message"),
            "CronJob.batch \"a\" is invalid: spec.schedule: Required value");
  for (const std::string_view zoned : {"TZ=UTC 0 0 * * 0", "CRON_TZ=Europe/Berlin 0 0 * * 0"}) {
    EXPECT_EQ(
        At(create("a", zoned).Json(), "message"),
        fmt::format("CronJob.batch \"a\" is invalid: spec.schedule: Invalid value: \"{}\": cannot use TZ or "
                    "CRON_TZ in schedule, use timeZone field instead",
                    zoned));
  }
  const std::string long_name(53, 'a');
  EXPECT_EQ(
      At(create(long_name, "@daily").Json(), "message"),
      fmt::format("CronJob.batch \"{0}\" is invalid: metadata.name: Invalid value: \"{0}\": must be no more "
                  "than 52 characters",
                  long_name));
  EXPECT_EQ(create(std::string(52, 'a'), "@daily").status, 201);
  for (const std::string_view good : {"0 0 * * SUN", "@weekly", "@every 1h"})
    EXPECT_EQ(create(fmt::format("job-{}", good.size()), good).status, 201) << good;
}

}  // namespace
}  // namespace berth::sandbox
