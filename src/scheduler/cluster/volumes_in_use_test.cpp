#include "scheduler/cluster/volumes_in_use.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <optional>
#include <set>

#include "base/random.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "testing/storage.hpp"

namespace berth::cluster {
namespace {

using api::PersistentVolume;
using api::PersistentVolumeClaim;
using berth::testing::ClaimVolume;
using berth::testing::DiskVolume;
using berth::testing::EphemeralVolume;
using berth::testing::MakeAttachment;
using berth::testing::MakeClaim;
using berth::testing::MakeClass;
using berth::testing::MakeCsiNode;
using berth::testing::MakeNode;
using berth::testing::MakeVolume;
using berth::testing::PodWith;

// A cluster with random changes, and the expected counters by a full recount.
class RandomCluster {
 public:
  // The names of nodes are "n0" to "n<nodes - 1>"; at first there is none.
  RandomCluster(std::uint64_t seed, std::uint64_t nodes) : random_(seed), node_names_(nodes) {}

  void Step() {
    switch (random_.Below(10)) {
      case 0:
        return ToggleNode();
      case 1:
        return ToggleCsiNode();
      case 2:
      case 3:
        return ToggleClaim();
      case 4:
        return ToggleVolume();
      case 5:
        return ToggleAttachment();
      case 6:
        return ToggleClass();
      default:
        return random_.Below(3) == 0 ? RemovePod() : AddPod();
    }
  }

  // Adds the first `count` nodes, as far as they do not exist.
  void AddNodes(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("n{}", i);
      if (nodes_.Find(words_.node_names.Intern(name)) == kNoRow) AddNode(name);
    }
  }
  // Gives each node a CSINode with random limits, or one without drivers.
  void SetCsiNodes(bool limits) {
    for (std::uint64_t i = 0; i < node_names_; ++i)
      Set(MakeCsiNode(fmt::format("n{}", i), limits ? RandomDrivers() : std::vector<api::CSINode::Driver>{}));
  }
  // Whether the counters of the driver are columns.
  bool HasColumns(const std::string& driver) const {
    const VolumesInUse::Driver* known = volumes_.FindDriver(driver);
    return known != nullptr && !known->limit_column.empty();
  }

  // With an overlay that adds some pods and removes others.
  void CheckOverlay() {
    {
      NodeTable::Overlay overlay(nodes_);
      std::deque<PodInfo> added;
      for (int i = 0; i < 3; ++i) {
        const auto node = AnyNode();
        if (!node) continue;
        added.push_back(PreparePod(RandomPod(), words_));
        overlay.Add(*node, added.back());
        if (PlacedPod* victim = AnyPodOn(*node); victim != nullptr) overlay.Remove(*node, *victim);
      }
      Check("with an overlay");
    }
    Check("after them");
  }

  void Check(const std::string& when) {
    SCOPED_TRACE(when);
    nodes_.all().ForEach([&](std::size_t row) { CheckRow(static_cast<Row>(row)); });
    for (const char* claim : kClaims)
      EXPECT_EQ(volumes_.ClaimIsUsed("default", claim), UsesOf(claim)) << claim;
    for (const bool read_only : {false, true}) {
      const api::Volume wanted = DiskVolume(api::Volume::Source::kGcePersistentDisk, "disk-1", read_only);
      RowSet conflicts(nodes_.rows());
      volumes_.disks().AddConflicts(wanted, conflicts);
      nodes_.all().ForEach([&](std::size_t row) {
        EXPECT_EQ(conflicts.Has(row), HasConflict(static_cast<Row>(row), wanted)) << "row " << row;
      });
    }
  }

 private:
  static constexpr std::array kClaims = {"c0", "c1", "c2", "c3", "pod-e"};
  static constexpr std::array kDrivers = {"csi.example.com", "other.example.com", "ebs.csi.aws.com"};

  std::string Pick(std::string prefix, std::uint64_t count) {
    return fmt::format("{}{}", prefix, random_.Below(count));
  }
  template <class T>
  void Set(T object) {
    const auto before = objects_.Of<T>().Find(object.metadata.ns, object.metadata.name);
    object.metadata.resource_version = fmt::format("{}", ++version_);
    objects_.Apply(ports::Change<T>{before, std::make_shared<const T>(std::move(object))});
  }
  template <class T>
  bool Delete(const std::string& ns, const std::string& name) {
    const auto before = objects_.Of<T>().Find(ns, name);
    if (before == nullptr || random_.Below(2) == 0) return false;
    objects_.Apply(ports::Change<T>{before, nullptr});
    return true;
  }

  void AddNode(const std::string& name) { nodes_.Add(MakeNode(name).Share()); }
  void ToggleNode() {
    const std::string name = Pick("n", node_names_);
    const Row row = nodes_.Find(words_.node_names.Intern(name));
    if (row == kNoRow) return AddNode(name);
    while (!nodes_.pods(row).empty()) Remove(row, *nodes_.pods(row).back());
    nodes_.Remove(row);
  }
  void ToggleCsiNode() {
    const std::string name = Pick("n", node_names_);
    if (Delete<api::CSINode>("", name)) return;
    Set(MakeCsiNode(name, RandomDrivers()));
  }
  std::vector<api::CSINode::Driver> RandomDrivers() {
    std::vector<api::CSINode::Driver> drivers;
    for (const char* driver : kDrivers) {
      if (random_.Below(2) == 0) continue;
      auto& listed = drivers.emplace_back(api::CSINode::Driver{driver, std::nullopt});
      if (random_.Below(3) > 0) listed.count = static_cast<std::int32_t>(random_.Below(4));
    }
    return drivers;
  }
  void ToggleClaim() {
    const std::string name = kClaims[random_.Below(kClaims.size())];
    if (Delete<PersistentVolumeClaim>("default", name)) return;
    auto claim = MakeClaim(name).Class(Pick("class", 3));
    if (random_.Below(2) == 0) claim.BoundTo(Pick("v", 4));
    if (random_.Below(2) == 0) claim.OwnedBy(Pick("uid", 3));
    Set<PersistentVolumeClaim>(claim);
  }
  void ToggleVolume() {
    const std::string name = Pick("v", 4);
    if (Delete<PersistentVolume>("", name)) return;
    auto volume = MakeVolume(name).Csi(kDrivers[random_.Below(2)], Pick("h", 2));
    if (random_.Below(4) == 0)
      volume.InTree(PersistentVolume::Source::kAwsElasticBlockStore, Pick("vol-", 2));
    if (random_.Below(8) == 0) volume.InTree(PersistentVolume::Source::kOther, "");
    Set<PersistentVolume>(volume);
  }
  void ToggleAttachment() {
    const std::string name = Pick("a", 5);
    if (Delete<api::VolumeAttachment>("", name)) return;
    Set(MakeAttachment(name, Pick("n", node_names_), Pick("v", 4), kDrivers[random_.Below(2)]));
  }
  void ToggleClass() {
    const std::string name = Pick("class", 3);
    if (Delete<api::StorageClass>("", name)) return;
    const char* provisioners[] = {"csi.example.com", "kubernetes.io/aws-ebs", "kubernetes.io/azure-file", ""};
    Set(MakeClass(name, provisioners[random_.Below(4)]));
  }

  api::PodPtr RandomPod() {
    auto pod = PodWith("pod", {});
    pod.Uid(Pick("uid", 3));
    for (std::uint64_t i = random_.Below(4); i > 0; --i) {
      switch (random_.Below(6)) {
        case 0:
          WithVolume(pod, EphemeralVolume("e"));
          break;
        case 1:
          WithVolume(pod, DiskVolume(api::Volume::Source::kAwsElasticBlockStore,
                                     random_.Below(6) == 0 ? "aws://bad" : Pick("vol-", 2)));
          break;
        case 2:
          WithVolume(pod, DiskVolume(api::Volume::Source::kGcePersistentDisk, Pick("disk-", 2),
                                     random_.Below(2) == 0));
          break;
        default:
          WithVolume(pod, ClaimVolume(kClaims[random_.Below(4)]));
      }
    }
    return pod.Share();
  }
  std::optional<Row> AnyNode() {
    const Row row = nodes_.Find(Pick("n", node_names_));
    return row == kNoRow ? std::nullopt : std::optional(row);
  }
  PlacedPod* AnyPodOn(Row row) {
    const auto pods = nodes_.pods(row);
    return pods.empty() ? nullptr : pods[random_.Below(pods.size())];
  }
  void AddPod() {
    const auto row = AnyNode();
    if (!row) return;
    const api::PodPtr pod = RandomPod();
    placed_.push_back({pod, UseOf(*pod, words_)});
    nodes_.AddPod(*row, placed_.back());
  }
  void RemovePod() {
    const auto row = AnyNode();
    if (!row) return;
    if (PlacedPod* pod = AnyPodOn(*row); pod != nullptr) Remove(*row, *pod);
  }
  void Remove(Row row, PlacedPod& pod) { nodes_.RemovePod(row, pod); }

  // --- recount ---
  bool UsesOf(const std::string& claim) {
    bool used = false;
    nodes_.all().ForEach([&](std::size_t row) {
      for (const PlacedPod* pod : nodes_.pods(static_cast<Row>(row))) {
        for (const api::Volume& volume : pod->pod->spec.volumes)
          used |= volume.source == api::Volume::Source::kPersistentVolumeClaim && volume.id == claim;
      }
    });
    return used;
  }
  // Kubernetes' rule for a pair of volumes.
  static bool Conflict(const api::Volume& a, const api::Volume& b) {
    using Source = api::Volume::Source;
    if (a.source != b.source || a.id != b.id) return false;
    const bool both_read = a.read_only && b.read_only;
    switch (a.source) {
      case Source::kAwsElasticBlockStore:
        return true;
      case Source::kGcePersistentDisk:
      case Source::kIscsi:
        return !both_read;
      case Source::kRbd:
        return !both_read && a.rbd->pool == b.rbd->pool &&
               std::ranges::find_first_of(a.rbd->monitors, b.rbd->monitors) != a.rbd->monitors.end();
      default:
        return false;
    }
  }
  bool HasConflict(Row row, const api::Volume& wanted) {
    return std::ranges::any_of(nodes_.pods(row), [&](const PlacedPod* pod) {
      return std::ranges::any_of(pod->pod->spec.volumes,
                                 [&](const api::Volume& volume) { return Conflict(volume, wanted); });
    });
  }
  void CheckRow(Row row) {
    std::map<std::string, std::string> used;  // id -> driver
    bool uncountable = false;
    for (const PlacedPod* pod : nodes_.pods(row)) {
      for (const api::Volume& volume : pod->pod->spec.volumes) {
        const LookedUp found = volumes_.LookUp(*pod->pod, volume);
        uncountable |= !found.error.empty() && !found.claim_missing;
        if (!found.volume.id.empty()) used[found.volume.id] = found.volume.driver;
      }
    }
    for (const auto& [id, driver] : used) EXPECT_TRUE(volumes_.IsUsed(id, row)) << id;
    EXPECT_EQ(volumes_.uncountable().Has(row), uncountable);
    EXPECT_EQ(volumes_.UncountableReason(row).empty(), !uncountable);
    std::map<std::string, std::string> all = used;
    objects_.Of<api::VolumeAttachment>().ForEach([&](const auto& attachment) {
      if (attachment->node_name != nodes_.name(row)) return;
      const auto volume = objects_.Of<PersistentVolume>().Find(*attachment->persistent_volume_name);
      if (volume == nullptr || volume->source != PersistentVolume::Source::kCsi) return;
      all[attachment->attacher + "/" + volume->volume_handle] = attachment->attacher;
    });
    const auto csi_node = objects_.Of<api::CSINode>().Find(nodes_.name(row));
    EXPECT_EQ(volumes_.with_csi_node().Has(row), csi_node != nullptr);
    EXPECT_EQ(volumes_.with_limits().Has(row),
              csi_node != nullptr && std::ranges::any_of(csi_node->drivers, [](const auto& driver) {
                return driver.count.has_value();
              }));
    // Counts are not used where volumes cannot be counted.
    for (const char* name : kDrivers)
      CheckDriver(row, name, uncountable ? std::nullopt : std::optional(all), csi_node.get());
  }
  void CheckDriver(Row row, const std::string& name,
                   const std::optional<std::map<std::string, std::string>>& all,
                   const api::CSINode* csi_node) {
    const auto count =
        all ? std::ranges::count_if(*all, [&](const auto& entry) { return entry.second == name; }) : 0;
    const VolumesInUse::Driver* driver = volumes_.FindDriver(name);
    std::int32_t limit = VolumesInUse::kNoLimit;
    bool installed = false;
    for (const auto& listed : csi_node != nullptr ? csi_node->drivers : std::vector<api::CSINode::Driver>{}) {
      if (listed.name != name) continue;
      installed = true;
      limit = listed.count.value_or(VolumesInUse::kNoLimit);
    }
    if (driver == nullptr) {
      EXPECT_EQ(count, 0);
      EXPECT_FALSE(installed) << name << " on row " << row;
      return;
    }
    EXPECT_EQ(driver->installed.Has(row), installed);
    EXPECT_EQ(driver->LimitOf(row), limit);
    if (all) {
      EXPECT_EQ(driver->InUseOn(row), count) << name << " on row " << row;
    }
    if (driver->limit_column.empty()) {
      EXPECT_EQ(driver->few_limits.size(), driver->limits);
      EXPECT_TRUE(driver->in_use_column.empty());
      return;
    }
    EXPECT_EQ(driver->limit_column.size(), nodes_.rows());
    EXPECT_EQ(driver->limit_column[row], limit);
    EXPECT_TRUE(driver->few_limits.empty());
    EXPECT_EQ(driver->in_use_column.size(), nodes_.rows());
    EXPECT_TRUE(driver->in_use_counts.empty());
  }

  Random random_;
  std::uint64_t node_names_;
  SymbolTable words_;
  NodeTable nodes_{words_};
  ClusterObjects objects_;
  VolumesInUse volumes_{nodes_, objects_};
  std::deque<PlacedPod> placed_;
  int version_ = 0;
};

TEST(VolumesInUse, CountersEqualARecountAfterAnySequenceOfChanges) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomCluster churn(seed, 4);
    for (int step = 0; step < 150; ++step) {
      churn.Step();
      churn.Check(fmt::format("step {}", step));
      if (step % 10 == 0) churn.CheckOverlay();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(VolumesInUse, CountersEqualARecountInColumnsInListsAndAfterEachChangeBetweenThem) {
  constexpr std::uint64_t kPhases = 6;
  constexpr std::uint64_t kStepsPerPhase = 300;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomCluster churn(seed, 450);
    churn.AddNodes(300);
    for (std::uint64_t phase = 0; phase < kPhases; ++phase) {
      const bool columns = phase % 2 == 1;
      if (phase > 0) churn.SetCsiNodes(columns);
      churn.Check(fmt::format("phase {} begins", phase));
      for (std::uint64_t step = 0; step < kStepsPerPhase; ++step) {
        churn.Step();
        if (step % 50 == 0) churn.CheckOverlay();
      }
      churn.AddNodes(320 + 20 * phase);
      churn.Check(fmt::format("phase {} ends with more nodes", phase));
      EXPECT_EQ(churn.HasColumns("csi.example.com"), columns);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Nodes "n0", "n1" and so on, each with a CSINode.
class LimitsTest : public ::testing::Test {
 protected:
  void SetDrivers(std::size_t node, std::vector<api::CSINode::Driver> drivers) {
    const std::string name = fmt::format("n{}", node);
    for (std::size_t i = nodes_.rows(); i <= node; ++i) nodes_.Add(MakeNode(fmt::format("n{}", i)).Share());
    auto& table = objects_.Of<api::CSINode>();
    table.Apply(ports::Change<api::CSINode>{
        table.Find(name), std::make_shared<const api::CSINode>(MakeCsiNode(name, std::move(drivers)))});
  }
  Row RowOf(std::size_t node) const { return nodes_.Find(fmt::format("n{}", node)); }

  SymbolTable words_;
  NodeTable nodes_{words_};
  ClusterObjects objects_;
  VolumesInUse volumes_{nodes_, objects_};
};

TEST_F(LimitsTest, ThoseOfFewNodesTakeNoMemoryPerNode) {
  for (std::size_t node = 0; node < 100; ++node) SetDrivers(node, {{"real", 5}});
  std::vector<api::CSINode::Driver> names = {{"real", 6}, {"installed", std::nullopt}};
  for (int i = 0; i < 1000; ++i) names.push_back({fmt::format("d{}", i), i});
  SetDrivers(7, names);
  ASSERT_NE(volumes_.FindDriver("installed"), nullptr);
  EXPECT_EQ(volumes_.FindDriver("installed")->LimitOf(RowOf(7)), VolumesInUse::kNoLimit);
  for (int i = 0; i < 1000; ++i) {
    const auto* driver = volumes_.FindDriver(fmt::format("d{}", i));
    ASSERT_NE(driver, nullptr);
    EXPECT_TRUE(driver->limit_column.empty() && driver->in_use_column.empty()) << i;
    EXPECT_EQ(driver->LimitOf(RowOf(7)), i);
    EXPECT_EQ(driver->LimitOf(RowOf(8)), VolumesInUse::kNoLimit);
  }
  const auto* real = volumes_.FindDriver("real");
  EXPECT_EQ(real->limit_column.size(), 100U);
  EXPECT_EQ(real->LimitOf(RowOf(7)), 6);
  EXPECT_EQ(real->LimitOf(RowOf(8)), 5);
  SetDrivers(7, {});
  EXPECT_EQ(volumes_.FindDriver("d0"), nullptr);
  EXPECT_EQ(volumes_.FindDriver("installed"), nullptr);
  EXPECT_EQ(real->LimitOf(RowOf(7)), VolumesInUse::kNoLimit);
  EXPECT_EQ(real->limits, 99U);
}

TEST_F(LimitsTest, BecomeAColumnWhenManyNodesHaveOneAndAListAgain) {
  constexpr std::size_t kNodes = 80;
  std::deque<PlacedPod> placed;
  objects_.Apply(ports::Change<PersistentVolume>{
      nullptr, std::make_shared<const PersistentVolume>(MakeVolume("v").Csi("d", "h"))});
  objects_.Apply(ports::Change<PersistentVolumeClaim>{
      nullptr, std::make_shared<const PersistentVolumeClaim>(MakeClaim("c").BoundTo("v"))});
  const auto run_pod_on = [&](std::size_t node) {
    const api::PodPtr pod = PodWith("p", {ClaimVolume("c")}).Share();
    placed.push_back({pod, UseOf(*pod, words_)});
    nodes_.AddPod(RowOf(node), placed.back());
  };
  const auto check = [&](std::size_t limited) {
    const auto* driver = volumes_.FindDriver("d");
    ASSERT_NE(driver, nullptr);
    EXPECT_EQ(driver->limits, limited);
    for (std::size_t node = 0; node < kNodes; ++node) {
      const Row row = RowOf(node);
      EXPECT_EQ(driver->LimitOf(row), node < limited ? static_cast<std::int32_t>(node) : INT32_MAX) << node;
      EXPECT_EQ(driver->InUseOn(row), node == 3 || node == 70 ? 1 : 0) << node;
    }
  };
  for (std::size_t node = 0; node < kNodes; ++node) SetDrivers(node, {});
  run_pod_on(3);
  for (std::size_t node = 0; node < kNodes; ++node) SetDrivers(node, {{"d", static_cast<int>(node)}});
  run_pod_on(70);
  EXPECT_FALSE(volumes_.FindDriver("d")->limit_column.empty());
  check(kNodes);
  for (std::size_t limited = kNodes; limited-- > 10;) SetDrivers(limited, {});
  EXPECT_TRUE(volumes_.FindDriver("d")->limit_column.empty());
  check(10);
}

TEST(VolumesInUse, APodWithoutVolumesChangesNoCounter) {
  SymbolTable words;
  NodeTable nodes(words);
  ClusterObjects objects;
  VolumesInUse volumes(nodes, objects);
  const Row row = nodes.Add(MakeNode("n").Share());
  const api::PodPtr pod = berth::testing::MakePod("p").Share();
  PlacedPod placed{pod, UseOf(*pod, words)};
  nodes.AddPod(row, placed);
  EXPECT_TRUE(volumes.disks().empty());
  EXPECT_FALSE(volumes.ClaimIsUsed("default", "c"));
}

}  // namespace
}  // namespace berth::cluster
