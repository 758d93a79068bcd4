#include "kubernetes/client/informers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "http/fake_loop.hpp"
#include "kubernetes/client/fake_api.hpp"
#include "kubernetes/client/resources.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Records "Kind name" of added objects.
class FakeSink final : public ports::ClusterSink {
 public:
  void On(ports::ClusterChange change) override {
    std::visit([this](const auto& one) { Note(one); }, change);
  }
  void OnSynced() override { ++synced; }

  std::vector<std::string> added;
  int synced = 0;

 private:
  template <class T>
  void Note(const ports::Change<T>& change) {
    if (change.before == nullptr) added.push_back(std::string(T::kKind) + " " + change.after->metadata.name);
  }
};

bool Every(const Resource&) { return true; }

// An API server with one object of each kind.
class InformersTest : public testing::Test {
 protected:
  void Start(ClusterSourceOptions options = {.streaming = false, .wanted = Every}) {
    source_ = std::make_unique<ClusterSource>(loop_, api_, registry_, sink_, options);
    source_->Start();
    Serve();
  }
  void Serve() {
    for (int round = 0; round < 100; ++round) {
      loop_.Run();
      const auto call = std::ranges::find_if(api_.open, [](const FakeApi::Call& c) { return !c.watch; });
      if (call == api_.open.end()) return;
      auto taken = std::move(*call);
      api_.open.erase(call);
      taken.done(AnswerTo(taken.request.path));
    }
  }
  Reply AnswerTo(const std::string& path) {
    if (down_) return NotReached();
    const std::string plain = path.substr(0, path.find('?'));
    if (const auto group = groups_.find(plain); group != groups_.end()) {
      std::string list;
      for (const auto& name : group->second)
        list += (list.empty() ? "" : ",") + ("{\"name\":\"" + name + "\"}");
      return R"({"kind":"APIResourceList","resources":[{"name":"x/status"},)" + list + "]}";
    }
    const std::string folder = plain.substr(0, plain.rfind('/'));
    const std::string plural = plain.substr(plain.rfind('/') + 1);
    if (forbidden_.contains(plural)) return Refused(403, "Forbidden");
    if (undecodable_.contains(plural)) return R"({"metadata":{"resourceVersion":"1"},"items":7})";
    const bool core = folder == "/api/v1";
    if (!core && (!groups_.contains(folder) || !groups_[folder].contains(plural)))
      return Refused(404, "NotFound");
    const std::string version = plain == "/api/v1/pods" ? pod_version_ : "1";
    return R"({"metadata":{"resourceVersion":")" + version_ +
           R"("},"items":[{"metadata":{"name":"one","uid":"u","resourceVersion":")" + version + R"("}}]})";
  }
  // An API server of 1.37 with all resources.
  void Everything() {
    for (const Resource& resource : kResources) {
      if (!resource.group.empty())
        groups_[Resource::GroupPath(resource.group, resource.versions[0])].insert(
            std::string(resource.plural));
    }
  }

  std::map<std::string, std::set<std::string>> groups_;
  std::set<std::string> forbidden_, undecodable_;  // plurals
  bool down_ = false;
  std::string version_ = "5", pod_version_ = "1";  // of lists, of the pod
  http::FakeLoop loop_;
  FakeApi api_;
  metrics::Registry registry_;
  FakeSink sink_;
  std::unique_ptr<ClusterSource> source_;
};

TEST_F(InformersTest, RequestPodsAndNodesInProtobufAndOtherKindsInJson) {
  using Accepted = std::map<std::string, bool>;
  const auto protobuf_requested = [&](ClusterSourceOptions options) {
    Everything();
    options.streaming = false;
    options.encoding = Encoding::kProtobuf;
    source_ = std::make_unique<ClusterSource>(loop_, api_, registry_, sink_, options);
    source_->Start();
    Serve();
    Accepted accepted;
    for (const FakeApi::Call& call : api_.open) {
      const std::string path = call.request.path.substr(0, call.request.path.find('?'));
      accepted[path.substr(path.rfind('/') + 1)] = call.request.accept.starts_with(kProtobufType);
    }
    source_.reset();
    return accepted;
  };
  for (const auto& [plural, protobuf] : protobuf_requested({}))
    EXPECT_EQ(protobuf, plural == "pods" || plural == "nodes") << plural;
  Accepted accepted = protobuf_requested({.retained = {.texts = {.nodes = true}}});
  EXPECT_FALSE(accepted.at("nodes"));
  EXPECT_TRUE(accepted.at("pods"));
  accepted = protobuf_requested({.retained = {.texts = {.waiting_pods = true}}});
  EXPECT_TRUE(accepted.at("nodes"));
  EXPECT_FALSE(accepted.at("pods"));
}

TEST_F(InformersTest, DeliverEveryKind) {
  Everything();
  Start();
  EXPECT_EQ(sink_.synced, 1);
  EXPECT_EQ(sink_.added.size(), kResources.size());
  api::AllKinds::ForEach(
      [&]<class T>() { EXPECT_THAT(sink_.added, Contains(std::string(T::kKind) + " one")); });
}

TEST_F(InformersTest, AMissingResourceDoesNotDelayOnSynced) {
  Everything();
  groups_.erase("/apis/resource.k8s.io/v1");
  groups_["/apis/storage.k8s.io/v1"].erase("csistoragecapacities");
  Start();
  EXPECT_EQ(sink_.synced, 1);
  EXPECT_THAT(sink_.added, Not(Contains("ResourceClaim one")));
  EXPECT_THAT(sink_.added, Not(Contains("CSIStorageCapacity one")));
  EXPECT_THAT(api_.sent, Contains("GET /apis/resource.k8s.io/v1beta1"));
}

TEST_F(InformersTest, AResourceThatAppearsLaterIsDelivered) {
  Everything();
  const auto devices = groups_.extract("/apis/resource.k8s.io/v1");
  Start();
  groups_["/apis/resource.k8s.io/v1"] = devices.mapped();
  loop_.Advance(5min);
  Serve();
  EXPECT_THAT(sink_.added, Contains("ResourceClaim one"));
  EXPECT_EQ(sink_.synced, 1) << "it does not delay OnSynced";
}

TEST_F(InformersTest, GroupsOfOtherProjectsAreDeliveredAsPodGroupsOnceTheirDefinitionIsInstalled) {
  Everything();
  Start();
  EXPECT_EQ(sink_.synced, 1) << "a missing definition does not delay OnSynced";
  groups_["/apis/scheduling.x-k8s.io/v1alpha1"] = {"podgroups"};
  groups_["/apis/scheduling.volcano.sh/v1beta1"] = {"podgroups"};
  groups_["/apis/batch/v1"] = {"jobs"};
  loop_.Advance(30s);
  Serve();
  EXPECT_THAT(sink_.added, testing::IsSupersetOf({"PodGroup podgroups.scheduling.x-k8s.io/one",
                                                  "PodGroup podgroups.scheduling.volcano.sh/one",
                                                  "PodGroup jobs.batch/one"}));
}

TEST_F(InformersTest, GroupsOfOtherProjectsAreWatchedOnlyOnRequest) {
  Everything();
  groups_["/apis/scheduling.x-k8s.io/v1alpha1"] = {"podgroups"};
  Start({.streaming = false});
  EXPECT_THAT(api_.sent, Not(Contains(HasSubstr("x-k8s.io"))));
}

TEST_F(InformersTest, OlderVersionsAreUsedIfTheNewestIsMissing) {
  Everything();
  const auto devices = groups_.extract("/apis/resource.k8s.io/v1");
  groups_["/apis/resource.k8s.io/v1beta1"] = {"deviceclasses", "resourceclaims", "resourceslices"};
  std::string versions;
  Start({.streaming = false, .on_version = [&](std::string_view kind, std::string_view version) {
           if (kind == "ResourceClaim" || kind == "CSINode") versions += fmt::format("{} {} ", kind, version);
         }});
  EXPECT_THAT(api_.sent, Contains(HasSubstr("GET /apis/resource.k8s.io/v1beta1/resourceclaims")));
  EXPECT_EQ(versions, "CSINode v1 ResourceClaim v1beta1 ");
  EXPECT_THAT(sink_.added, Contains("ResourceSlice one"));
  EXPECT_THAT(sink_.added, Not(Contains("DeviceTaintRule one")));
}

TEST_F(InformersTest, AnUnavailableServerIsRetriedAndNothingCountsAsAbsent) {
  Everything();
  down_ = true;
  Start();
  EXPECT_EQ(sink_.synced, 0);
  down_ = false;
  for (int i = 0; i < 10; ++i) {
    loop_.Advance(2s);
    Serve();
  }
  EXPECT_EQ(sink_.synced, 1);
  EXPECT_EQ(sink_.added.size(), kResources.size());
}

TEST_F(InformersTest, AKindThatCannotBeDecodedIsTreatedLikeAForbiddenOne) {
  for (const auto& [kind, synced] :
       {std::pair("services", 1), std::pair("namespaces", 0), std::pair("pods", 0)}) {
    Everything();
    sink_.synced = 0;
    undecodable_ = {kind};
    Start();
    EXPECT_EQ(sink_.synced, 0) << kind;
    for (int i = 0; i < 20; ++i) {
      loop_.Advance(2s);
      Serve();
    }
    EXPECT_EQ(sink_.synced, synced) << kind;
    source_.reset();
    api_.open.clear();
  }
}

TEST_F(InformersTest, AForbiddenOptionalKindDelaysOnSyncedOnlyBriefly) {
  Everything();
  forbidden_ = {"namespaces", "csidrivers", "resourceclaims"};
  Start({.streaming = false, .allow_missing_resources = true});
  EXPECT_EQ(sink_.synced, 0) << "an API server that has just started refuses everything for a moment";
  for (int i = 0; i < 10; ++i) {
    loop_.Advance(2s);
    Serve();
  }
  EXPECT_EQ(sink_.synced, 1);
  EXPECT_THAT(sink_.added, Not(Contains("Namespace one")));
  forbidden_.clear();
  for (int i = 0; i < 40; ++i) {
    loop_.Advance(2s);
    Serve();
  }
  EXPECT_THAT(sink_.added, Contains("Namespace one")) << "the right has come";
  EXPECT_EQ(sink_.synced, 1);
}

TEST_F(InformersTest, AForbiddenOptionalKindDelaysOnSyncedByOneRepetitionIfPodsAreDelivered) {
  Everything();
  forbidden_ = {"volumeattachments"};
  Start();
  EXPECT_EQ(sink_.synced, 0);
  loop_.Advance(2s);
  Serve();
  EXPECT_EQ(sink_.synced, 1);
}

TEST_F(InformersTest, AForbiddenOptionalKindIsAwaitedLongerWhileRolesMayBeMissing) {
  Everything();
  forbidden_ = {"volumeattachments", "pods"};
  testing::internal::CaptureStderr();
  Start();
  loop_.Advance(2s);
  Serve();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), Not(HasSubstr("scheduling continues")));
  forbidden_.clear();
  for (int i = 0; i < 3; ++i) {
    loop_.Advance(2s);
    Serve();
  }
  EXPECT_EQ(sink_.synced, 1);
  EXPECT_THAT(sink_.added, Contains("VolumeAttachment one"));
}

TEST_F(InformersTest, OnSyncedFollowsTheCompleteState) {
  Everything();
  std::size_t added = 0;
  int synced = -1;
  ClusterSourceOptions options{.streaming = false, .wanted = Every};
  options.on_complete = [&] { added = sink_.added.size(), synced = sink_.synced; };
  Start(options);
  EXPECT_EQ(added, kResources.size());
  EXPECT_EQ(synced, 0);
  EXPECT_EQ(sink_.synced, 1);
}

TEST_F(InformersTest, AForbiddenRequiredKindPreventsOnSynced) {
  for (const char* needed :
       {"pods", "nodes", "persistentvolumeclaims", "poddisruptionbudgets", "namespaces", "csidrivers"}) {
    Everything();
    sink_.synced = 0;
    forbidden_ = {needed};
    Start();
    for (int i = 0; i < 30; ++i) {
      loop_.Advance(2s);
      Serve();
    }
    EXPECT_EQ(sink_.synced, 0) << needed;
    source_.reset();
    api_.open.clear();
  }
}

// Each kind of the group requests the versions again.
TEST_F(InformersTest, ResourcesThatMoveToAnotherVersionAreWatchedThere) {
  Everything();
  const auto devices = groups_.extract("/apis/resource.k8s.io/v1").mapped();
  groups_["/apis/resource.k8s.io/v1beta1"] = devices;
  Start();
  groups_.erase("/apis/resource.k8s.io/v1beta1");
  groups_["/apis/resource.k8s.io/v1"] = devices;
  for (const char* kind : {"/resourceclaims", "/resourceslices", "/deviceclasses"}) {
    const auto watch = std::ranges::find_if(
        api_.open, [&](const FakeApi::Call& c) { return c.request.path.contains(kind); });
    ASSERT_NE(watch, api_.open.end());
    auto taken = std::move(*watch);
    api_.open.erase(watch);
    taken.done(Refused(404, "NotFound"));
  }
  for (int i = 0; i < 12; ++i) {
    loop_.Advance(1s);
    Serve();
  }
  EXPECT_THAT(api_.sent, Contains(HasSubstr("WATCH /apis/resource.k8s.io/v1/resourceclaims")));
}

TEST_F(InformersTest, OnlySelectedKindsAreWatched) {
  Start({.streaming = false,
         .wanted = [](const Resource& one) { return one.kind == "Pod" || one.kind == "Node"; }});
  EXPECT_EQ(sink_.synced, 1);
  EXPECT_THAT(sink_.added, ElementsAre("Node one", "Pod one"));
}

TEST_F(InformersTest, ASilentWatchIsReopened) {
  Everything();
  Start();
  for (const FakeApi::Call& call : api_.open) EXPECT_EQ(call.request.idle_timeout, 90s);
}

// The freshness barrier of a new leader.
class FreshnessBarrierOfInformers : public InformersTest {
 protected:
  FreshnessBarrierOfInformers() {
    Everything();
    Start();
  }
  void FreshnessBarrier() {
    source_->FreshnessBarrier([this] { caught_up_ = true; });
    for (int i = 0; i < 3; ++i) {
      Serve();
      loop_.Advance(20ms);
    }
  }
  bool caught_up_ = false;
};

TEST_F(FreshnessBarrierOfInformers, EndsImmediatelyIfTheWatchesAreUpToDate) {
  FreshnessBarrier();
  EXPECT_TRUE(caught_up_);
  EXPECT_THAT(registry_.Expose(), HasSubstr("berth_leader_barrier_seconds_count 1"));
}

TEST_F(FreshnessBarrierOfInformers, EndsWhenEverythingMatchesWithoutEvents) {
  version_ = "900";
  FreshnessBarrier();
  EXPECT_TRUE(caught_up_);
}

TEST_F(FreshnessBarrierOfInformers, WaitsUntilTheBoundPodHasBeenDelivered) {
  version_ = "900";
  pod_version_ = "800";
  FreshnessBarrier();
  EXPECT_FALSE(caught_up_);
  const auto watch = std::ranges::find_if(api_.open, [](const FakeApi::Call& call) {
    return call.watch && call.request.path.starts_with("/api/v1/pods?");
  });
  ASSERT_NE(watch, api_.open.end());
  watch->handlers.on_line(
      R"({"type":"MODIFIED","object":{"metadata":{"name":"one","uid":"u","resourceVersion":"800"},)"
      R"("spec":{"nodeName":"n"}}})");
  EXPECT_TRUE(caught_up_);
}

TEST_F(FreshnessBarrierOfInformers, ComparesEveryKindThatALeaderWrites) {
  source_->FreshnessBarrier([] {});
  loop_.Advance(20ms);
  for (const std::string path :
       {"/api/v1/pods", "/api/v1/persistentvolumes", "/api/v1/persistentvolumeclaims",
        "/apis/resource.k8s.io/v1/resourceclaims"}) {
    EXPECT_TRUE(std::ranges::any_of(api_.open, [&](const FakeApi::Call& call) {
      return !call.watch && call.request.path.starts_with(path + "?") &&
             call.request.path.contains("limit=1");
    })) << path;
  }
}

TEST_F(FreshnessBarrierOfInformers, WaitsForAnUnavailableServer) {
  down_ = true;
  FreshnessBarrier();
  EXPECT_FALSE(caught_up_);
  down_ = false;
  for (int i = 0; i < 20; ++i) {
    loop_.Advance(500ms);
    Serve();
  }
  EXPECT_TRUE(caught_up_);
}

}  // namespace
}  // namespace berth::client
