#include "tools/rebalance/move_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/lease_fence.hpp"
#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"

namespace berth::rebalance {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const WallTime kNow{std::chrono::seconds(1'800'000'000)};  // 2027-01-15T08:00:00Z

MoveHistory::Entry MoveAt(Duration ago, const std::string& workload = "default/Deployment/web") {
  return {kNow - ago, workload, "hot", "cool"};
}

TEST(MovesText, IsReadAgain) {
  const Moves moves{MoveAt(std::chrono::minutes(40)), MoveAt(std::chrono::seconds(5), "a/Job/\"quoted\"")};
  const std::string text = MovesText(moves);
  EXPECT_THAT(
      text,
      HasSubstr(
          R"([{"at":"2027-01-15T07:20:00Z","workload":"default/Deployment/web","from":"hot","to":"cool"},)"
          "\n"));
  const auto read = ParseMoves(text, kNow);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_THAT(*read, SizeIs(2));
  EXPECT_EQ((*read)[0].at, moves[0].at);
  EXPECT_EQ((*read)[1].workload, moves[1].workload);
  EXPECT_EQ((*read)[1].from, "hot");
  EXPECT_EQ((*read)[1].to, "cool");
}

TEST(MovesText, LeavesOutTheOldestIfThereAreTooMany) {
  Moves moves;
  for (int i = 0; i < 10'000; ++i)
    moves.push_back(MoveAt(std::chrono::seconds(10'000 - i), fmt::format("default/Deployment/web-{}", i)));
  const std::string text = MovesText(moves);
  EXPECT_LE(text.size(), 512U << 10);
  const auto read = ParseMoves(text, kNow);
  ASSERT_TRUE(read);
  EXPECT_GT(read->size(), 4000U);
  EXPECT_EQ(read->back().workload, "default/Deployment/web-9999");
  EXPECT_NE(read->front().workload, "default/Deployment/web-0");
}

TEST(ParseMoves, RejectsWhatIsNotMoves) {
  for (const char* text : {"", "{}", "[1]", "[{}]", R"([{"at":"now","workload":"w","from":"a","to":"b"}])",
                           R"([{"at":"2027-01-15T08:00:00Z","workload":"","from":"a","to":"b"}])",
                           R"([{"at":"2027-01-15T08:00:00Z","workload":"w","from":"a"}])"}) {
    EXPECT_FALSE(ParseMoves(text, kNow)) << text;
  }
}

TEST(ParseMoves, AMoveInTheFutureCountsAsMadeNow) {
  for (const char* year : {"2028", "9999"}) {
    const auto read = ParseMoves(
        fmt::format(R"([{{"at":"{}-01-01T00:00:00Z","workload":"w","from":"a","to":"b"}}])", year), kNow);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->front().at, kNow) << year;
  }
}

class Storing : public ::testing::Test {
 protected:
  Expected<Moves> Read(client::Reply reply) {
    std::optional<Expected<Moves>> result;
    store_->Read([&](auto moves) { result = std::move(moves); });
    loop_.Run();
    EXPECT_EQ(api_.sent.back(), "GET /api/v1/namespaces/kube-system/configmaps/moves");
    api_.Answer(std::move(reply));
    return std::move(*result);
  }
  Expected<> Write(const Moves& moves, client::Reply reply) {
    std::optional<Expected<>> result;
    store_->Write(moves, [&](auto stored) { result = std::move(stored); });
    loop_.Run();
    body_ = api_.open.front().request.body;
    refused_ = api_.open.front().request.refused();
    api_.Answer(std::move(reply));
    return std::move(*result);
  }
  static std::string Stored(const std::string& version, const std::string& data) {
    return fmt::format(R"({{"metadata":{{"name":"moves","resourceVersion":"{}"}},"data":{}}})", version,
                       data);
  }

  ManualClock clock_;
  http::FakeLoop loop_;
  client::FakeApi api_;
  LeaseFence fence_ = LeaseFence::AlwaysOpen(clock_);
  std::optional<ConfigMapMoveStore> store_{
      std::in_place, loop_, api_, fence_, clock_, ConfigMapMoveStore::Name{"kube-system", "moves"}};
  std::string body_;
  std::optional<std::string> refused_;
};

TEST_F(Storing, TheFirstWriteCreatesTheConfigMap) {
  const auto none = Read(client::Refused(404, "NotFound"));
  ASSERT_TRUE(none);
  EXPECT_THAT(*none, IsEmpty());
  EXPECT_TRUE(Write({MoveAt(Duration::zero())}, client::Reply(Stored("7", "{}"))));
  EXPECT_EQ(api_.sent.back(), "POST /api/v1/namespaces/kube-system/configmaps");
  EXPECT_THAT(body_,
              HasSubstr(R"("metadata":{"name":"moves","namespace":"kube-system"},"data":{"moves.json":"[)"));
  EXPECT_TRUE(Write({}, client::Reply(Stored("8", "{}"))));
  EXPECT_EQ(api_.sent.back(), "PUT /api/v1/namespaces/kube-system/configmaps/moves");
  EXPECT_THAT(body_, HasSubstr(R"("resourceVersion":"7")"));
  EXPECT_THAT(body_, HasSubstr(R"("moves.json":"[]")"));
}

TEST_F(Storing, AnUpdateNamesTheVersionThatWasRead) {
  const auto read = Read(Stored(
      "41",
      R"({"moves.json":"[{\"at\":\"2020-01-01T00:00:00Z\",\"workload\":\"w\",\"from\":\"a\",\"to\":\"b\"}]"})"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(*read, SizeIs(1));
  const auto stored = Write(*read, client::Refused(409, "Conflict"));
  ASSERT_FALSE(stored);
  EXPECT_EQ(stored.error().code, ErrorCode::kConflict);
  EXPECT_THAT(body_, HasSubstr(R"("resourceVersion":"41")"));
}

TEST_F(Storing, AnEmptyConfigMapHasNoMoves) {
  for (const char* data : {"{}", "null", R"({"other":"x"})"}) {
    const auto read = Read(Stored("1", data));
    ASSERT_TRUE(read);
    EXPECT_THAT(*read, IsEmpty());
  }
}

TEST_F(Storing, ErrorsAreReturned) {
  EXPECT_FALSE(Read(client::Refused(403, "Forbidden")));
  EXPECT_FALSE(Read(client::NotReached()));
  EXPECT_FALSE(Read(client::Reply("<html>")));
  EXPECT_FALSE(Read(Stored("1", R"({"moves.json":"edited"})")));
  EXPECT_FALSE(Write({}, client::AnswerLost()));
}

TEST_F(Storing, ItsEndEndsItsRequest) {
  store_->Read([](const auto&) { FAIL(); });
  loop_.Run();
  store_.reset();
  EXPECT_THAT(api_.open, IsEmpty());
}

TEST_F(Storing, WritesNothingWhenTheLeaseIsLost) {
  EXPECT_TRUE(Write({}, client::Reply("{}")));
  EXPECT_EQ(refused_, std::nullopt);
  fence_.Close();
  std::ignore = Write({}, client::Reply("{}"));
  EXPECT_EQ(refused_, "not the leader any more");
}

}  // namespace
}  // namespace berth::rebalance
