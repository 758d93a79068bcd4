#include "process/host_port.hpp"

#include <gtest/gtest.h>

namespace berth::process {
namespace {

TEST(HostPort, SplitsAtTheLastColon) {
  const auto local = ParseHostPort("127.0.0.1:8888");
  ASSERT_TRUE(local);
  EXPECT_EQ(local->host, "127.0.0.1");
  EXPECT_EQ(local->port, 8888);
  EXPECT_EQ(ParseHostPort("::1:0")->host, "::1");
  EXPECT_EQ(ParseHostPort(":65535")->host, "");
}

TEST(HostPort, RejectsOtherForms) {
  for (const char* text : {"", "8888", "localhost", "a:", "a:65536", "a:-1", "a:+1", "a:1x", "a: 1"})
    EXPECT_FALSE(ParseHostPort(text)) << text;
}

}  // namespace
}  // namespace berth::process
