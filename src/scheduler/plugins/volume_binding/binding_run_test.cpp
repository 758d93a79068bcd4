#include "scheduler/plugins/volume_binding/binding_run.hpp"

#include <gtest/gtest.h>

#include "scheduler/plugins/volume_binding/volume_binding.hpp"
#include "testing/cluster.hpp"
#include "testing/storage.hpp"

namespace berth::plugins {
namespace {

using namespace std::chrono_literals;
using api::PersistentVolume;
using api::PersistentVolumeClaim;
using berth::testing::ClaimVolume;
using berth::testing::Cluster;
using berth::testing::MakeClaim;
using berth::testing::MakeClass;
using berth::testing::MakeNode;
using berth::testing::MakeVolume;
using berth::testing::PodWith;

// The binding of a pod to node "n": its claim "c" gets the volume "v", for its claim "new" one is
// provisioned.
class BindingRunTest : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster.Add(MakeNode("n").Zone("a"));
    cluster.Put(MakeClass()).Put(MakeClass("local", "kubernetes.io/no-provisioner"));
    cluster.Put<PersistentVolume>(Volume()).Put<PersistentVolumeClaim>(Claim()).Put<PersistentVolumeClaim>(
        New());
    cluster.api().version = "7";
    plugin = cluster.Make<VolumeBinding>("bindTimeoutSeconds: 10");
  }
  static testing::VolumeBuilder Volume() {
    return MakeVolume("v").Class("local").ReachedFrom("topology.kubernetes.io/zone", {"a"});
  }
  static testing::ClaimBuilder Claim() { return MakeClaim("c").Class("local"); }
  static testing::ClaimBuilder New() { return MakeClaim("new"); }

  void Start(int reservations = 1) {
    const auto pod = PodWith("p", {ClaimVolume("c"), ClaimVolume("new")});
    ASSERT_TRUE(cluster.PreFilter(*plugin, pod).status.ok());
    ASSERT_EQ(cluster.Filter(*plugin, pod).at("n"), testing::Fits());
    info = cluster.Prepare(pod);
    for (int i = 1; i < reservations; ++i) {
      ASSERT_TRUE(plugin->Reserve(placement).ok());
      plugin->Unreserve(placement);
    }
    ASSERT_TRUE(plugin->Reserve(placement).ok());
    plugin->PreBind(placement, stop.get_token(),
                    [this](framework::Status status) { answer = std::move(status); });
    cluster.loop().Run();
  }
  template <class T, class Builder>
  void Show(Builder builder, const std::string& version) {
    builder.raw().metadata.resource_version = version;
    cluster.Put<T>(builder);
  }
  std::string Message() { return answer ? answer->Message() : "nothing yet"; }
  PersistentVolume Assumed() { return *cluster.objects().Of<PersistentVolume>().FindAssumed("v"); }

  Cluster cluster;
  std::unique_ptr<VolumeBinding> plugin;
  cluster::PodInfo info;
  const std::string node = "n";
  const framework::Placement placement{info, node, cluster.state()};
  std::stop_source stop;
  std::optional<framework::Status> answer;
};

TEST(VolumeBindingDeadline, IsLongerThanBindTimeoutSeconds) {
  Cluster cluster;
  const auto longest = [&](const char* args) { return cluster.Make<VolumeBinding>(args)->LongestPreBind(); };
  EXPECT_EQ(longest("bindTimeoutSeconds: 600"), std::chrono::minutes(15));
  EXPECT_EQ(longest("bindTimeoutSeconds: 3600"), std::chrono::minutes(61));
}

TEST_F(BindingRunTest, WritesAndWaitsUntilAllAreBound) {
  Start();
  ASSERT_EQ(cluster.api().volumes.size(), 1U);
  const ports::VolumeClaimed& volume = cluster.api().volumes.front();
  EXPECT_EQ(volume.name, "v");
  EXPECT_EQ(volume.resource_version, "1");
  EXPECT_EQ(volume.claim->uid, "uid-of-c");
  EXPECT_TRUE(volume.bound_by_controller);
  ASSERT_EQ(cluster.api().selections.size(), 1U);
  EXPECT_EQ(cluster.api().selections.front().node, "n");

  cluster.loop().Pass(1s);
  EXPECT_EQ(Message(), "nothing yet") << "the update has not been received";
  Show<PersistentVolume>(Volume().ClaimedBy("c", "uid-of-c"), "7");
  Show<PersistentVolumeClaim>(New().Annotation("volume.kubernetes.io/selected-node", "n"), "7");
  cluster.loop().Pass(1s);
  EXPECT_EQ(Message(), "nothing yet");
  Show<PersistentVolumeClaim>(Claim().BoundTo("v"), "8");
  Show<PersistentVolumeClaim>(New().Annotation("volume.kubernetes.io/selected-node", "n").BoundTo("made"),
                              "8");
  cluster.loop().Pass(1s);
  EXPECT_EQ(Message(), "nothing yet") << "the new volume has not been received";
  Show<PersistentVolume>(MakeVolume("made").ClaimedBy("new", "uid-of-new"), "9");
  EXPECT_EQ(Message(), "nothing yet") << "checks run once a second";
  cluster.loop().Pass(1s);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->ok()) << Message();
}

// As for the member of a group.
TEST_F(BindingRunTest, AfterATentativeReservationEveryObjectIsWrittenOnce) {
  Start(3);
  EXPECT_EQ(cluster.api().volumes.size(), 1U);
  EXPECT_EQ(cluster.api().selections.size(), 1U);
}

TEST_F(BindingRunTest, FailsAtTheTimeout) {
  Start();
  cluster.loop().Pass(9s);
  EXPECT_EQ(Message(), "nothing yet");
  cluster.loop().Pass(1s);
  EXPECT_EQ(Message(), "binding volumes: context deadline exceeded");
  plugin->Unreserve(placement);
  EXPECT_TRUE(Assumed().claim_ref) << "it was written: the next version from the API server decides";
  EXPECT_EQ(cluster.objects()
                .Of<PersistentVolumeClaim>()
                .FindAssumed("default", "new")
                ->metadata.Annotation("volume.kubernetes.io/selected-node"),
            nullptr);
}

TEST_F(BindingRunTest, FailsImmediatelyWhenStopped) {
  Start();
  stop.request_stop();
  cluster.loop().Run();
  EXPECT_EQ(Message(), "binding volumes: context canceled");
  cluster.loop().Pass(20s);
}

TEST_F(BindingRunTest, AFailedWriteRevertsAssumedObjects) {
  cluster.api().answer = Fail(ErrorCode::kConflict, "the object has been modified");
  Start();
  EXPECT_EQ(Message(), "the object has been modified");
  EXPECT_FALSE(Assumed().claim_ref);
  EXPECT_TRUE(cluster.api().selections.empty());
}

TEST_F(BindingRunTest, AnErrorEndsTheWait) {
  const auto claimed = [] { return Volume().ClaimedBy("c", "uid-of-c"); };
  const struct {
    const char* what;
    std::function<void()> change;
    std::string message;
  } rows[] = {
      {"the pod is deleted", [&] { cluster.services().pod_exists = false; },
       "binding volumes: pod does not exist any more: pod \"p\" not found"},
      {"the binding is undone", [&] { Show<PersistentVolume>(Volume(), "8"); },
       "binding volumes: ClaimRef got reset for pv \"v\""},
      {"the volume moves",
       [&] { Show<PersistentVolume>(claimed().ReachedFrom("topology.kubernetes.io/zone", {"b"}), "8"); },
       "binding volumes: pv \"v\" node affinity doesn't match node \"n\": no matching NodeSelectorTerms"},
      {"the making fails",
       [&] {
         Show<PersistentVolume>(claimed(), "8");
         Show<PersistentVolumeClaim>(Claim().BoundTo("v"), "8");
         Show<PersistentVolumeClaim>(New(), "8");
       },
       "binding volumes: provisioning failed for PVC \"new\""},
      {"the volume is deleted",
       [&] {
         auto& table = cluster.objects().Of<PersistentVolume>();
         table.Apply({table.Find("v"), nullptr});
       },
       "binding volumes: failed to check binding: persistentvolumes \"v\" not found"},
  };
  for (const auto& row : rows) {
    Show<PersistentVolume>(Volume(), "1");
    Show<PersistentVolumeClaim>(Claim(), "1");
    Show<PersistentVolumeClaim>(New(), "1");
    cluster.services().pod_exists = true;
    answer.reset();
    Start();
    row.change();
    cluster.loop().Pass(1s);
    EXPECT_EQ(Message(), row.message) << row.what;
    plugin->Unreserve(placement);
  }
}

}  // namespace
}  // namespace berth::plugins
