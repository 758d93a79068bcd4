#include "scheduler/recording/state_text.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string_view>

namespace berth::recording {
namespace {

TEST(StateText, AnErrorNamesTheMember) {
  const struct {
    std::string_view json, error;
  } cases[] = {
      {"[]", "state: expected an object"},
      {"{}", "state: pods: expected an array"},
      {R"({"pods":[]})", "state: nominations: expected an array"},
      {R"({"pods":{},"nominations":[]})", "state: pods: expected an array"},
      {R"({"pods":[1],"nominations":[]})", "state: pods: expected an object"},
      {R"({"pods":[{"place":256}],"nominations":[]})",
       "state: pods: place: expected an integer in its range"},
      {R"({"pods":[{"timestamp":-1}],"nominations":[]})", "state: timestamp: expected a time from 0 on"},
      {R"({"pods":[],"nominations":[],"nextRelease":-1})", "state: nextRelease: expected a time from 0 on"},
      {R"({"pods":[],"nominations":[],"seed":-1})", "state: seed: expected an integer in its range"},
      {R"({"pods":[],"nominations":[],"circuits":1})", "state: circuits: expected an array"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.json);
    const auto read = ReadState(boost::json::parse(test.json));
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().message, test.error);
  }
}

TEST(StateText, ListsOfPodsAndNominationsAreWrittenEvenIfTheyAreEmpty) {
  std::string text;
  AppendState(text, cycle::SchedulerState{});
  EXPECT_EQ(text, R"({"pods":[],"nominations":[],"measurements":{}})");
  EXPECT_TRUE(ReadState(boost::json::parse(text)).has_value());
}

}  // namespace
}  // namespace berth::recording
