// States of the cluster that never were, and the way back.
#include "tools/shadow/fake_scheduler.hpp"

namespace berth::shadow {
namespace {

class HistoryTest : public ShadowTest {
 protected:
  HistoryTest() { history.emplace(*engine, 100, std::chrono::hours(1)); }

  // A claim of this version; a later version is allocated.
  static std::shared_ptr<const api::ResourceClaim> Claim(bool allocated) {
    auto claim = std::make_shared<api::ResourceClaim>();
    claim->metadata.ns = "default";
    claim->metadata.name = "c";
    claim->metadata.uid = "u-c";
    if (allocated) claim->allocation.emplace();
    return claim;
  }
  template <class T>
  void Take(std::shared_ptr<const T> before, std::shared_ptr<const T> after, bool decision = false) {
    Step step{clock.Now(), ports::Change<T>{before, after}};
    step.decision = decision;
    history->Note(step);
    if constexpr (std::is_same_v<T, api::Node>) {
      if (after == nullptr) return engine->cache().RemoveNode(before->metadata.name);
      engine->cache().AddNode(after);
    } else {
      engine->cache().objects().Apply(ports::Change<T>{before, after});
    }
  }
  std::shared_ptr<const api::ResourceClaim> Shown() {
    return engine->cache().objects().Of<api::ResourceClaim>().Find("default", "c");
  }

  std::optional<History> history;
};

TEST_F(HistoryTest, AnAllocationThatIsShownWithoutTheCreationOfItsClaimLeavesNothing) {
  const auto created = Claim(false), allocated = Claim(true);
  Take<api::ResourceClaim>(nullptr, created);
  Take(created, allocated, true);
  history->Show(0, {false, true});
  EXPECT_EQ(Shown(), allocated) << "the other scheduler has assumed it";
  history->Show(0, {false, false});
  EXPECT_EQ(Shown(), nullptr);
  history->Show(0, {true, false});
  EXPECT_EQ(Shown(), created);
  history->Restore();
  EXPECT_EQ(Shown(), allocated);
}

TEST_F(HistoryTest, AChangeOfAnObjectThatDoesNotExistHasNoEffect) {
  const auto created = Claim(false), changed = Claim(false);
  Take<api::ResourceClaim>(nullptr, created);
  Take(created, changed);
  Take<api::ResourceClaim>(changed, nullptr);
  const api::NodePtr node = Roomy("a").Share(), cordoned = Roomy("a").Cordoned().Share();
  Take<api::Node>(nullptr, node);
  Take(node, cordoned);
  Take<api::Node>(cordoned, nullptr);
  history->Show(0, {false, true, false, false, true, false});
  EXPECT_EQ(Shown(), nullptr);
  EXPECT_EQ(history->FindNode("a"), nullptr);
  history->Show(0, {true, true, false, true, true, false});
  EXPECT_EQ(Shown(), changed);
  EXPECT_EQ(history->FindNode("a"), cordoned);
  history->Show(0, {true, false, false, true, false, false});
  EXPECT_EQ(Shown(), created);
  EXPECT_EQ(history->FindNode("a"), node);
  history->Restore();
  EXPECT_EQ(Shown(), nullptr);
  EXPECT_EQ(history->FindNode("a"), nullptr);
}

// The deletion was not observed yet, but the creation that followed.
TEST_F(HistoryTest, AnObjectThatReplacesAnotherGivesWayToItAgain) {
  const api::NodePtr first = Roomy("a").Share(), second = Roomy("a").Cordoned().Share();
  Take<api::Node>(nullptr, first);
  Take<api::Node>(first, nullptr);
  Take<api::Node>(nullptr, second);
  history->Show(0, {true, false, true});
  EXPECT_EQ(history->FindNode("a"), second);
  history->Show(0, {true, false, false});
  EXPECT_EQ(history->FindNode("a"), first);
  history->Restore();
  EXPECT_EQ(history->FindNode("a"), second);
}

}  // namespace
}  // namespace berth::shadow
