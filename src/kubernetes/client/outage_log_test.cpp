#include "kubernetes/client/outage_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"

namespace berth::client {
namespace {

constexpr const char* kBegins = "The API server is unreachable";
constexpr const char* kEnds = "The API server is reachable again";

class OutageLogTest : public ::testing::Test {
 protected:
  void Send() {
    log_.Send({.path = "/api"}, [&](Reply reply) { replies_.push_back(std::move(reply)); });
  }
  // What is logged while the oldest call ends with this reply.
  std::string Logged(Reply reply) {
    ::testing::internal::CaptureStderr();
    api_.Answer(std::move(reply));
    return ::testing::internal::GetCapturedStderr();
  }
  static Reply NotSent() {
    return std::unexpected(RequestError{.code = ErrorCode::kUnavailable, .message = "connection refused"});
  }

  http::FakeLoop loop_;
  FakeApi api_;
  OutageLog log_{loop_, api_};
  std::vector<Reply> replies_;
};

TEST_F(OutageLogTest, ReportsTheBeginningAndTheEndOnce) {
  for (int i = 0; i < 5; ++i) Send();
  EXPECT_THAT(Logged(NotSent()), ::testing::HasSubstr(kBegins));
  EXPECT_EQ(Logged(NotSent()), "");
  EXPECT_THAT(Logged("body"), ::testing::HasSubstr(kEnds));
  EXPECT_EQ(Logged("body"), "");
  EXPECT_THAT(Logged(NotSent()), ::testing::HasSubstr(kBegins)) << "the next outage";
  EXPECT_EQ(replies_.size(), 5U) << "the callers get all replies";
}

TEST_F(OutageLogTest, AnyResponseEndsAnOutage) {
  Send();
  Send();
  EXPECT_THAT(Logged(NotSent()), ::testing::HasSubstr(kBegins));
  EXPECT_THAT(Logged(Refused(403, "Forbidden")), ::testing::HasSubstr(kEnds));
}

TEST_F(OutageLogTest, AnOpenedWatchEndsAnOutage) {
  Send();
  log_.Watch({.path = "/api"}, {}, [](Reply) {});
  EXPECT_THAT(Logged(NotSent()), ::testing::HasSubstr(kBegins));
  ::testing::internal::CaptureStderr();
  api_.Open();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::HasSubstr(kEnds));
}

TEST_F(OutageLogTest, OtherFailuresAreNoOutage) {
  for (int i = 0; i < 2; ++i) Send();
  EXPECT_EQ(Logged(Refused(403, "Forbidden")), "");
  EXPECT_EQ(Logged(std::unexpected(RequestError{.code = ErrorCode::kAmbiguous})), "");
}

}  // namespace
}  // namespace berth::client
