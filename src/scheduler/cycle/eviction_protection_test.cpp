// Plugins that protect pods from preemption, in a complete scheduler: EvictionBudget and PreemptionToleration
// in every kind of preemption.
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
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Makes every dry run one of a single node.
class CountingPlugin final : public framework::PreFilterExtensionsPlugin {
 public:
  std::string_view Name() const override { return "Counting"; }
  framework::PreFilterResult PreFilter(const framework::Attempt&) const override { return {}; }
  framework::Status AddPod(const framework::Attempt&, const cluster::PlacedPod&,
                           cluster::Row) const override {
    return {};
  }
  framework::Status RemovePod(const framework::Attempt&, const cluster::PlacedPod&,
                              cluster::Row) const override {
    return {};
  }
};

runtime::Registry Plugins() {
  runtime::Registry registry = assembly::InTreePlugins();
  registry.AddForeign("Counting", [](const framework::RawArgs&, framework::Handle&) {
    return framework::PluginOrError(std::make_unique<CountingPlugin>());
  });
  return registry;
}

config::SchedulerConfig Config(const std::string& profiles) {
  const runtime::Registry registry = Plugins();
  std::vector<std::string> notes;
  config::ParseOptions options;
  options.codecs = &registry.codecs();
  const std::vector<std::string> gates{"GenericWorkload=true"};
  options.gates = config::FeatureGates::Parse(gates, notes).value();
  const std::string text =
      "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n" + profiles;
  return config::ParseSchedulerConfig(text, options).value();
}

// A profile with EvictionBudget and these arguments.
std::string WithBudget(const std::string& args, const std::string& more_plugins = "",
                       const std::string& name = "default-scheduler") {
  return fmt::format(R"(
- schedulerName: {}
  plugins: {{multiPoint: {{enabled: [{{name: EvictionBudget}}{}]}}}}
  pluginConfig: [{{name: EvictionBudget, args: {}}}]
)",
                     name, more_plugins, args);
}

constexpr const char* kTolerations = R"(
- schedulerName: default-scheduler
  plugins:
    postFilter: {enabled: [{name: PreemptionToleration}], disabled: [{name: DefaultPreemption}]}
)";

class EvictionProtectionTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  void Start(const std::string& profiles) {
    Build(Config(profiles), Plugins());
    loop.sink().OnSynced();
  }
  // Each node has one CPU.
  void AddNodes(int count) {
    for (int i = 1; i <= count; ++i) {
      loop.sink().On(
          ports::Change<api::Node>{nullptr, MakeNode(fmt::format("n{}", i)).Cpu("1").Memory("4Gi").Share()});
    }
  }
  std::int64_t Ago(Duration ago) const {
    return std::chrono::duration_cast<seconds>((clock.WallNow() - ago).time_since_epoch()).count();
  }
  // A pod of low priority that has run for this time.
  PodBuilder Running(const std::string& name, const std::string& node, Duration ran,
                     const std::string& cpu = "1") const {
    PodBuilder pod = MakePod(name).Cpu(cpu).OnNode(node);
    pod.raw().status.start_time = Ago(ran);
    return pod;
  }
  static PodBuilder High(const std::string& name = "high") { return MakePod(name).Cpu("1").Priority(10); }
  api::PodPtr Add(PodBuilder pod) {
    const api::PodPtr shared = pod.Uid("uid-" + pod.raw().metadata.name).Share();
    pods[shared->metadata.name] = shared;
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    Settle();
    return shared;
  }
  // The API server reports that a scheduler has marked the pod and deleted it.
  void Terminate(const std::string& name) {
    auto after = std::make_shared<api::Pod>(*pods.at(name));
    after->metadata.deletion_timestamp = FormatTime(clock.WallNow());
    after->status.conditions.push_back({.type = "DisruptionTarget",
                                        .status = "True",
                                        .reason = "PreemptionByScheduler",
                                        .message = "",
                                        .last_transition_time = FormatTime(clock.WallNow())});
    loop.sink().On(ports::Change<api::Pod>{pods.at(name), after});
    pods.at(name) = after;
    Settle();
  }
  void Remove(const std::string& name) {
    const api::PodPtr last = pods.at(name);
    pods.erase(name);
    loop.sink().On(ports::Change<api::Pod>{last, nullptr});
    Settle();
  }
  void AddGroup(const api::PodGroupPtr& group) {
    loop.sink().On(ports::Change<api::PodGroup>{nullptr, group});
  }
  static api::PodGroupPtr DisruptedAsAUnit(const std::string& name) {
    auto unit = std::make_shared<api::PodGroup>(*MakeGroup(name, std::nullopt, 0));
    unit->disrupted_as_a_unit = true;
    return unit;
  }
  void AddClass(const std::string& name, const std::string& minimum, const std::string& toleration_seconds) {
    auto object = std::make_shared<api::PriorityClass>();
    object->metadata.name = name;
    object->value = 0;
    object->metadata.annotations.emplace();
    object->metadata.annotations->Set(std::string(api::PriorityClass::kMinimumPreemptablePriority), minimum);
    if (!toleration_seconds.empty()) {
      object->metadata.annotations->Set(std::string(api::PriorityClass::kTolerationSeconds),
                                        toleration_seconds);
    }
    std::shared_ptr<const api::PriorityClass> before = classes[name];
    classes[name] = object;
    loop.sink().On(ports::Change<api::PriorityClass>{before, object});
    Settle();
  }
  static PodBuilder OfClass(PodBuilder pod, const std::string& name) {
    pod.raw().spec.priority_class_name = name;
    return pod;
  }
  PodBuilder Scheduled(PodBuilder pod, Duration ago) const {
    pod.raw().status.conditions.push_back(
        {.type = "PodScheduled", .status = "True", .reason = "", .message = "", .last_transition_time = ""});
    pod.raw().status.scheduled_time = Ago(ago);
    return pod;
  }
  // Time passes in steps that let timers and back-offs end.
  void Pass(Duration time) {
    for (Duration passed{}; passed < time; passed += seconds(10)) Wait(seconds(10));
  }
  std::vector<std::string> Deleted() const {
    std::vector<std::string> names;
    for (const auto& deletion : api.deletions) names.push_back(deletion.name);
    return names;
  }
  // The note of the last failed attempt of the pod.
  std::string NoteOf(const std::string& pod) const {
    std::string note;
    for (const auto& event : events.events) {
      if (event.reason == "FailedScheduling" && event.regarding->metadata.name == pod) note = event.note;
    }
    return note;
  }
  std::vector<std::string> RejectorsOf(const std::string& name) {
    std::vector<std::string> rejectors;
    scheduler->queue().ForEach([&](const framework::QueuedPod& pod, const char*) {
      if (pod.info.pod->metadata.name == name) rejectors = pod.rejectors;
    });
    return rejectors;
  }

  std::map<std::string, api::PodPtr> pods;
  std::map<std::string, std::shared_ptr<const api::PriorityClass>> classes;
};

// --- single pods, in each kind of dry run ---

enum class Kind { kCombined, kSeparate, kUnits };
class SinglePodTest : public EvictionProtectionTest, public ::testing::WithParamInterface<Kind> {
 protected:
  void StartWith(const std::string& args) {
    Start(WithBudget(args, GetParam() == Kind::kSeparate ? ", {name: Counting}" : ""));
    if (GetParam() == Kind::kUnits) AddGroup(MakeGroup("victims"));
  }
  // Nodes with a member of a group are evaluated by units.
  void AddVictim(PodBuilder pod) {
    if (GetParam() == Kind::kUnits) pod.Group("victims");
    Add(std::move(pod));
  }
};
INSTANTIATE_TEST_SUITE_P(Table, SinglePodTest,
                         ::testing::Values(Kind::kCombined, Kind::kSeparate, Kind::kUnits),
                         [](const auto& row) {
                           return row.param == Kind::kCombined   ? "Combined"
                                  : row.param == Kind::kSeparate ? "Separate"
                                                                 : "ByUnits";
                         });

// Without the plugin the pod that started last is evicted.
TEST_P(SinglePodTest, EvictsAPodThatHasRunLongEnoughInsteadOfAYoungOne) {
  StartWith("{minRunSeconds: 600}");
  AddNodes(2);
  AddVictim(Running("young", "n1", minutes(9)));
  AddVictim(Running("old", "n2", minutes(10)));
  Add(High());
  EXPECT_THAT(Deleted(), ElementsAre("old"));
}

TEST_P(SinglePodTest, IsRejectedWithTheReasonIfAllPossibleVictimsAreProtected) {
  StartWith("{minRunSeconds: 600}");
  AddNodes(2);
  AddVictim(Running("v1", "n1", minutes(1)));
  AddVictim(Running("v2", "n2", minutes(2)));
  Add(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_EQ(NoteOf("high"),
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 node(s) had "
            "pods that must not be evicted (run time below 10m0s).");
}

TEST_P(SinglePodTest, IsRejectedWithTheReasonIfProtectedPodsTakeTheRoom) {
  StartWith("{minRunSeconds: 600}");
  AddNodes(1);
  AddVictim(Running("young", "n1", minutes(1), "500m"));
  AddVictim(Running("old", "n1", minutes(11), "500m"));
  Add(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NoteOf("high"), HasSubstr("preemption: 0/1 nodes are available: 1 Insufficient cpu, 1 node(s) "
                                        "had pods that must not be evicted (run time below 10m0s)."));
}

TEST_P(SinglePodTest, EvictsAsManyPodsAsTheBudgetAllows) {
  StartWith("{budgets: [{namespace: default, evictions: 2, period: 1h}]}");
  AddNodes(3);
  for (int i = 1; i <= 3; ++i) AddVictim(Running(fmt::format("v{}", i), fmt::format("n{}", i), minutes(i)));
  for (const char* name : {"a", "b", "c"}) Add(High(name));
  EXPECT_THAT(Deleted(), ElementsAre("v1", "v2"));
  EXPECT_THAT(NoteOf("c"), HasSubstr("3 node(s) had pods that must not be evicted (namespace default: 2 of 2 "
                                     "evictions in 1h0m0s)"));
}

TEST_P(SinglePodTest, LeavesOutCandidatesWithMoreVictimsThanTheBudgetHas) {
  StartWith("{budgets: [{namespace: '*', evictions: 1}]}");
  AddNodes(2);
  for (const char* name : {"a", "b"}) AddVictim(Running(name, "n1", minutes(1), "500m"));
  AddVictim(Running("c", "n2", minutes(1)).Priority(5));
  Add(High());
  EXPECT_THAT(Deleted(), ElementsAre("c")) << "one victim of a higher priority";
}

TEST_P(SinglePodTest, IsRejectedIfAllCandidatesExceedTheBudget) {
  StartWith("{budgets: [{namespace: default, evictions: 1}]}");
  AddNodes(1);
  for (const char* name : {"a", "b"}) AddVictim(Running(name, "n1", minutes(1), "500m"));
  Add(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NoteOf("high"),
              HasSubstr("preemption: 0/1 nodes are available: 1 node(s) had victims that must not be evicted "
                        "together (namespace default: 0 of 1 evictions in 1h0m0s, 2 more needed)."));
}

// --- units ---

TEST_F(EvictionProtectionTest, AGroupThatIsEvictedAsAWholeStaysWithItsProtectedMember) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(2);
  AddGroup(DisruptedAsAUnit("unit"));
  Add(Running("u1", "n1", minutes(20)).Group("unit"));
  Add(Running("u2", "n2", minutes(1)).Group("unit"));
  Add(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NoteOf("high"),
              HasSubstr("2 node(s) had pods that must not be evicted (run time below 10m0s)"));
}

TEST_F(EvictionProtectionTest, AGroupThatIsEvictedAsAWholeMustFitInTheBudget) {
  Start(WithBudget("{budgets: [{namespace: default, evictions: 1}]}"));
  AddNodes(2);
  AddGroup(DisruptedAsAUnit("unit"));
  Add(Running("u1", "n1", minutes(20)).Group("unit"));
  Add(Running("u2", "n2", minutes(20)).Group("unit"));
  Add(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NoteOf("high"), HasSubstr("2 node(s) had victims that must not be evicted together (namespace "
                                        "default: 0 of 1 evictions in 1h0m0s, 2 more needed)"));
}

// --- pod groups ---

class PodGroupTest : public EvictionProtectionTest {
 protected:
  void AddGang(int members) {
    AddGroup(MakeGroup("g", members, 10));
    for (int i = 1; i <= members; ++i) Add(MakePod(fmt::format("g{}", i)).Cpu("1").Priority(10).Group("g"));
    Settle();
  }
  const std::string& Message() const { return api.group_patches.back().condition.message; }
};

TEST_F(PodGroupTest, EvictsOnlyPodsThatAreNotProtected) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(3);
  Add(Running("young", "n1", minutes(1)));
  Add(Running("old1", "n2", minutes(11)));
  Add(Running("old2", "n3", minutes(12)));
  AddGang(2);
  EXPECT_THAT(Deleted(), UnorderedElementsAre("old1", "old2"));
}

TEST_F(PodGroupTest, IsRejectedWithTheReasonIfProtectedPodsTakeTheRoom) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(2);
  Add(Running("young", "n1", minutes(1)));
  Add(Running("old", "n2", minutes(11)));
  AddGang(2);
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(Message(), HasSubstr("1 pods must not be evicted (run time below 10m0s)"));
}

TEST_F(PodGroupTest, IsRejectedWithTheReasonIfAllPodsAreProtected) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(1);
  Add(Running("young", "n1", minutes(1)));
  AddGang(1);
  EXPECT_THAT(Message(),
              HasSubstr("pod group preemption: 1 pods must not be evicted (run time below 10m0s)"));
}

TEST_F(PodGroupTest, IsRejectedIfItsVictimsExceedTheBudget) {
  Start(WithBudget("{budgets: [{namespace: default, evictions: 1}]}"));
  AddNodes(2);
  Add(Running("v1", "n1", minutes(1)));
  Add(Running("v2", "n2", minutes(1)));
  AddGang(2);
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(Message(), HasSubstr("pod group preemption: pods must not be evicted together (namespace "
                                   "default: 0 of 1 evictions in 1h0m0s, 2 more needed)"));
}

TEST_F(PodGroupTest, IsRetriedWhenItsVictimsHaveRunLongEnough) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(2);
  Add(Running("young", "n1", minutes(9)));
  Add(Running("old", "n2", minutes(11)));
  AddGang(2);
  ASSERT_THAT(Deleted(), IsEmpty());
  Pass(minutes(2));
  EXPECT_THAT(Deleted(), UnorderedElementsAre("young", "old"));
}

TEST_F(PodGroupTest, EvictionsCountInTheBudget) {
  Start(WithBudget("{budgets: [{namespace: default, evictions: 2}]}"));
  AddNodes(3);
  for (int i = 1; i <= 3; ++i) Add(Running(fmt::format("v{}", i), fmt::format("n{}", i), minutes(i)));
  AddGang(2);
  ASSERT_THAT(Deleted(), SizeIs(2));
  Add(High());
  EXPECT_THAT(Deleted(), SizeIs(2));
}

// --- the budget over time ---

TEST_F(EvictionProtectionTest, AProtectedPodMakesItsPluginARejectorOfThePreemptor) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(1);
  Add(Running("young", "n1", minutes(1)));
  Add(High());
  EXPECT_THAT(RejectorsOf("high"), ElementsAre("EvictionBudget", "NodeResourcesFit"));
}

TEST_F(EvictionProtectionTest, ARejectedPodIsRetriedWhenAVictimHasRunLongEnough) {
  Start(WithBudget("{minRunSeconds: 100}"));
  AddNodes(1);
  Add(Running("young", "n1", seconds(1)));
  Add(High());
  Pass(seconds(90));
  ASSERT_THAT(Deleted(), IsEmpty());
  Pass(seconds(20));
  EXPECT_THAT(Deleted(), ElementsAre("young"));
}

TEST_F(EvictionProtectionTest, ARejectedPodIsRetriedWhenTheBudgetAllowsAnEviction) {
  Start(WithBudget("{budgets: [{namespace: default, evictions: 1, period: 4m}]}"));
  AddNodes(2);
  Add(Running("v1", "n1", minutes(1)));
  Add(Running("v2", "n2", minutes(2)));
  Add(High("a"));
  Add(High("b"));
  ASSERT_THAT(Deleted(), ElementsAre("v1"));
  Pass(minutes(4) - seconds(10));
  ASSERT_THAT(Deleted(), ElementsAre("v1"));
  Pass(seconds(20));
  EXPECT_THAT(Deleted(), ElementsAre("v1", "v2"));
}

TEST_F(EvictionProtectionTest, EvictionsByOtherSchedulersCount) {
  Start(WithBudget("{budgets: [{namespace: default, evictions: 1}]}"));
  AddNodes(2);
  Add(Running("v1", "n1", minutes(1)));
  Add(Running("v2", "n2", minutes(1)));
  Terminate("v1");
  Remove("v1");
  Add(High("first"));  // takes n1
  Add(High("second"));
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NoteOf("second"), HasSubstr("namespace default: 1 of 1 evictions"));
}

TEST_F(EvictionProtectionTest, AnEvictionCountsOnceAlthoughTheWatchShowsItToo) {
  Start(WithBudget("{budgets: [{namespace: default, evictions: 2}]}"));
  AddNodes(2);
  Add(Running("v1", "n1", minutes(1)));
  Add(Running("v2", "n2", minutes(2)));
  Add(High("a"));
  ASSERT_THAT(Deleted(), ElementsAre("v1"));
  Wait(seconds(5));
  Terminate("v1");
  Add(High("b"));
  EXPECT_THAT(Deleted(), ElementsAre("v1", "v2"));
}

TEST_F(EvictionProtectionTest, EvictionsForPodsOfOtherProfilesCount) {
  const std::string args = "{budgets: [{namespace: default, evictions: 1}]}";
  Start(WithBudget(args) + WithBudget(args, "", "other"));
  AddNodes(2);
  Add(Running("v1", "n1", minutes(1)));
  Add(Running("v2", "n2", minutes(2)));
  Add(High("a").Scheduler("other"));
  ASSERT_THAT(Deleted(), ElementsAre("v1"));
  Add(High("b"));
  EXPECT_THAT(Deleted(), ElementsAre("v1"));
}

TEST_F(EvictionProtectionTest, TerminatingPodsAndPodsWithoutANodeAreNotProtected) {
  Start(WithBudget("{minRunSeconds: 600, budgets: [{namespace: default, evictions: 0}]}"));
  AddNodes(1);
  Add(MakePod("assumed").Cpu("1"));  // the watch does not confirm its binding
  ASSERT_THAT(api.bindings, SizeIs(1));
  Add(High());
  EXPECT_THAT(Deleted(), ElementsAre("assumed"));
}

TEST_F(EvictionProtectionTest, AReloadKeepsTheEvictionsAndTheTimer) {
  const std::string profile = WithBudget("{budgets: [{namespace: default, evictions: 1, period: 4m}]}");
  Start(profile);
  AddNodes(3);
  for (int i = 1; i <= 3; ++i) Add(Running(fmt::format("v{}", i), fmt::format("n{}", i), minutes(i)));
  Add(High("a"));
  Add(High("b"));
  ASSERT_THAT(Deleted(), ElementsAre("v1"));
  Terminate("v1");
  Reload(Config(profile), Plugins());
  engine->ReleaseReplaced(clock.Now() + seconds(1));
  Add(High("c"));
  EXPECT_THAT(Deleted(), ElementsAre("v1"));
  Pass(minutes(4) + seconds(20));
  EXPECT_THAT(Deleted(), ElementsAre("v1", "v2"));
}

// --- loops ---

TEST_F(EvictionProtectionTest, APreemptorIsRetriedWhenThePauseOfALoopEnds) {
  Start(WithBudget("{loops: {evictions: 2, window: 10m, pause: 2m}}"));
  AddNodes(1);
  const auto run_batch = [&](const std::string& name) {
    PodBuilder pod = Running(name, "n1", seconds(0));
    pod.raw().metadata.controller = api::OwnerReference{"batch/v1", "Job", "batch", "uid-of-batch"};
    Add(std::move(pod));
    Pass(seconds(10));
  };
  for (const std::string round : {"1", "2"}) {
    run_batch("batch-" + round);
    Add(High("high-" + round));
    Terminate("batch-" + round);
    Remove("batch-" + round);
    Pass(seconds(10));
    Remove("high-" + round);
  }
  run_batch("batch-3");
  Add(High("high-3"));
  EXPECT_THAT(Deleted(), ElementsAre("batch-1", "batch-2"));
  EXPECT_THAT(NoteOf("high-3"),
              HasSubstr("1 node(s) had pods that must not be evicted (preemption loop: workload "
                        "is not evicted for 2m0s)"));
  EXPECT_THAT(RejectorsOf("high-3"), Contains("EvictionBudget"));
  Pass(minutes(2));
  EXPECT_THAT(Deleted(), ElementsAre("batch-1", "batch-2", "batch-3"));
}

// --- reviewers ---

// Replaces the victims by all pods of the node.
class GreedyReviewer final : public framework::PreemptionReviewer {
 public:
  explicit GreedyReviewer(const cluster::NodeTable& nodes) : nodes_(nodes) {}
  framework::Status Review(const cluster::PodInfo&,
                           std::vector<framework::PreemptionCandidate>& candidates) override {
    for (framework::PreemptionCandidate& candidate : candidates) {
      candidate.victims.clear();
      for (cluster::PlacedPod* pod : nodes_.pods(candidate.row)) candidate.victims.push_back(pod);
    }
    return {};
  }

 private:
  const cluster::NodeTable& nodes_;
};

TEST_F(EvictionProtectionTest, VictimsThatAReviewerAddsAreChecked) {
  Start(WithBudget("{minRunSeconds: 600}"));
  AddNodes(2);
  Add(Running("young", "n1", minutes(1), "100m"));
  Add(Running("a", "n1", minutes(11), "800m"));
  Add(Running("b", "n2", minutes(30), "800m"));
  Add(Running("c", "n2", minutes(30), "100m"));
  GreedyReviewer reviewer(engine->cache().nodes());
  engine->handle().preemption_reviewers.push_back(&reviewer);
  Add(MakePod("high").Cpu("500m").Priority(10));
  EXPECT_THAT(Deleted(), UnorderedElementsAre("b", "c"));
}

// --- PreemptionToleration ---

TEST_F(EvictionProtectionTest, APriorityClassProtectsItsPodsForATime) {
  Start(kTolerations);
  AddNodes(2);
  AddClass("patient", "11", "300");
  Add(Scheduled(OfClass(Running("v1", "n1", minutes(1)), "patient"), minutes(4)));
  Add(Scheduled(OfClass(Running("v2", "n2", minutes(30)), "patient"), minutes(5)));
  Add(High("a"));
  EXPECT_THAT(Deleted(), ElementsAre("v2")) << "the time counts from the binding";
  Add(High("b"));
  EXPECT_EQ(
      NoteOf("b"),
      "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 1 Insufficient "
      "cpu, 1 node(s) had pods that must not be evicted (priority class patient tolerates preemption by "
      "priorities below 11 for 5m0s after scheduling).");
  Pass(minutes(2));
  EXPECT_THAT(Deleted(), ElementsAre("v2", "v1")) << "the pod is retried at the end";
}

TEST_F(EvictionProtectionTest, TheAnnotationsOfAClassMayChange) {
  Start(kTolerations);
  AddNodes(1);
  AddClass("patient", "11", "-1");
  Add(Scheduled(OfClass(Running("v1", "n1", minutes(1)), "patient"), minutes(4)));
  Add(High());
  ASSERT_THAT(Deleted(), IsEmpty());
  AddClass("patient", "10", "-1");
  Pass(seconds(20));
  EXPECT_THAT(Deleted(), ElementsAre("v1"));
}

TEST_F(EvictionProtectionTest, PreemptionFailsOnANodeWithAPodOfAnUnknownClass) {
  Start(kTolerations);
  AddNodes(1);
  Add(OfClass(Running("v1", "n1", minutes(1)), "unknown"));
  Add(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NoteOf("high"), HasSubstr("preemption: priorityclass.scheduling.k8s.io \"unknown\" not found"));
}

TEST_F(EvictionProtectionTest, TolerationsProtectFromPodGroupsToo) {
  Start(kTolerations);
  AddNodes(1);
  AddClass("patient", "11", "-1");
  Add(OfClass(Running("v1", "n1", minutes(1)), "patient"));
  AddGroup(MakeGroup("g", 1, 10));
  Add(MakePod("g1").Cpu("1").Priority(10).Group("g"));
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(api.group_patches.back().condition.message,
              HasSubstr("1 pods must not be evicted (priority class patient tolerates preemption by "
                        "priorities below 11)"));
}

TEST_F(EvictionProtectionTest, AClassThatTheWatchHasNotDeliveredIsRequested) {
  Start(kTolerations);
  EXPECT_THAT(engine->handle().requested_resources, Contains("priorityclasses.scheduling.k8s.io"));
  Start(WithBudget("{}"));
  EXPECT_THAT(engine->handle().requested_resources, IsEmpty());
}

}  // namespace
}  // namespace berth::cycle
