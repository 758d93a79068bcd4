// The plugin GroupReservation in a complete scheduler: a group that waits for several nodes at once gets them
// although single pods arrive all the time.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeGroup;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using std::chrono::seconds;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr const char* kConfig = R"(
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      disabled: [{name: DefaultPreemption}]
      enabled: [{name: GroupReservation}, {name: DefaultPreemption}]
  pluginConfig:
  - name: GroupReservation
    args: {waitSeconds: 600, reservationSeconds: 3600, maxReservations: 1}
)";

config::SchedulerConfig ReservingConfig(const std::string& text) {
  const runtime::Registry registry = assembly::InTreePlugins();
  std::vector<std::string> notes;
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  const std::vector<std::string> gates{"GenericWorkload=true"};
  options.gates = config::FeatureGates::Parse(gates, notes).value();
  return config::ParseSchedulerConfig(text, options).value();
}

// Nodes n0 to n3 with one CPU, each with a running pod r0 to r3 that takes all of it.
class GroupReservationTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  explicit GroupReservationTest(const std::string& config = kConfig) {
    Build(ReservingConfig(config), assembly::InTreePlugins());
    loop.sink().OnSynced();
    for (int i = 0; i < 4; ++i) {
      loop.sink().On(ports::Change<api::Node>{nullptr, MakeNode(Node(i)).Cpu("1").Memory("4Gi").Share()});
      Add(MakePod(fmt::format("r{}", i)).Cpu("1").OnNode(Node(i)));
    }
  }
  static std::string Node(int i) { return fmt::format("n{}", i); }
  void Add(PodBuilder pod) {
    const api::PodPtr shared = pod.Uid(pod.raw().metadata.name).Share();
    pods[shared->metadata.name] = shared;
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
  }
  // A running pod ends.
  void End(const std::string& name) {
    api::PodPtr last = pods.at(name);
    loop.sink().On(ports::Change<api::Pod>{last, nullptr});
    pods.erase(name);
    Wait(seconds(15));  // longer than a back-off
  }
  // The watch reports new bindings.
  void Confirm() {
    for (; confirmed < api.bindings.size(); ++confirmed) {
      const std::string& name = api.bindings[confirmed].name;
      auto bound = std::make_shared<api::Pod>(*pods.at(name));
      bound->spec.node_name = api.bindings[confirmed].node;
      loop.sink().On(ports::Change<api::Pod>{pods.at(name), bound});
      pods.at(name) = bound;
    }
    Settle();
  }
  void AddGang(int members, int priority = 0, const std::string& name = "g") {
    groups[name] = MakeGroup(name, members, priority);
    loop.sink().On(ports::Change<api::PodGroup>{nullptr, groups[name]});
    for (int i = 0; i < members; ++i)
      Add(MakePod(fmt::format("{}{}", name, i)).Cpu("1").Priority(priority).Group(name));
    Settle();
  }
  struct Gang {
    const char* name;
    int members;
    int priority = 0;
  };
  // One per minute; all wait for longer than waitSeconds.
  void AddWaitingGangs(std::initializer_list<Gang> gangs) {
    for (const Gang& gang : gangs) {
      AddGang(gang.members, gang.priority, gang.name);
      Wait(seconds(60));
    }
    LetTheGangWait();
  }
  void DeleteGang(const std::string& name, int members) {
    for (int i = 0; i < members; ++i) Delete(fmt::format("{}{}", name, i));
    loop.sink().On(ports::Change<api::PodGroup>{groups.at(name), nullptr});
    Settle();
  }
  void Delete(const std::string& pod) {
    loop.sink().On(ports::Change<api::Pod>{pods.at(pod), nullptr});
    pods.erase(pod);
  }
  void AddSingle(const std::string& name, int priority = 0) {
    PodBuilder pod = MakePod(name).Cpu("1").Priority(priority);
    pod.raw().spec.never_preempts = true;
    Add(std::move(pod));
    Settle();
  }
  // The gang waits for longer than waitSeconds, and is tried again.
  void LetTheGangWait() {
    for (int minute = 0; minute < 16; ++minute) Wait(seconds(60));
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> bound;
    for (const ports::Binding& binding : api.bindings) bound.push_back(binding.name);
    return bound;
  }
  std::vector<std::string> NotesOf(const std::string& reason) const {
    std::vector<std::string> notes;
    for (const ports::Event& event : events.events) {
      if (event.reason == reason) notes.push_back(event.note);
    }
    return notes;
  }

  std::map<std::string, api::PodPtr> pods;
  std::map<std::string, std::shared_ptr<const api::PodGroup>> groups;
  std::size_t confirmed = 0;
};

TEST_F(GroupReservationTest, BeforeTheWaitSinglePodsTakeTheNodes) {
  AddGang(2);
  AddSingle("s");
  End("r0");
  EXPECT_THAT(Bound(), UnorderedElementsAre("s"));
}

TEST_F(GroupReservationTest, AGroupThatHasWaitedGetsItsNodesAlthoughSinglePodsWait) {
  AddGang(2);
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesReserved"),
              ElementsAre(HasSubstr("2 node(s) are reserved for default/g until ")));
  for (const char* name : {"s1", "s2", "s3"}) AddSingle(name);
  // n0 and n1 are reserved: all nodes run one pod, so the names decide.
  End("r3");
  EXPECT_THAT(Bound(), UnorderedElementsAre("s1")) << "other nodes are open";
  End("r0");
  EXPECT_THAT(Bound(), UnorderedElementsAre("s1"));
  End("r1");
  EXPECT_THAT(Bound(), UnorderedElementsAre("s1", "g0", "g1"));
}

TEST_F(GroupReservationTest, TheNodesAreOpenAgainWhenTheGroupIsScheduled) {
  AddGang(2);
  LetTheGangWait();
  for (const char* name : {"r0", "r1"}) End(name);
  Confirm();
  AddSingle("s");
  End("g0");
  EXPECT_THAT(Bound(), Contains("s"));
}

TEST_F(GroupReservationTest, PodsThatWereRejectedAreTriedAgainWhenTheGroupIsDeleted) {
  AddGang(2);
  LetTheGangWait();
  AddSingle("s");
  End("r0");
  ASSERT_THAT(Bound(), IsEmpty());
  for (const char* member : {"g0", "g1"}) End(member);
  EXPECT_THAT(Bound(), UnorderedElementsAre("s"));
}

TEST_F(GroupReservationTest, AReservationExpires) {
  AddGang(2);
  LetTheGangWait();
  AddSingle("s");
  End("r0");
  ASSERT_THAT(Bound(), IsEmpty());
  for (int minute = 0; minute < 61; ++minute) Wait(seconds(60));
  EXPECT_THAT(Bound(), UnorderedElementsAre("s"));
}

TEST_F(GroupReservationTest, AReservationLastsAsLongWhenTheTimeOfDayIsSet) {
  const struct {
    const char* what;
    seconds by;
  } rows[] = {{"forward", seconds(7200)}, {"back", seconds(-14400)}};
  AddGang(2);
  LetTheGangWait();
  for (const auto& row : rows) {
    loop_clock.SetWallClock(row.by);
    for (int minute = 0; minute < 15; ++minute) Wait(seconds(60));
  }
  AddSingle("s");
  End("r0");
  EXPECT_THAT(Bound(), IsEmpty()) << "it lasts for an hour";
  for (int minute = 0; minute < 31; ++minute) Wait(seconds(60));
  EXPECT_THAT(Bound(), UnorderedElementsAre("s"));
}

TEST_F(GroupReservationTest, PodsOfHigherPriorityAndOfDaemonSetsMayUseReservedNodes) {
  AddGang(4);
  LetTheGangWait();
  AddSingle("same");
  AddSingle("higher", 1);
  PodBuilder daemon = MakePod("daemon").Cpu("1");
  daemon.raw().metadata.controller = api::OwnerReference{"apps/v1", "DaemonSet", "d", "d"};
  Add(std::move(daemon));
  Settle();
  End("r0");
  EXPECT_THAT(Bound(), UnorderedElementsAre("higher"));
  End("r1");
  EXPECT_THAT(Bound(), UnorderedElementsAre("higher", "daemon"));
}

TEST_F(GroupReservationTest, AStaticPodDoesNotEnd) {
  End("r0");
  PodBuilder pod = MakePod("static").Cpu("1").OnNode("n0");
  pod.raw().metadata.controller = api::OwnerReference{"v1", "Node", "n0", "n"};
  Add(std::move(pod));
  AddGang(4);
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesNotReserved"),
              ElementsAre("default/g does not fit even without the pods of its priority and below"));
}

TEST_F(GroupReservationTest, AGroupThatIsTooLargeForTheClusterReservesNothing) {
  AddGang(5);
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesNotReserved"),
              ElementsAre("default/g does not fit even without the pods of its priority and below"))
      << "once per waiting time";
  AddSingle("s");
  End("r0");
  EXPECT_THAT(Bound(), UnorderedElementsAre("s"));
}

TEST_F(GroupReservationTest, FurtherMembersOfACompleteGroupWaitWithoutAReservation) {
  AddGang(2);
  Add(MakePod("further").Cpu("1").Group("g"));
  for (const char* name : {"r0", "r1"}) End(name);
  Confirm();
  ASSERT_THAT(Bound(), SizeIs(2));
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesReserved"), IsEmpty());
  EXPECT_THAT(NotesOf("NodesNotReserved"), IsEmpty());
  End("r2");
  EXPECT_THAT(Bound(), SizeIs(3));
}

// The plugin's instance is another one; its timers and events are, too.
TEST_F(GroupReservationTest, OfTwoGroupsTheOneThatHasWaitedLongerIsNext) {
  AddWaitingGangs({{"g", 3}, {"z", 2}, {"a", 2}});
  EXPECT_THAT(NotesOf("NodesReserved"), ElementsAre(HasSubstr("3 node(s) are reserved for default/g")))
      << "maxReservations is 1";
  DeleteGang("g", 3);
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesReserved"), ElementsAre(_, HasSubstr("2 node(s) are reserved for default/z")));
}

TEST_F(GroupReservationTest, AGroupOfHigherPriorityIsNext) {
  AddWaitingGangs({{"g", 3, 9}, {"a", 2}, {"z", 2, 5}});
  DeleteGang("g", 3);
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesReserved"), ElementsAre(_, HasSubstr("reserved for default/z")));
}

class ManyGroupReservations : public GroupReservationTest {
 protected:
  ManyGroupReservations() : GroupReservationTest(WithReservations(3)) {}
  static std::string WithReservations(int most) {
    std::string text = kConfig;
    const std::string_view one = "maxReservations: 1";
    return text.replace(text.find(one), one.size(), fmt::format("maxReservations: {}", most));
  }
};

TEST_F(ManyGroupReservations, NoGroupPassesOneThatNeedsNodesThatAreReservedForAnother) {
  AddWaitingGangs({{"g", 3}, {"h", 3}, {"k", 1}});
  EXPECT_THAT(NotesOf("NodesReserved"), ElementsAre(HasSubstr("3 node(s) are reserved for default/g")));
  EXPECT_THAT(
      NotesOf("NodesNotReserved"),
      ElementsAre("default/h is the next group for which nodes are reserved, when those of default/g are "
                  "open again"));
  DeleteGang("g", 3);
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesReserved"), ElementsAre(_, HasSubstr("3 node(s) are reserved for default/h"),
                                                    HasSubstr("1 node(s) are reserved for default/k")));
}

TEST_F(ManyGroupReservations, AGroupThatIsNotTriedAnyMoreKeepsNoOtherFromItsReservation) {
  AddWaitingGangs({{"g", 3}, {"h", 3}, {"k", 1}});
  Delete("h0");  // the group has too few members
  Delete("h1");
  LetTheGangWait();
  EXPECT_THAT(NotesOf("NodesReserved"), ElementsAre(_, HasSubstr("1 node(s) are reserved for default/k")));
}

TEST_F(GroupReservationTest, AReloadKeepsTheReservations) {
  AddGang(2);
  LetTheGangWait();
  AddSingle("s");
  Reload(ReservingConfig(kConfig), assembly::InTreePlugins());
  engine->ReleaseReplaced(clock.Now() + seconds(1));
  End("r0");
  EXPECT_THAT(Bound(), IsEmpty()) << "the node stays reserved";
  EXPECT_THAT(NotesOf("NodesReserved"), SizeIs(1)) << "the group does not wait anew";
  for (const char* member : {"g0", "g1"}) End(member);
  EXPECT_THAT(Bound(), UnorderedElementsAre("s")) << "the end of the reservation is noticed";
}

TEST_F(GroupReservationTest, AReloadWithoutThePluginEndsTheReservations) {
  const auto reserved = [this] {
    return metrics
        .Gauge("berth_group_reservations", "[ALPHA] Pod groups for which GroupReservation reserves nodes.")
        .Value();
  };
  AddGang(2);
  LetTheGangWait();
  AddSingle("s");
  EXPECT_EQ(reserved(), 1);
  config::SchedulerConfig without = ReservingConfig(kConfig);
  std::erase_if(without.profiles.front().at(config::Point::kMultiPoint).enabled,
                [](const config::PluginRef& plugin) { return plugin.name == "GroupReservation"; });
  Reload(without, assembly::InTreePlugins());
  End("r0");
  EXPECT_THAT(Bound(), UnorderedElementsAre("s"));
  engine->ReleaseReplaced(clock.Now() + seconds(1));
  EXPECT_EQ(reserved(), 0);
}

TEST(GroupReservationArguments, AreChecked) {
  for (const auto& [args, error] : std::initializer_list<std::pair<std::string, std::string>>{
           {"{waitSeconds: 0}", "waitSeconds: Invalid value: 0: must be from 1 to 604800"},
           {"{reservationSeconds: 604801}",
            "reservationSeconds: Invalid value: 604801: must be from 1 to 604800"},
           {"{maxReservations: 65}", "maxReservations: Invalid value: 65: must be from 1 to 64"}}) {
    const runtime::Registry registry = assembly::InTreePlugins();
    config::ParseOptions options;
    options.codecs = &registry.codecs();
    std::string text = kConfig;
    text.replace(text.find("{waitSeconds"), std::string::npos, args);
    const auto config = config::ParseSchedulerConfig(text, options);
    ASSERT_FALSE(config.has_value()) << args;
    EXPECT_THAT(config.error().message, HasSubstr(error));
  }
}

}  // namespace
}  // namespace berth::cycle
