#include "sandbox/cluster/kubeconfig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ForeignClusters, AreThoseThatNoSandboxHasWritten) {
  EXPECT_THAT(ForeignClusters(""), IsEmpty());
  EXPECT_THAT(ForeignClusters(WriteKubeconfig({.url = "http://127.0.0.1:8001", .users = {}})), IsEmpty());
  EXPECT_THAT(ForeignClusters("clusters: [{name: prod}, {name: berth-sandbox}]"), ElementsAre("prod"));
  EXPECT_THAT(ForeignClusters("apiVersion: v1\nkind: Secret"), ElementsAre("unreadable content"));
  EXPECT_THAT(ForeignClusters("notes: [\n"), ElementsAre("unreadable content"));
}

}  // namespace
}  // namespace berth::sandbox
