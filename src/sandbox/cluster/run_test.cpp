#include "sandbox/cluster/run.hpp"

#include <gtest/gtest.h>

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

TEST(RunSandbox, RejectsHeartbeatsThatAreNoMoreFrequentThanTheGracePeriod) {
  RunOptions options;
  options.sandbox.kubelet.lease_every = 50s;
  testing::internal::CaptureStderr();
  EXPECT_EQ(RunSandbox(options), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "berth sandbox: --heartbeat=50s must be shorter than --node-grace-period=50s\n");
}

}  // namespace
}  // namespace berth::sandbox
