#include "scheduler/cluster/cluster_objects.hpp"

#include <gtest/gtest.h>

namespace berth::cluster {
namespace {

using Claim = api::ResourceClaim;
using ClaimPtr = std::shared_ptr<const Claim>;

ClaimPtr ClaimOfVersion(const std::string& version) {
  Claim claim;
  claim.metadata.ns = "default";
  claim.metadata.name = "c";
  claim.metadata.uid = "uid";
  claim.metadata.resource_version = version;
  return std::make_shared<const Claim>(std::move(claim));
}

TEST(ObjectTable, CountsTheObjectsWithAnAssumedVersion) {
  const ClaimPtr first = ClaimOfVersion("1"), second = ClaimOfVersion("2");
  struct Case {
    const char* sentence;
    std::function<void(ObjectTable<Claim>&)> change;
    std::size_t assumed;
  };
  const Case cases[] = {
      {"nothing happens", [](auto&) {}, 1},
      {"another version is assumed", [](auto& table) { table.Assume(ClaimOfVersion("1")); }, 1},
      {"a version with another base is not assumed", [](auto& table) { table.Assume(ClaimOfVersion("2")); },
       1},
      {"it is restored", [](auto& table) { table.Restore("default", "c"); }, 0},
      {"it is restored twice",
       [](auto& table) {
         table.Restore("default", "c");
         table.Restore("default", "c");
       },
       0},
      {"the same version arrives", [&](auto& table) { table.Apply({first, ClaimOfVersion("1")}); }, 1},
      {"a new version arrives", [&](auto& table) { table.Apply({first, second}); }, 0},
      {"the object is deleted", [&](auto& table) { table.Apply({first, nullptr}); }, 0},
  };
  for (const Case& c : cases) {
    ObjectTable<Claim> table;
    table.Apply({nullptr, first});
    EXPECT_EQ(table.assumed_count(), 0u);
    EXPECT_TRUE(table.Assume(ClaimOfVersion("1")));
    c.change(table);
    EXPECT_EQ(table.assumed_count(), c.assumed) << c.sentence;
  }
}

}  // namespace
}  // namespace berth::cluster
