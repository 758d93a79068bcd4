// Claims that the members of pod groups share.
#include "scheduler/plugins/dynamic_resources/group_claims.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/api/decode.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/framework/eviction_protection.hpp"
#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"
#include "testing/cluster.hpp"

namespace berth::plugins {
namespace {

using api::ResourceClaim;
using berth::testing::Cluster;
using berth::testing::Fits;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::Unresolvable;
using berth::testing::Verdicts;
using framework::Code;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ClaimChange = ports::ClaimChange;

template <class T>
T Parsed(const std::string& json) {
  auto object = api::Decoder().Object<T>(json);
  EXPECT_TRUE(object) << (object ? "" : object.error().message) << "\n" << json;
  return *std::move(object);
}

// The members that were tried in a cycle; DynamicResources calls nothing else.
class TriedMembers final : public framework::GroupPostFilterServices {
 public:
  TriedMembers(cluster::NodeTable& table, std::vector<Tried> members)
      : table_(table), members_(std::move(members)) {}
  std::span<const Tried> tried() const override { return members_; }
  cluster::NodeTable& table() override { return table_; }
  framework::Status Decide() override { return {}; }
  std::span<const Found> found() const override { return {}; }
  framework::Status StillFit(std::span<const Added>) override { return {}; }
  framework::EvictionProtections& protections() override { return protections_; }

 private:
  cluster::NodeTable& table_;
  framework::EvictionProtections protections_{{}};
  const std::vector<Tried> members_;
};

// Nodes "a" and "b" with one device each, and the group "g".
class GroupClaimsTest : public ::testing::Test {
 protected:
  // A member with its attempt.
  struct Member {
    std::shared_ptr<framework::QueuedPod> pod = std::make_shared<framework::QueuedPod>();
    framework::CycleState state;
    std::string node;
    std::optional<framework::Status> bound;
    framework::Placement placement() { return {pod->info, node, state}; }
  };

  GroupClaimsTest() {
    std::vector<std::string> notes;
    const std::string on[] = {"GenericWorkload=true", "DRAWorkloadResourceClaims=true"};
    cluster_.handle().gates = config::FeatureGates::Parse(on, notes).value();
    cluster_.Put(Parsed<api::DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {"selectors": [
      {"cel": {"expression": "device.driver == 'd'"}}]}})"));
    for (const auto* node : {"a", "b"}) {
      cluster_.Add(MakeNode(node));
      cluster_.Put(Parsed<api::ResourceSlice>(fmt::format(
          R"({{"metadata": {{"name": "{0}"}}, "spec": {{"driver": "d", "nodeName": "{0}",
              "pool": {{"name": "{0}", "resourceSliceCount": 1}}, "devices": [{{"name": "gpu"}}]}}}})",
          node)));
    }
    plugin_ = cluster_.Make<DynamicResources>();
    cluster_.api().version = "9";
    PutGroup(R"({"name": "gpu", "resourceClaimName": "shared"})");
  }

  void PutGroup(const std::string& claims, const std::string& status = "") {
    group_ = std::make_shared<api::PodGroup>(Parsed<api::PodGroup>(
        fmt::format(R"({{"metadata": {{"namespace": "default", "name": "g", "uid": "uid-g"}},
                        "spec": {{"resourceClaims": [{}]}}, "status": {{"resourceClaimStatuses": [{}]}}}})",
                    claims, status)));
    cluster_.groups().PutObject(group_);
  }
  void PutClaim(const std::string& name, const std::string& status = "{}", const std::string& owner = "") {
    cluster_.Put(Parsed<ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "default", "name": "{0}", "uid": "uid-{0}", "resourceVersion": "5"{2}}},
            "spec": {{"devices": {{"requests": [{{"name": "r", "exactly": {{"deviceClassName": "gpu"}}}}]}}}},
            "status": {1}}})",
        name, status, owner)));
  }
  static std::string AllocatedOn(const std::string& node, const std::string& reserved = "") {
    return fmt::format(R"({{"allocation": {{"devices": {{"results": [
        {{"request": "r", "driver": "d", "pool": "{0}", "device": "gpu"}}]}}, "nodeSelector": {{"nodeSelectorTerms": [
        {{"matchFields": [{{"key": "metadata.name", "operator": "In", "values": ["{0}"]}}]}}]}}}},
        "reservedFor": [{1}]}})",
                       node, reserved);
  }
  static constexpr const char* kForGroup =
      R"({"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-g"})";

  static api::Pod MemberPod(const std::string& name, const api::PodResourceClaim& claim) {
    api::Pod pod = MakePod(name).Uid("uid-" + name).Group("g");
    pod.spec.resource_claims = std::vector<api::PodResourceClaim>{claim};
    return pod;
  }
  static api::Pod MemberPod(const std::string& name) {
    return MemberPod(name, {"gpu", "shared", std::nullopt});
  }

  // PreFilter and Filter of a member in the cycle of its group.
  Verdicts Evaluate(const api::Pod& pod) {
    cluster_.state() = framework::CycleState{};
    cluster_.state().in_group_cycle = true;
    return cluster_.Evaluate(*plugin_, pod);
  }
  // The same, and a reservation on the node.
  Member Reserved(const api::Pod& pod, const std::string& node) {
    EXPECT_EQ(Evaluate(pod).at(node), Fits());
    Member member;
    member.pod->info = cluster_.Prepare(pod);
    member.state = cluster_.state().Clone();
    member.node = node;
    const framework::Status status = plugin_->Reserve(member.placement());
    EXPECT_TRUE(status.ok()) << status.Message();
    return member;
  }
  // The cycle has ended: everything is released, then reserved again.
  void EndCycle(std::span<Member* const> members) {
    for (auto member = members.rbegin(); member != members.rend(); ++member)
      plugin_->Unreserve((*member)->placement());
    for (Member* member : members) {
      member->state.in_group_cycle = false;
      EXPECT_TRUE(plugin_->Reserve(member->placement()).ok());
    }
  }
  void Bind(std::span<Member* const> members) {
    EndCycle(members);
    for (Member* member : members)
      plugin_->PreBind(member->placement(), {}, [member](auto status) { member->bound = std::move(status); });
    cluster_.loop().Run();
  }
  std::vector<std::string> Consumers(std::size_t write) {
    std::vector<std::string> uids;
    for (const auto& consumer :
         std::get<ClaimChange::Reserve>(cluster_.api().claims.at(write).change).consumers)
      uids.push_back(consumer.uid);
    return uids;
  }
  enum class Tried : std::uint8_t { kNone, kAll };
  framework::Status PostFilter(const std::vector<Member*>& members, Tried which = Tried::kAll) {
    framework::QueuedGroup group;
    group.key = "default/g";
    group.object = group_;
    std::vector<framework::GroupPostFilterServices::Tried> tried;
    for (Member* member : members) {
      group.members.push_back(member->pod);
      if (which == Tried::kAll) tried.push_back({member->pod.get(), &member->state});
    }
    TriedMembers services(cluster_.nodes(), tried);
    return plugin_->PodGroupPostFilter(group, services).status;
  }
  // A member that was evaluated and found no node.
  Member Rejected(const api::Pod& pod) {
    Evaluate(pod);
    Member member;
    member.pod->info = cluster_.Prepare(pod);
    member.state = cluster_.state().Clone();
    return member;
  }

  Cluster cluster_;
  std::unique_ptr<DynamicResources> plugin_;
  std::shared_ptr<const api::PodGroup> group_;
};

TEST_F(GroupClaimsTest, MembersShareTheDevicesThatAnEarlierMemberHasReservedInTheirCycle) {
  PutClaim("shared");
  EXPECT_EQ(Evaluate(MemberPod("p1")), (Verdicts{{"a", Fits()}, {"b", Fits()}}));
  Member first = Reserved(MemberPod("p1"), "b");
  const Verdicts with_the_first = {{"a", Unresolvable({"resourceclaim not available on the node"})},
                                   {"b", Fits()}};
  EXPECT_EQ(Evaluate(MemberPod("p2")), with_the_first);
  Member second = Reserved(MemberPod("p2"), "b");
  plugin_->Unreserve(first.placement());
  EXPECT_EQ(Evaluate(MemberPod("p3")), with_the_first) << "the second member still has the devices";
  plugin_->Unreserve(second.placement());
  EXPECT_EQ(Evaluate(MemberPod("p3")), (Verdicts{{"a", Fits()}, {"b", Fits()}}));
}

TEST_F(GroupClaimsTest, WithoutNodesGroupsFailAsInKubeSchedulerButGroupsOfOtherProjectsWait) {
  PutGroup("");
  EXPECT_EQ(PostFilter({}).code, framework::Code::kError);
  api::PodGroup external = *group_;
  external.external = std::make_shared<const api::PodGroup::External>();
  group_ = std::make_shared<const api::PodGroup>(external);
  EXPECT_EQ(PostFilter({}).code, framework::Code::kUnschedulable);
}

TEST_F(GroupClaimsTest, DevicesThatAreReservedForABindingAreNotShared) {
  PutClaim("shared");
  Member first = Reserved(MemberPod("p1"), "b");
  Member* const members[] = {&first};
  EndCycle(members);
  cluster_.state().in_group_cycle = true;
  EXPECT_EQ(cluster_.PreFilter(*plugin_, MemberPod("p2")).status.Message(),
            "resource claim default/shared is in the process of being allocated");
}

TEST_F(GroupClaimsTest, TheClaimOfAGroupIsAllocatedOnceAndReservedForTheGroup) {
  PutClaim("shared");
  Member first = Reserved(MemberPod("p1"), "b");
  Member second = Reserved(MemberPod("p2"), "b");
  Member* const members[] = {&first, &second};
  Bind(members);
  ASSERT_TRUE(first.bound && first.bound->ok());
  ASSERT_TRUE(second.bound && second.bound->ok());
  ASSERT_THAT(cluster_.api().claims, SizeIs(2)) << "finalizer and status";
  const auto& reserve = std::get<ClaimChange::Reserve>(cluster_.api().claims[1].change);
  EXPECT_EQ(reserve.allocation->devices.at(0).pool, "b");
  EXPECT_THAT(reserve.consumers,
              ElementsAre(ResourceClaim::Consumer{"scheduling.k8s.io", "podgroups", "g", "uid-g"}));
  plugin_->Unreserve(first.placement());
  plugin_->Unreserve(second.placement());
  EXPECT_THAT(cluster_.api().claims, SizeIs(2)) << "other members may still need the claim";
}

TEST_F(GroupClaimsTest, AClaimThatTheGroupDoesNotDeclareIsReservedForEachMember) {
  const std::pair<const char*, const char*> cases[] = {
      {"no claim", ""},
      {"another name", R"({"name": "other", "resourceClaimName": "shared"})"},
      {"another claim", R"({"name": "gpu", "resourceClaimName": "other"})"},
      {"a template", R"({"name": "gpu", "resourceClaimTemplateName": "shared"})"},
  };
  for (const auto& [name, claims] : cases) {
    SCOPED_TRACE(name);
    cluster_.api().claims.clear();
    PutGroup(claims);
    PutClaim("shared");
    Member first = Reserved(MemberPod("p1"), "b");
    Member second = Reserved(MemberPod("p2"), "b");
    Member* const members[] = {&first, &second};
    Bind(members);
    ASSERT_TRUE(second.bound && second.bound->ok());
    ASSERT_THAT(cluster_.api().claims, SizeIs(3));
    EXPECT_THAT(Consumers(1), ElementsAre("uid-p1"));
    EXPECT_THAT(Consumers(2), ElementsAre("uid-p1", "uid-p2"));
    EXPECT_EQ(std::get<ClaimChange::Reserve>(cluster_.api().claims[2].change).allocation, nullptr);
    cluster_.handle().devices.allocated().RemovePending("uid-shared");
  }
}

TEST_F(GroupClaimsTest, ThePodsThatFollowAFailedWriteWriteTheAllocation) {
  PutClaim("shared");
  Member first = Reserved(MemberPod("p1"), "b");
  Member second = Reserved(MemberPod("p2"), "b");
  Member* const members[] = {&first, &second};
  EndCycle(members);
  cluster_.api().answer = Fail(ErrorCode::kInvalid, "refused");
  plugin_->PreBind(first.placement(), {}, [&](auto status) { first.bound = std::move(status); });
  plugin_->PreBind(second.placement(), {}, [&](auto status) { second.bound = std::move(status); });
  cluster_.api().answer = {};
  cluster_.loop().Run();
  ASSERT_TRUE(first.bound && !first.bound->ok());
  plugin_->Unreserve(first.placement());
  ASSERT_TRUE(second.bound && second.bound->ok());
  EXPECT_NE(std::get<ClaimChange::Reserve>(cluster_.api().claims.back().change).allocation, nullptr);
  PutClaim("own");
  EXPECT_EQ(Evaluate(MemberPod("p3", {"own", "own", std::nullopt})),
            (Verdicts{{"a", Fits()}, {"b", Unresolvable({"cannot allocate all claims"})}}));
}

TEST_F(GroupClaimsTest, AClaimFromATemplateMustBelongToThePodOrToItsGroup) {
  struct Case {
    const char* owner;
    std::string status;
  };
  const std::string neither =
      "ResourceClaim default/made was not created for Pod default/p1 (neither Pod nor PodGroup g is the "
      "owner)";
  for (
      const Case& c : {
          Case{R"({"apiVersion": "v1", "kind": "Pod", "name": "p1", "uid": "uid-p1", "controller": true})",
               ""},
          Case{
              R"({"apiVersion": "scheduling.k8s.io/v1", "kind": "PodGroup", "name": "g", "uid": "?", "controller": true})",
              ""},
          Case{
              R"({"apiVersion": "scheduling.k8s.io/v1", "kind": "PodGroup", "name": "h", "uid": "?", "controller": true})",
              neither},
          Case{R"({"apiVersion": "v1", "kind": "PodGroup", "name": "g", "uid": "?", "controller": true})",
               neither},
          Case{
              R"({"apiVersion": "scheduling.k8s.io/v1", "kind": "Job", "name": "g", "uid": "?", "controller": true})",
              neither},
      }) {
    SCOPED_TRACE(c.owner);
    PutClaim("made", "{}", fmt::format(R"(, "ownerReferences": [{}])", c.owner));
    api::Pod pod = MemberPod("p1", {"gpu", std::nullopt, "template"});
    pod.status.resource_claim_statuses = std::vector<api::PodResourceClaimStatus>{{"gpu", "made"}};
    EXPECT_EQ(plugin_->PreEnqueue(cluster_.Prepare(pod)).Message(), c.status);
  }
}

TEST_F(GroupClaimsTest, AGroupWithoutAnObjectRejectsItsMembersWithClaims) {
  PutClaim("shared");
  api::Pod pod = MemberPod("p1");
  pod.spec.pod_group = std::string("unknown");
  const framework::Status status = cluster_.PreFilter(*plugin_, pod).status;
  EXPECT_EQ(status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_EQ(status.Message(), "pod group object not found for pod group podgroup/default/unknown");
}

TEST_F(GroupClaimsTest, AGroupThatDoesNotFitGivesUpItsClaims) {
  struct Case {
    const char* name;
    std::string claim_status;
    std::string group_claims, group_statuses;
    bool scheduled;
    Code code;
    std::string message;
    const char* written;  // the kind of the write
  };
  const std::string declared = R"({"name": "gpu", "resourceClaimName": "shared"})";
  const std::string completed = "deallocation and deletion of ResourceClaims completed";
  for (const Case& c : {
           Case{"unavailable somewhere and reserved for the group", AllocatedOn("a", kForGroup), declared, "",
                false, Code::kUnschedulable, "deallocation of PodGroup ResourceClaim completed",
                "deallocate"},
           Case{"unavailable somewhere and not reserved", AllocatedOn("a"), declared, "", false,
                Code::kUnschedulable, completed, "deallocate"},
           Case{"reserved for another group, too",
                AllocatedOn("a",
                            std::string(kForGroup) + R"(, {"resource": "pods", "name": "x", "uid": "x"})"),
                declared, "", false, Code::kUnschedulableAndUnresolvable,
                "ResourceClaim unreserved for PodGroup", "release"},
           Case{"a member has a node", AllocatedOn("a", kForGroup), declared, "", true, Code::kUnschedulable,
                completed, ""},
           Case{"not allocated", "{}", declared, "", false, Code::kUnschedulable, completed, ""},
           Case{"the group's claim is missing", "{}", R"({"name": "gpu", "resourceClaimName": "none"})", "",
                false, Code::kError, "could not find ResourceClaim \"default/none\"", ""},
           Case{"the group's claim is not created", "{}",
                R"({"name": "gpu", "resourceClaimTemplateName": "t"})", "", false, Code::kError,
                "PodGroup default/g: ResourceClaim not created yet", ""},
           Case{"the group needed no claim", "{}", R"({"name": "gpu", "resourceClaimTemplateName": "t"})",
                R"({"name": "gpu"})", false, Code::kUnschedulable, completed, ""},
       }) {
    SCOPED_TRACE(c.name);
    cluster_.api().claims.clear();
    PutGroup(c.group_claims, c.group_statuses);
    PutClaim("shared", c.claim_status);
    const api::Pod running = MakePod("running").Uid("running").Group("g").OnNode("a");
    if (c.scheduled) cluster_.groups().Put(std::make_shared<const api::Pod>(running));
    Member first = Rejected(MemberPod("p1"));
    Member second = Rejected(MemberPod("p2"));
    const framework::Status status = PostFilter({&first, &second});
    cluster_.groups().Remove(running);
    EXPECT_EQ(status.code, c.code);
    EXPECT_EQ(status.Message(), c.message);
    std::vector<std::string> written;
    for (const ports::ClaimChange& change : cluster_.api().claims) {
      written.emplace_back(std::holds_alternative<ClaimChange::Deallocate>(change.change) ? "deallocate"
                           : std::holds_alternative<ClaimChange::Release>(change.change)  ? "release"
                                                                                          : "?");
    }
    EXPECT_EQ(fmt::format("{}", fmt::join(written, " ")), c.written);
    cluster_.loop().Run();
  }
}

// For example by a leader that was lost before the binding.
TEST_F(GroupClaimsTest, WhatAnEarlierAttemptHasReservedIsReleasedOnceWhenTheGroupFails) {
  struct Case {
    const char* name;
    const char* topology;  // of the group
    std::string reserved;  // consumers of the claim, which is allocated on one node
    int tried;             // nodes on which the member is reserved and unreserved
    std::size_t releases;
  };
  const std::string own = R"({"resource": "pods", "name": "p1", "uid": "uid-p1"})";
  const std::string other = R"({"resource": "pods", "name": "x", "uid": "x"})";
  const std::string on[] = {"GenericWorkload=true", "TopologyAwareWorkloadScheduling=true"};
  std::vector<std::string> notes;
  cluster_.handle().gates = config::FeatureGates::Parse(on, notes).value();
  for (const Case& c : {
           Case{"the member fits on a node", "", own + ", " + other, 3, 1},
           Case{"the group is placed in one domain", "zone", own, 3, 1},
           Case{"the claim is deallocated instead", "", own, 3, 0},
           Case{"only other pods have a reservation", "", other, 3, 0},
           Case{"the member fits on no node, as in kube-scheduler", "", own + ", " + other, 0, 0},
       }) {
    SCOPED_TRACE(c.name);
    cluster_.api().claims.clear();
    PutGroup("");
    PutClaim("shared", AllocatedOn("a", c.reserved));
    api::PodGroup group = *group_;
    group.topology_key = c.topology;
    group_ = std::make_shared<const api::PodGroup>(group);
    Member member = Rejected(MemberPod("p1"));
    member.node = "a";
    for (int i = 0; i < c.tried; ++i) {
      EXPECT_TRUE(plugin_->Reserve(member.placement()).ok());
      plugin_->Unreserve(member.placement());
    }
    EXPECT_THAT(cluster_.api().claims, IsEmpty()) << "the group may still be scheduled";
    EXPECT_EQ(PostFilter({&member}).code, Code::kUnschedulable);
    std::vector<std::string> released;
    for (const ports::ClaimChange& write : cluster_.api().claims) {
      if (const auto* release = std::get_if<ClaimChange::Release>(&write.change))
        released.push_back(release->consumer_uid);
    }
    EXPECT_EQ(released, std::vector<std::string>(c.releases, "uid-p1"));
    cluster_.loop().Run();
  }
}

// The cycle keeps the result of one placement, and of a tree that fails the results of the groups that cause
// it.
TEST_F(GroupClaimsTest, WhatAnEarlierAttemptHasReservedIsReleasedAlsoIfTheResultThatFitsIsDropped) {
  const std::string own = R"({"resource": "pods", "name": "p1", "uid": "uid-p1"})";
  const std::string other = R"({"resource": "pods", "name": "x", "uid": "x"})";
  for (const Tried tried : {Tried::kAll, Tried::kNone}) {
    SCOPED_TRACE(tried == Tried::kAll ? "another placement" : "another group of the tree");
    cluster_.api().claims.clear();
    PutGroup("");
    PutClaim("shared", AllocatedOn("a", own + ", " + other));
    {
      Member dropped = Reserved(MemberPod("p1"), "a");
      plugin_->Unreserve(dropped.placement());
    }
    Member kept = Rejected(MemberPod("p1"));
    (void)PostFilter({&kept}, tried);
    ASSERT_THAT(cluster_.api().claims, SizeIs(1));
    EXPECT_EQ(std::get<ClaimChange::Release>(cluster_.api().claims[0].change).consumer_uid, "uid-p1");
    cluster_.loop().Run();
    (void)PostFilter({&kept}, tried);
    EXPECT_THAT(cluster_.api().claims, SizeIs(1)) << "of this cycle only";
  }
}

TEST_F(GroupClaimsTest, AMemberWithoutANodeKeepsItsReservationIfItsGroupFits) {
  PutGroup("");
  const std::string own = R"({"resource": "pods", "name": "p1", "uid": "uid-p1"})";
  const std::string other = R"({"resource": "pods", "name": "p2", "uid": "uid-p2"})";
  PutClaim("shared", AllocatedOn("a", own + ", " + other));
  Member dropped = Reserved(MemberPod("p1"), "a");
  plugin_->Unreserve(dropped.placement());
  Member placed = Reserved(MemberPod("p2"), "a");
  Member* const members[] = {&placed};
  EndCycle(members);
  Member rejected = Rejected(MemberPod("p1"));
  (void)PostFilter({&rejected});
  EXPECT_THAT(cluster_.api().claims, IsEmpty())
      << "it fits on no node in the next cycle, as in kube-scheduler";
}

TEST_F(GroupClaimsTest, WhatAnEarlierAttemptHasReservedIsKeptIfTheGroupFits) {
  PutGroup("");
  PutClaim("shared", AllocatedOn("a", R"({"resource": "pods", "name": "p1", "uid": "uid-p1"})"));
  Member member = Reserved(MemberPod("p1"), "a");
  Member* const members[] = {&member};
  Bind(members);
  EXPECT_THAT(cluster_.api().claims, IsEmpty()) << "it is reserved already";
  ASSERT_TRUE(member.bound && member.bound->ok());
  plugin_->Unreserve(member.placement());
  EXPECT_THAT(cluster_.api().claims, SizeIs(1)) << "the binding failed";
}

}  // namespace
}  // namespace berth::plugins
