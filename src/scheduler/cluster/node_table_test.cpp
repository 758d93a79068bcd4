#include "scheduler/cluster/node_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/random.hpp"
#include "base/reciprocal.hpp"
#include "scheduler/cluster/overlay.hpp"
#include "scheduler/cluster/pod_observer.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cluster/row_log.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/cluster/withdrawal.hpp"
#include "scheduler/framework/plugin.hpp"
#include "testing/builders.hpp"

namespace berth::cluster {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

class NodeTableTest : public ::testing::Test {
 protected:
  Row Add(const NodeBuilder& node) { return table.Add(node.Share()); }
  // Creates a pod that lives until the end of the test.
  PlacedPod& Pod(const PodBuilder& pod) {
    return pods.emplace_back(PlacedPod{pod.Share(), UseOf(pod, words)});
  }
  std::vector<Row> WithLabel(const std::string& key, const std::string& value) {
    const LabelKeyId id = words.FindKey(key);
    const RowGroup* group = id.known() ? table.WithLabel(words.InternLabel(id, value)) : nullptr;
    std::vector<Row> rows;
    if (group != nullptr) group->ForEach([&](std::size_t row) { rows.push_back(static_cast<Row>(row)); });
    std::ranges::sort(rows);
    return rows;
  }
  std::vector<Row> Conflicts(std::int32_t port, const std::string& address = "",
                             const std::string& protocol = "TCP") {
    const AddressId id = address.empty() ? kAnyAddress : words.addresses.Intern(address);
    RowSet rows(table.rows());
    table.AddPortConflicts({words.InternPort(protocol, port), id}, rows);
    std::vector<Row> out;
    rows.ForEach([&](std::size_t row) { out.push_back(static_cast<Row>(row)); });
    return out;
  }
  const ImageState* Image(const std::string& name) { return table.Image(words.images.Intern(name)); }

  SymbolTable words;
  NodeTable table{words};
  std::deque<PlacedPod> pods;
};

TEST_F(NodeTableTest, ARowHasTheAllocatableAmountsOfItsNode) {
  const Row row = Add(MakeNode("n")
                          .Cpu("1500m")
                          .Memory("1Gi")
                          .Pods("7")
                          .Allocatable("example.com/gpu", "2")
                          .Allocatable("storage", "5"));
  EXPECT_EQ(table.Find("n"), row);
  EXPECT_EQ(table.name(row), "n");
  EXPECT_EQ(table.allocatable(kCpu)[row], 1500);
  EXPECT_EQ(table.inverse_allocatable(kCpu)[row], 1.0 / 1500);
  EXPECT_EQ(table.allocatable(kMemory)[row], 1 << 30);
  EXPECT_EQ(table.allocatable(kEphemeralStorage)[row], 0);
  EXPECT_EQ(table.inverse_allocatable(kEphemeralStorage)[row], 0);
  EXPECT_EQ(table.allowed_pods()[row], 7);
  EXPECT_EQ(table.allocatable(words.FindResource("example.com/gpu"))[row], 2);
  EXPECT_FALSE(words.FindResource("storage").known()) << "scheduling does not count it";
}

TEST_F(NodeTableTest, AnUnknownNodeHasNoRow) {
  EXPECT_EQ(table.Find("n"), kNoRow);
  EXPECT_EQ(table.Find(words.node_names.Intern("n")), kNoRow);
  table.Remove(Add(MakeNode("n")));
  EXPECT_EQ(table.Find("n"), kNoRow);
}

TEST_F(NodeTableTest, AResourceOfNoNodeHasNoColumn) {
  Add(MakeNode("n"));
  EXPECT_THAT(table.allocatable(words.InternResource("example.com/gpu")), IsEmpty());
  EXPECT_THAT(table.allocatable(ResourceId{}), IsEmpty());
}

TEST_F(NodeTableTest, ANewColumnHasAllRows) {
  const Row first = Add(MakeNode("a"));
  const Row second = Add(MakeNode("b").Allocatable("example.com/gpu", "4"));
  const auto gpus = table.allocatable(words.FindResource("example.com/gpu"));
  EXPECT_EQ(gpus[first], 0);
  EXPECT_EQ(gpus[second], 4);
}

TEST_F(NodeTableTest, RequestsForWhatNoNodeHasTakeNoMemoryPerNode) {
  const Row a = Add(MakeNode("a"));
  const Row b = Add(MakeNode("b"));
  PlacedPod& zero = Pod(MakePod().Request("example.com/zero", "0"));
  PlacedPod& first = Pod(MakePod().Request("example.com/gpu", "2"));
  PlacedPod& second = Pod(MakePod().Request("example.com/gpu", "3"));
  table.AddPod(a, zero);
  table.AddPod(a, first);
  table.AddPod(b, second);
  EXPECT_THAT(table.requested(words.FindResource("example.com/zero")), IsEmpty());
  EXPECT_THAT(table.requested(words.FindResource("example.com/gpu")), IsEmpty());
  EXPECT_EQ(table.RequestedOn(b, words.FindResource("example.com/gpu")), 3);
  EXPECT_EQ(table.RequestedOn(b, words.FindResource("example.com/zero")), 0);
  table.RemovePod(a, first);
  PlacedPod& third = Pod(MakePod().Request("example.com/gpu", "1"));
  table.AddPod(a, third);
  Add(MakeNode("c").Allocatable("example.com/gpu", "4"));
  EXPECT_THAT(table.requested(words.FindResource("example.com/gpu")), ElementsAre(1, 3, 0));
  EXPECT_EQ(table.RequestedOn(b, words.FindResource("example.com/gpu")), 3);
  table.RemovePod(b, second);
  EXPECT_THAT(table.requested(words.FindResource("example.com/gpu")), ElementsAre(1, 0, 0));
  EXPECT_THAT(table.requested(words.FindResource("example.com/zero")), IsEmpty());
}

TEST_F(NodeTableTest, ResourcesOfNodesTakeMemoryPerNodeOnlyOnceTheyAreRead) {
  const std::size_t before = table.columns();
  NodeBuilder node = MakeNode("a");
  for (int i = 0; i < 1000; ++i) node.Allocatable("example.com/" + std::to_string(i), "4");
  const Row a = Add(node);
  const Row b = Add(MakeNode("b"));
  table.AddPod(b, Pod(MakePod().Request("example.com/7", "3")));
  const ResourceId seventh = words.FindResource("example.com/7");
  EXPECT_EQ(table.RequestedOn(b, seventh), 3);
  EXPECT_LE(table.columns(), before + 3) << "cpu, memory and ephemeral storage";
  const std::size_t unread = table.columns();
  EXPECT_THAT(table.requested(seventh), ElementsAre(0, 3));
  EXPECT_THAT(table.allocatable(seventh), ElementsAre(4, 0));
  EXPECT_EQ(table.columns(), unread + 1);
  table.AddPod(a, Pod(MakePod().Request("example.com/7", "1")));
  EXPECT_THAT(table.requested(seventh), ElementsAre(1, 3));
}

TEST_F(NodeTableTest, AColumnIsFreedWhenNoNodeHasTheResource) {
  const Row a = Add(MakeNode("a").Allocatable("example.com/gpu", "4"));
  const Row b = Add(MakeNode("b").Allocatable("example.com/gpu", "0"));
  const ResourceId gpu = words.FindResource("example.com/gpu");
  const std::size_t unread = table.columns();
  PlacedPod& pod = Pod(MakePod().Request("example.com/gpu", "3"));
  table.AddPod(a, pod);
  EXPECT_THAT(table.requested(gpu), ElementsAre(3, 0));
  table.Update(a, MakeNode("a").Share());
  EXPECT_THAT(table.allocatable(gpu), ElementsAre(0, 0)) << "the other node lists it";
  EXPECT_THAT(table.requested(gpu), ElementsAre(3, 0));
  table.Remove(b);
  EXPECT_THAT(table.allocatable(gpu), IsEmpty());
  EXPECT_THAT(table.requested(gpu), IsEmpty());
  EXPECT_EQ(table.columns(), unread);
  EXPECT_EQ(table.RequestedOn(a, gpu), 3) << "the pod is still there";
  table.Update(a, MakeNode("a").Allocatable("example.com/gpu", "2").Share());
  table.Update(a, MakeNode("a").Cpu("1").Allocatable("example.com/gpu", "2").Share());
  EXPECT_THAT(table.allocatable(gpu), ElementsAre(2, 0));
  EXPECT_THAT(table.requested(gpu), ElementsAre(3, 0));
  table.RemovePod(a, pod);
  EXPECT_THAT(table.requested(gpu), ElementsAre(0, 0));
  table.Remove(a);
  EXPECT_EQ(table.columns(), unread);
}

TEST_F(NodeTableTest, ColumnsEqualARecountWheneverTheyAreBuiltAndFreed) {
  Random random(1);
  const std::vector<std::string> names = {"example.com/x", "example.com/y", "hugepages-2Mi"};
  // By row: what the node offers, and its pod.
  std::map<Row, std::pair<std::map<std::string, std::int64_t>, PlacedPod*>> expected;
  const auto offered = [&](NodeBuilder& node) {
    std::map<std::string, std::int64_t> amounts;
    for (const std::string& name : names) {
      if (random.Below(3) != 0) continue;
      amounts[name] = static_cast<std::int64_t>(random.Below(3));
      node.Allocatable(name, std::to_string(amounts[name]));
    }
    return amounts;
  };
  for (int step = 0; step < 2000; ++step) {
    NodeBuilder node = MakeNode("n" + std::to_string(step));
    if (expected.empty() || (expected.size() < 3 && random.Below(4) == 0)) {
      const auto amounts = offered(node);
      expected[Add(node)] = {amounts, nullptr};
    } else {
      const auto chosen =
          std::next(expected.begin(), static_cast<std::ptrdiff_t>(random.Below(expected.size())));
      auto& [row, known] = *chosen;
      if (known.second != nullptr && random.Below(2) == 0) {
        table.RemovePod(row, *std::exchange(known.second, nullptr));
      } else if (known.second == nullptr && random.Below(2) == 0) {
        known.second = &Pod(MakePod().Request(names[random.Below(names.size())], "2"));
        table.AddPod(row, *known.second);
      } else if (known.second == nullptr && random.Below(3) == 0) {
        table.Remove(row);
        expected.erase(chosen);
      } else {
        NodeBuilder updated = MakeNode(table.name(row));
        known.first = offered(updated);
        table.Update(row, updated.Share());
      }
    }
    for (const std::string& name : names) {
      if (random.Below(3) != 0) continue;  // columns are built at different times
      const ResourceId id = words.FindResource(name);
      const bool exists =
          std::ranges::any_of(expected, [&](const auto& entry) { return entry.second.first.contains(name); });
      ASSERT_EQ(table.allocatable(id).size(), exists ? table.rows() : 0U) << step;
      ASSERT_EQ(table.requested(id).size(), exists ? table.rows() : 0U) << step;
      for (const auto& [row, known] : expected) {
        const auto amount = known.first.find(name);
        const std::int64_t requested = known.second == nullptr ? 0 : known.second->use().requested.Of(id);
        if (exists) {
          ASSERT_EQ(table.allocatable(id)[row], amount == known.first.end() ? 0 : amount->second) << step;
          ASSERT_EQ(table.inverse_allocatable(id)[row], SmallInverse(table.allocatable(id)[row])) << step;
          ASSERT_EQ(table.requested(id)[row], requested) << step;
        }
        ASSERT_EQ(table.RequestedOn(row, id), requested) << step;
      }
    }
  }
}

TEST_F(NodeTableTest, AnOverlayIsRevertedIfAColumnIsBuiltMeanwhile) {
  const Row row = Add(MakeNode("n").Allocatable("example.com/gpu", "4"));
  const ResourceId gpu = words.FindResource("example.com/gpu");
  const PodInfo added = PreparePod(MakePod("added").Request("example.com/gpu", "1").Share(), words);
  {
    NodeTable::Overlay overlay(table);
    overlay.Add(row, added);
    EXPECT_THAT(table.requested(gpu), ElementsAre(1));
  }
  EXPECT_THAT(table.requested(gpu), ElementsAre(0));
}

TEST_F(NodeTableTest, TopologyKeysThatNoNodeHasShareOneTable) {
  const Row a = Add(MakeNode("a"));
  const LabelKeyId key = words.InternKey("rack");
  const Topology& absent = table.TopologyOf(key);
  EXPECT_EQ(&absent, &table.TopologyOf(words.InternKey("room")));
  EXPECT_EQ(absent.domains(), 0U);
  EXPECT_THAT(absent.domain, ElementsAre(Topology::kNoDomain));
  const Row b = Add(MakeNode("b").Label("rack", "r1"));
  const Topology& racks = table.TopologyOf(key);
  ASSERT_EQ(racks.domains(), 1U);
  EXPECT_EQ(racks.domain[a], Topology::kNoDomain);
  EXPECT_EQ(racks.domain[b], 0U);
  EXPECT_THAT(table.TopologyOf(words.FindKey("room")).domain,
              ElementsAre(Topology::kNoDomain, Topology::kNoDomain));
  table.Remove(b);
  EXPECT_EQ(&table.TopologyOf(key), &absent);
}

TEST_F(NodeTableTest, TheTopologyOfAKeyEndsWithTheLastNodeThatHasIt) {
  const Row a = Add(MakeNode("a").Label("rack", "1").Label("room", "x"));
  const Row b = Add(MakeNode("b").Label("rack", "2"));
  const LabelKeyId rack = words.FindKey("rack"), room = words.FindKey("room");
  const Topology& absent = table.TopologyOf(words.InternKey("absent"));
  EXPECT_EQ(table.TopologyOf(rack).domains(), 2U);
  EXPECT_EQ(table.TopologyOf(room).domains(), 1U);
  table.Update(a, MakeNode("a").Label("room", "y").Share());
  EXPECT_NE(&table.TopologyOf(rack), &absent) << "b has the key";
  EXPECT_EQ(table.TopologyOf(room).label_of[table.TopologyOf(room).domain[a]], words.FindLabel(room, "y"));
  table.Remove(b);
  EXPECT_EQ(&table.TopologyOf(rack), &absent);
  EXPECT_EQ(table.TopologyOf(room).domain[a], 0U) << "the other table is not affected";
  const Row c = Add(MakeNode("c").Label("rack", "3"));
  ASSERT_EQ(table.TopologyOf(rack).domains(), 1U);
  EXPECT_EQ(table.TopologyOf(rack).label_of[table.TopologyOf(rack).domain[c]], words.FindLabel(rack, "3"));
  EXPECT_EQ(table.TopologyOf(rack).domain[a], Topology::kNoDomain);
}

TEST_F(NodeTableTest, RowsOfRemovedNodesAreClearedAndReused) {
  const Row row =
      Add(MakeNode("a").Cpu("4").Label("k", "v").Cordoned().Taint("t", "", "NoSchedule").Image("i", 5));
  PlacedPod& pod = Pod(MakePod().Cpu("1").HostPort(80));
  table.AddPod(row, pod);
  table.RemovePod(row, pod);
  table.Remove(row);
  EXPECT_EQ(table.node_count(), 0U);
  EXPECT_EQ(Add(MakeNode("b")), row);
  EXPECT_EQ(table.rows(), 1U);
  EXPECT_EQ(table.allocatable(kCpu)[row], 0);
  EXPECT_EQ(table.requested(kCpu)[row], 0);
  EXPECT_EQ(table.non_zero_cpu()[row], 0);
  EXPECT_EQ(table.pod_count()[row], 0);
  EXPECT_THAT(WithLabel("k", "v"), IsEmpty());
  EXPECT_FALSE(table.WithKey(words.FindKey("k"))->Has(row));
  EXPECT_TRUE(table.unschedulable().Empty());
  EXPECT_THAT(words.Taints(table.taints(row)), IsEmpty());
  EXPECT_EQ(Image("i"), nullptr);
  EXPECT_THAT(Conflicts(80), IsEmpty());
}

TEST_F(NodeTableTest, LabelsFollowTheNode) {
  const Row a = Add(MakeNode("a").Label("zone", "x"));
  const Row b = Add(MakeNode("b").Label("zone", "x").Label("disk", "ssd"));
  EXPECT_THAT(WithLabel("zone", "x"), ElementsAre(a, b));
  table.Update(b, MakeNode("b").Label("zone", "y").Share());
  EXPECT_THAT(WithLabel("zone", "x"), ElementsAre(a));
  EXPECT_THAT(WithLabel("zone", "y"), ElementsAre(b));
  EXPECT_THAT(WithLabel("disk", "ssd"), IsEmpty());
  EXPECT_TRUE(table.WithKey(words.FindKey("zone"))->Has(b));
  EXPECT_FALSE(table.WithKey(words.FindKey("disk"))->Has(b));
}

TEST_F(NodeTableTest, AnUpdateOfTheNodeKeepsTheRequestedAmounts) {
  const Row row = Add(MakeNode("n").Cpu("4").Allocatable("example.com/gpu", "2"));
  table.AddPod(row, Pod(MakePod().Cpu("1")));
  table.Update(row, MakeNode("n").Cpu("8").Cordoned().Share());
  EXPECT_EQ(table.allocatable(kCpu)[row], 8000);
  EXPECT_THAT(table.allocatable(words.FindResource("example.com/gpu")), IsEmpty()) << "no longer offered";
  EXPECT_EQ(table.requested(kCpu)[row], 1000);
  EXPECT_TRUE(table.unschedulable().Has(row));
  table.Update(row, MakeNode("n").Cpu("8").Share());
  EXPECT_FALSE(table.unschedulable().Has(row));
}

TEST_F(NodeTableTest, TaintListsAreVisitedWithTheirRows) {
  Add(MakeNode("a"));
  const Row b = Add(MakeNode("b").Taint("k", "v", "NoSchedule"));
  const Row c = Add(MakeNode("c").Taint("k", "v", "NoSchedule"));
  std::map<std::size_t, std::size_t> rows_by_length;
  table.ForEachTaintList(
      [&](TaintListId id, const RowGroup& rows) { rows_by_length[words.Taints(id).size()] = rows.Count(); });
  EXPECT_THAT(rows_by_length, ElementsAre(::testing::Pair(0, 1), ::testing::Pair(1, 2)));
  EXPECT_EQ(table.taints(b), table.taints(c));
  table.Update(c, MakeNode("c").Share());
  EXPECT_NE(table.taints(b), table.taints(c));
}

TEST_F(NodeTableTest, ATaintListThatNoNodeHasIsForgotten) {
  const Row a = Add(MakeNode("a"));
  const Row b = Add(MakeNode("b").Taint("stays", "", "NoSchedule"));
  const std::size_t before = words.size();
  std::uint32_t highest = 0;
  for (int i = 0; i < 100; ++i) {
    table.Update(a, MakeNode("a").Taint("since", std::to_string(i), "NoSchedule").Share());
    highest = std::max(highest, table.taints(a).value);
    EXPECT_EQ(words.Taints(table.taints(a)).front().value, std::to_string(i));
  }
  EXPECT_LE(highest, 3U) << "a list is added before the former one is removed";
  table.Update(b, MakeNode("b").Taint("since", "99", "NoSchedule").Share());
  EXPECT_EQ(table.taints(a), table.taints(b));
  table.Remove(a);
  EXPECT_EQ(words.Taints(table.taints(b)).front().value, "99") << "another node has it";
  table.Remove(b);
  EXPECT_EQ(words.size(), before - 1) << "neither the list of b nor one of the others is left";
  std::size_t lists = 0;
  table.ForEachTaintList([&](TaintListId, const RowGroup&) { ++lists; });
  EXPECT_EQ(lists, 0U);
}

TEST_F(NodeTableTest, AnImageKeepsItsFirstSizeWhileAnotherNodeHasIt) {
  const Row a = Add(MakeNode("a").Image("app", 100));
  const Row b = Add(MakeNode("b").Image("app", 999));
  ASSERT_NE(Image("app"), nullptr);
  EXPECT_EQ(Image("app")->size_bytes, 100);
  EXPECT_EQ(Image("app")->rows.Count(), 2U);
  table.Update(a, MakeNode("a").Image("app", 50).Share());
  EXPECT_EQ(Image("app")->size_bytes, 100);
  table.Update(a, MakeNode("a").Image("other", 5).Share());
  EXPECT_EQ(Image("app")->size_bytes, 100);
  EXPECT_EQ(Image("app")->rows.Count(), 1U);
  table.Update(b, MakeNode("b").Share());
  EXPECT_EQ(Image("app"), nullptr);
  table.Update(b, MakeNode("b").Image("app", 7).Share());
  EXPECT_EQ(Image("app")->size_bytes, 7);
}

TEST_F(NodeTableTest, AnUpdateOfTheOnlyNodeWithAnImageSetsItsSize) {
  const Row a = Add(MakeNode("a").Image("app", 100));
  const Row b = Add(MakeNode("b").Image("app", 999));
  table.Update(a, MakeNode("a").Share());
  EXPECT_EQ(Image("app")->size_bytes, 100) << "the other node was not updated";
  std::uint64_t before = table.node_changes();
  table.Update(b, MakeNode("b").Image("app", 999).Share());
  EXPECT_EQ(Image("app")->size_bytes, 999) << "the list of the node is the same";
  EXPECT_GT(table.node_changes(), before);
  table.Update(b, MakeNode("b").Image("app", 7).Image("app", 8).Share());
  EXPECT_EQ(Image("app")->size_bytes, 7) << "the first of the list counts";
  before = table.node_changes();
  table.Update(b, MakeNode("b").Image("app", 7).Image("app", 8).Share());
  EXPECT_EQ(Image("app")->size_bytes, 7);
  EXPECT_EQ(table.node_changes(), before);
}

TEST_F(NodeTableTest, PortsConflictByAddressAndOnlyOnTheirRow) {
  const Row a = Add(MakeNode("a"));
  const Row b = Add(MakeNode("b"));
  const Row c = Add(MakeNode("c"));
  table.AddPod(a, Pod(MakePod().HostPort(80)));
  table.AddPod(b, Pod(MakePod().HostPort(80, "TCP", "10.0.0.1")));
  table.AddPod(c, Pod(MakePod().HostPort(80, "UDP")));
  EXPECT_THAT(Conflicts(80), ElementsAre(a, b));
  EXPECT_THAT(Conflicts(80, "10.0.0.1"), ElementsAre(a, b));
  EXPECT_THAT(Conflicts(80, "10.0.0.2"), ElementsAre(a));
  EXPECT_THAT(Conflicts(80, "", "UDP"), ElementsAre(c));
}

TEST_F(NodeTableTest, RemovingOneOfTwoPodsWithTheSamePortFreesThePort) {
  const Row row = Add(MakeNode("n"));
  PlacedPod& first = Pod(MakePod("first").HostPort(80));
  PlacedPod& second = Pod(MakePod("second").HostPort(80));
  table.AddPod(row, first);
  table.AddPod(row, second);
  table.RemovePod(row, first);
  EXPECT_THAT(Conflicts(80), IsEmpty());
  table.RemovePod(row, second);
  EXPECT_EQ(table.pod_count()[row], 0);
}

TEST_F(NodeTableTest, RequestsAreSummedWithAndWithoutDefaults) {
  const Row row = Add(MakeNode("n").Allocatable("example.com/gpu", "4"));
  table.AddPod(row, Pod(MakePod().Cpu("300m")));
  table.AddPod(row, Pod(MakePod().Request("example.com/gpu", "2").Request("ephemeral-storage", "1Ki")));
  EXPECT_EQ(table.requested(kCpu)[row], 300);
  EXPECT_EQ(table.requested(kMemory)[row], 0);
  EXPECT_EQ(table.requested(kEphemeralStorage)[row], 1024);
  EXPECT_EQ(table.requested(words.FindResource("example.com/gpu"))[row], 2);
  EXPECT_EQ(table.non_zero_cpu()[row], 400);
  EXPECT_EQ(table.non_zero_memory()[row], 400 << 20);
  EXPECT_EQ(table.pod_count()[row], 2);
}

TEST_F(NodeTableTest, ARowListsItsPods) {
  const Row row = Add(MakeNode("n"));
  PlacedPod& a = Pod(MakePod("a"));
  PlacedPod& b = Pod(MakePod("b"));
  PlacedPod& c = Pod(MakePod("c"));
  for (PlacedPod* pod : {&a, &b, &c}) table.AddPod(row, *pod);
  table.RemovePod(row, a);
  EXPECT_THAT(table.pods(row), UnorderedElementsAre(&b, &c));
  table.RemovePod(row, b);
  EXPECT_THAT(table.pods(row), ElementsAre(&c));
}

TEST_F(NodeTableTest, InvalidatedResultsOfARowAreAChangeOfThatRow) {
  Add(MakeNode("a"));
  const Row row = Add(MakeNode("b"));
  const std::uint64_t seen = table.pod_changes().count();
  table.InvalidateResults(row);
  std::vector<Row> changed;
  EXPECT_TRUE(table.pod_changes().ForEachSince(seen, [&](Row at) { changed.push_back(at); }));
  EXPECT_EQ(changed, std::vector<Row>{row});
}

TEST_F(NodeTableTest, AnOverlayIsRevertedCompletely) {
  const Row a = Add(MakeNode("a"));
  const Row b = Add(MakeNode("b"));
  PlacedPod& there = Pod(MakePod("there").Cpu("1").HostPort(80));
  table.AddPod(a, there);
  const PodInfo added = PreparePod(
      MakePod("added").Cpu("2").HostPort(80).HostPort(81).Request("example.com/new", "1").Share(), words);
  {
    NodeTable::Overlay overlay(table);
    overlay.Add(a, added);
    overlay.Add(b, added);
    overlay.Add(b, added);
    EXPECT_EQ(table.requested(kCpu)[a], 3000);
    EXPECT_EQ(table.requested(kCpu)[b], 4000);
    EXPECT_EQ(table.pod_count()[b], 2);
    EXPECT_EQ(table.pods(b).size(), 2U);
    EXPECT_EQ(table.RequestedOn(b, words.FindResource("example.com/new")), 2);
    EXPECT_THAT(Conflicts(80), ElementsAre(a, b));
    EXPECT_THAT(Conflicts(81), ElementsAre(a, b));
  }
  EXPECT_EQ(table.requested(kCpu)[a], 1000);
  EXPECT_EQ(table.requested(kCpu)[b], 0);
  EXPECT_EQ(table.non_zero_memory()[b], 0);
  EXPECT_EQ(table.pod_count()[b], 0);
  EXPECT_THAT(table.pods(a), ElementsAre(&there));
  EXPECT_THAT(table.pods(b), IsEmpty());
  EXPECT_EQ(table.RequestedOn(b, words.FindResource("example.com/new")), 0);
  EXPECT_THAT(Conflicts(80), ElementsAre(a)) << "the port of the pod that is there stays taken";
  EXPECT_THAT(Conflicts(81), IsEmpty());
}

TEST_F(NodeTableTest, AnOverlayRemovesAndRestoresPods) {
  const Row row = Add(MakeNode("n"));
  PlacedPod& stays = Pod(MakePod("stays").Cpu("1").HostPort(81));
  PlacedPod& goes = Pod(MakePod("goes").Cpu("2").HostPort(80));
  table.AddPod(row, goes);
  table.AddPod(row, stays);
  {
    NodeTable::Overlay overlay(table);
    overlay.Remove(row, goes);
    EXPECT_EQ(table.requested(kCpu)[row], 1000);
    EXPECT_THAT(table.pods(row), ElementsAre(&stays));
    EXPECT_THAT(Conflicts(80), IsEmpty());
    overlay.Add(row, goes);
    overlay.Remove(row, stays);
    EXPECT_EQ(table.requested(kCpu)[row], 2000);
    EXPECT_THAT(Conflicts(81), IsEmpty());
  }
  EXPECT_EQ(table.requested(kCpu)[row], 3000);
  EXPECT_THAT(table.pods(row), UnorderedElementsAre(&stays, &goes));
  EXPECT_THAT(Conflicts(80), ElementsAre(row));
  EXPECT_THAT(Conflicts(81), ElementsAre(row));
}

TEST_F(NodeTableTest, AWithdrawalIsRevertedCompletely) {
  const Row row = Add(MakeNode("n"));
  PlacedPod& a = Pod(MakePod("a").Cpu("1").HostPort(80));
  PlacedPod& b = Pod(MakePod("b").Cpu("2").HostPort(81));
  PlacedPod& c = Pod(MakePod("c").Cpu("4"));
  for (PlacedPod* pod : {&a, &b, &c}) table.AddPod(row, *pod);
  PlacedPod& guest = Pod(MakePod("guest").Cpu("3").HostPort(80));
  const std::uint64_t changes = table.pod_changes().count();
  {
    NodeTable::Withdrawal withdrawal(table);
    EXPECT_EQ(withdrawal.Remove(row, a), 0U);
    EXPECT_EQ(withdrawal.Remove(row, c), 1U);
    EXPECT_EQ(table.requested(kCpu)[row], 2000);
    EXPECT_THAT(table.pods(row), ElementsAre(&b));
    EXPECT_THAT(Conflicts(80), IsEmpty());
    table.AddPod(row, guest);
    EXPECT_THAT(Conflicts(80), ElementsAre(row));
    table.RemovePod(row, guest);
    withdrawal.PutBack(0);
    EXPECT_THAT(Conflicts(80), ElementsAre(row));
    withdrawal.RemoveAgain(0);
    withdrawal.PutBack(1);
    EXPECT_EQ(table.requested(kCpu)[row], 6000);
  }
  EXPECT_EQ(table.requested(kCpu)[row], 7000);
  EXPECT_THAT(table.pods(row), UnorderedElementsAre(&a, &b, &c));
  EXPECT_THAT(Conflicts(80), ElementsAre(row));
  EXPECT_THAT(Conflicts(81), ElementsAre(row));
  EXPECT_GT(table.pod_changes().count(), changes) << "results of the row must be evaluated again";
}

TEST_F(NodeTableTest, AWithdrawalInvalidatesResultsWhileImagesAreAbsentAndAfterwards) {
  Add(MakeNode("n").Image("app:1", 500 << 20));
  const std::uint64_t before = table.node_changes();
  std::uint64_t during = 0;
  {
    const NodeTable::Withdrawal withdrawal(table);
    during = table.node_changes();
    EXPECT_NE(during, before);
  }
  EXPECT_NE(table.node_changes(), during);
}

TEST_F(NodeTableTest, APodMayBeRemovedAndRestoredRepeatedly) {
  const Row row = Add(MakeNode("n"));
  std::vector<PlacedPod*> placed;
  for (int i = 0; i < 4; ++i) {
    placed.push_back(&Pod(MakePod("p" + std::to_string(i)).Cpu("1").HostPort(i == 3 ? 83 : 0)));
    table.AddPod(row, *placed.back());
  }
  {
    NodeTable::Overlay overlay(table);
    for (PlacedPod* pod : placed) overlay.Remove(row, *pod);
    EXPECT_EQ(table.pod_count()[row], 0);
    for (int round = 0; round < 3; ++round) {
      for (PlacedPod* pod : placed) overlay.Add(row, *pod);
      EXPECT_EQ(table.requested(kCpu)[row], 4000);
      EXPECT_THAT(table.pods(row), UnorderedElementsAreArray(placed));
      for (int i = round; i < 4; ++i) overlay.Remove(row, *placed[static_cast<std::size_t>(i)]);
      EXPECT_EQ(table.pod_count()[row], round);
      EXPECT_THAT(Conflicts(83), IsEmpty());
      for (int i = 0; i < round; ++i) overlay.Remove(row, *placed[static_cast<std::size_t>(i)]);
    }
    overlay.Add(row, *placed[1]);
  }
  EXPECT_EQ(table.requested(kCpu)[row], 4000);
  EXPECT_EQ(table.pod_count()[row], 4);
  EXPECT_THAT(table.pods(row), UnorderedElementsAreArray(placed));
  EXPECT_THAT(Conflicts(83), ElementsAre(row));
}

// --- pods ---

TEST(PreparedPod, HasRequestsForFitScoreAndUse) {
  SymbolTable words;
  const PodInfo info = PreparePod(
      MakePod("p").Cpu("-1").Request("example.com/gpu", "3").PodLevel("memory", "1Gi").Share(), words);
  EXPECT_EQ(info.key, "default/p");
  EXPECT_EQ(info.fit().milli_cpu, 0) << "the filter treats negative values as 0";
  EXPECT_EQ(info.use().requested.milli_cpu, -1000) << "the sums of a node do not";
  EXPECT_EQ(info.fit().memory, 1 << 30);
  EXPECT_EQ(info.score().memory, 200 << 20) << "the score ignores pod-level requests and applies defaults";
  EXPECT_EQ(info.fit().Of(words.FindResource("example.com/gpu")), 3);
  EXPECT_EQ(info.fit().Of(words.InternResource("example.com/other")), 0);
}

TEST(PreparedPod, ListsItsImagesOncePerUse) {
  SymbolTable words;
  auto pod = MakePod()
                 .Container(berth::testing::MakeContainer().Image("a"))
                 .Container(berth::testing::MakeContainer().Image("a:latest"));
  pod.Init(berth::testing::MakeContainer().Image("b@sha256:1"));
  const PodInfo info = PreparePod(pod.Share(), words);
  EXPECT_EQ(info.image_users(), 3);
  EXPECT_THAT(info.images(), ElementsAre(words.images.Find("b@sha256:1"), words.images.Find("a:latest"),
                                         words.images.Find("a:latest")));
}

TEST(NormalizedImageName, AddsTheTagLatestUnlessThereIsATag) {
  EXPECT_EQ(NormalizedImageName("nginx"), "nginx:latest");
  EXPECT_EQ(NormalizedImageName("repo:5000/img"), "repo:5000/img:latest");
  EXPECT_EQ(NormalizedImageName("repo:5000/img:v1"), "repo:5000/img:v1");
  EXPECT_EQ(NormalizedImageName("img@sha256:0"), "img@sha256:0");
  EXPECT_EQ(NormalizedImageName(""), ":latest");
}

// --- columns and events ---

TEST(SymbolTable, InternsResourcesAndTaintLists) {
  SymbolTable words;
  EXPECT_EQ(words.InternResource("cpu"), kCpu);
  EXPECT_EQ(words.InternResource("memory"), kMemory);
  EXPECT_EQ(words.InternResource("ephemeral-storage"), kEphemeralStorage);
  EXPECT_FALSE(words.InternResource("pods").known());
  EXPECT_TRUE(words.IsExtended(words.InternResource("example.com/gpu")));
  EXPECT_FALSE(words.IsExtended(words.InternResource("hugepages-2Mi")));
  const api::Taint a{"a", "", "NoSchedule"};
  const api::Taint b{"b", "", "NoSchedule"};
  EXPECT_NE(words.UseTaints({a, b}), words.UseTaints({b, a})) << "a list, not a set";
  EXPECT_EQ(words.UseTaints({a, b}), words.UseTaints({a, b}));
  EXPECT_NE(words.InternLabel(words.InternKey("k"), "v"), words.InternLabel(words.InternKey("l"), "v"));
  EXPECT_EQ(words.InternPort("", 80), words.InternPort("TCP", 80));
  EXPECT_NE(words.InternPort("UDP", 80), words.InternPort("TCP", 80));
}
TEST_F(NodeTableTest, AnObserverLearnsWhatTheTableContains) {
  struct Recorder final : PodObserver {
    void OnPodAdded(Row row, const PlacedPod& pod) override {
      seen.push_back(std::to_string(row) + "/" + pod.pod->metadata.name);
    }
    void OnPodRemoved(Row, const PlacedPod&) override {}
    void OnNodeAdded(Row row) override { seen.push_back(std::to_string(row)); }
    std::vector<std::string> seen;
  };
  const Row first = Add(MakeNode("n1"));
  Add(MakeNode("n2"));
  table.AddPod(first, Pod(MakePod("a")));
  Recorder recorder;
  table.ObserveWithOverlays(recorder);
  EXPECT_THAT(recorder.seen, ElementsAre("0", "0/a", "1"));
  table.Forget(recorder);
}

}  // namespace
}  // namespace berth::cluster
