#include "tools/replay/pod_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/temporary_directory.hpp"

namespace berth::replay {
namespace {

class FindAttemptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto writer = recording::SegmentWriter::Create(directory_).value();
    recording::Header header;
    header.version = "1.2.3";
    const std::string lines[] = {
        recording::WriteHeader(header), R"({"start":true,"t":[5]})",
        R"({"work":true,"t":[],"attempts":[)"
        R"({"pod":"shop/web","result":"unschedulable","message":"0/2 nodes are available"},)"
        R"({"pod":"shop/db","result":"scheduled","node":"n9"}]})",
        R"({"work":true,"t":[],"attempts":[)"
        R"({"pod":"shop/web","result":"unschedulable","message":"0/2 nodes are available","nominated":"n1",)"
        R"("victims":["shop/a","shop/b"]}]})",
        R"({"work":true,"t":[],"attempts":[{"pod":"shop/web","result":"scheduled","node":"n1"}]})"};
    for (const std::string& line : lines) ASSERT_TRUE(writer->Append(line + "\n").has_value());
  }
  Expected<FoundAttempt> Find(const std::string& pod, std::uint64_t number) {
    Steps steps = Steps::Open(directory_).value();
    return FindAttempt(steps, pod, number);
  }

  const berth::testing::TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_.path() / "run";
};

TEST_F(FindAttemptTest, EveryAttemptHasItsReason) {
  const struct {
    std::uint64_t number, line;
    std::string result, reason;
  } cases[] = {
      {1, 3, "unschedulable", "0/2 nodes are available"},
      {2, 4, "unschedulable", "0/2 nodes are available; nominated for node n1, which evicts shop/a, shop/b"},
      {3, 5, "scheduled", "node n1"},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.number);
    const auto found = Find("shop/web", test.number);
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_EQ(found->line, test.line);
    EXPECT_EQ(found->count, 3u);
    EXPECT_EQ(found->result, test.result);
    EXPECT_EQ(found->reason, test.reason);
  }
  EXPECT_EQ(Find("shop/web", 0)->number, 3u) << "the last one";
}

TEST_F(FindAttemptTest, AnAttemptThatDoesNotExistIsAnError) {
  EXPECT_EQ(Find("shop/web", 4).error().message,
            "attempt 4: expected a number from 1 to 3, the attempts of pod shop/web");
  EXPECT_EQ(Find("shop/api", 0).error().message,
            "pod shop/api: the recording has no scheduling attempt of it");
}

}  // namespace
}  // namespace berth::replay
