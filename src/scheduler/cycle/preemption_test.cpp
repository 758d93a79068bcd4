// Preemption in a complete scheduler with DefaultPreemption: the order of writes, gating, and the equality of
// combined and separate dry runs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/assembly/explainer.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"
#include "testing/repetitions.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::Placement;
using framework::Status;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Delays pods called "slow-..." in Permit or PreBind, and may reject in PreFilter.
class DelayingPlugin final : public framework::PreFilterPlugin,
                             public framework::PermitPlugin,
                             public framework::PreBindPlugin {
 public:
  struct Script {
    bool at_permit = false;
    Status pre_filter;
    std::vector<framework::StatusCallback> owed;
    std::vector<std::stop_token> stops;
  };
  explicit DelayingPlugin(Script& script) : script_(script) {}
  std::string_view Name() const override { return "Hurdle"; }
  framework::PreFilterResult PreFilter(const framework::Attempt&) const override {
    return {script_.pre_filter, std::nullopt};
  }
  framework::PermitResult Permit(const Placement& placement) override {
    if (!script_.at_permit || !IsSlow(placement)) return {};
    return {{framework::Code::kWait, {}, {}}, std::chrono::minutes(1)};
  }
  PreFlight PreBindPreFlight(const Placement& placement) override {
    return {!script_.at_permit && IsSlow(placement) ? Status{} : Status::Skip()};
  }
  void PreBind(const Placement&, std::stop_token stop, framework::StatusCallback answer) override {
    script_.stops.push_back(stop);
    script_.owed.push_back(std::move(answer));
  }

 private:
  static bool IsSlow(const Placement& placement) {
    return placement.pod.pod->metadata.name.starts_with("slow");
  }
  Script& script_;
};

class PreemptionTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  PreemptionTest() { Start({}); }
  // The plugin refers to the script.
  ~PreemptionTest() override {
    scheduler.reset();
    engine.reset();
  }
  void Start(const std::vector<std::string>& gates) {
    runtime::Registry registry = assembly::InTreePlugins();
    registry.AddForeign("Hurdle",
                        [this](const framework::RawArgs&, framework::Handle&) -> framework::PluginOrError {
                          return std::make_unique<DelayingPlugin>(script);
                        });
    config::SchedulerConfig config = config::DefaultSchedulerConfig();
    config.profiles[0].at(config::Point::kMultiPoint).enabled.push_back({"Hurdle", 1});
    std::vector<std::string> notes;
    config.gates = *config::FeatureGates::Parse(gates, notes);
    Build(config, registry);
    AddNode("n1");
    loop.sink().OnSynced();
    Settle();
  }
  void AddNode(const std::string& name) {
    loop.sink().On(ports::Change<api::Node>{nullptr, MakeNode(name).Cpu("1").Memory("4Gi").Share()});
  }
  api::PodPtr AddPod(const PodBuilder& pod) { return Change(nullptr, pod.Share()); }
  api::PodPtr Change(const api::PodPtr& before, const api::PodPtr& after) {
    loop.sink().On(ports::Change<api::Pod>{before, after});
    Settle();
    return after;
  }
  // The version from the API server when the deletion has started.
  api::PodPtr Terminate(const api::PodPtr& pod) {
    auto after = std::make_shared<api::Pod>(*pod);
    after->metadata.deletion_timestamp = "2024-01-01T00:00:00Z";
    after->status.conditions.push_back({.type = "DisruptionTarget",
                                        .status = "True",
                                        .reason = "PreemptionByScheduler",
                                        .message = "",
                                        .last_transition_time = ""});
    return Change(pod, after);
  }
  void Remove(const api::PodPtr& pod) { Change(pod, nullptr); }
  void Release() {
    api.Release();
    Settle();
  }
  static PodBuilder Low(const std::string& name, const std::string& cpu = "1") {
    return MakePod(name).Cpu(cpu).OnNode("n1");
  }
  static PodBuilder High(const std::string& name = "high", const std::string& cpu = "1") {
    return MakePod(name).Cpu(cpu).Priority(10);
  }
  std::string PlaceOf(const std::string& name) {
    std::string place = "missing";
    scheduler->queue().ForEach([&](const framework::QueuedPod& pod, const char* where) {
      if (pod.info.pod->metadata.name == name) place = where;
    });
    return place;
  }
  // "p: Unschedulable", "v: PreemptionByScheduler", "p: -> n1"
  std::vector<std::string> Patches() const {
    std::vector<std::string> texts;
    for (const auto& patch : api.patches) {
      texts.push_back(fmt::format("{}: {}{}", patch.name, patch.reason,
                                  patch.nomination ? " -> " + *patch.nomination : ""));
    }
    return texts;
  }
  std::vector<std::string> Deleted() const {
    std::vector<std::string> names;
    for (const auto& deletion : api.deletions) names.push_back(deletion.name);
    return names;
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> names;
    for (const auto& binding : api.bindings) names.push_back(binding.name);
    return names;
  }
  std::vector<std::string> NotesOf(const std::string& reason) const {
    std::vector<std::string> notes;
    for (const auto& event : events.events) {
      if (event.reason == reason) notes.push_back(event.regarding->metadata.name + ": " + event.note);
    }
    return notes;
  }
  // The note of the last failed attempt.
  std::string LastNote() const {
    std::string note;
    for (const auto& event : events.events) {
      if (event.reason == "FailedScheduling") note = event.note;
    }
    return note;
  }
  std::string Metric(const std::string& line) const {
    const std::string all = metrics.Expose();
    const auto at = all.find("\n" + line + " ");
    return at == std::string::npos
               ? ""
               : all.substr(at + line.size() + 2, all.find('\n', at + 1) - at - line.size() - 2);
  }

  DelayingPlugin::Script script;
};

// --- basic preemption ---

TEST_F(PreemptionTest, AVictimGetsAConditionAndAnEventAndIsReplacedByThePod) {
  const auto low = AddPod(Low("low"));
  const auto high = AddPod(High());
  EXPECT_THAT(Patches(), ElementsAre("low: PreemptionByScheduler", "high: Unschedulable -> n1"));
  EXPECT_EQ(api.patches[0].type, "DisruptionTarget");
  EXPECT_EQ(api.patches[0].status, "True");
  EXPECT_EQ(api.patches[0].message, "default-scheduler: preempting to accommodate a higher priority pod");
  EXPECT_EQ(api.patches[1].message,
            "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on "
            "node n1, preempting 1 victims");
  ASSERT_THAT(Deleted(), ElementsAre("low"));
  EXPECT_EQ(api.deletions[0].uid, "uid-of-low");
  EXPECT_THAT(NotesOf("Preempted"), ElementsAre("low: Preempted by pod uid-of-high on node n1"));
  const ports::Event& event = events.events.back();
  EXPECT_EQ(event.action, "Preempting");
  ASSERT_TRUE(event.related);
  EXPECT_EQ(event.related->kind, "Pod");
  EXPECT_EQ(event.related->uid, high->metadata.uid);
  Remove(Terminate(low));
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Bound(), ElementsAre("high"));
}

TEST_F(PreemptionTest, TheNominationIsInTheRecord) {
  AddPod(Low("low"));
  AddPod(High());
  const auto record = scheduler->records().Latest("default/high");
  ASSERT_NE(record, nullptr);
  EXPECT_THAT(record::ToJson(*record, engine->reasons()),
              HasSubstr(R"("nomination":{"node":"n1","victims":["default/low"],"choices":["n1"]}})"));
}

TEST(PreemptionExplained, TheTextListsNodeVictimsAndEqualCandidates) {
  std::vector<std::string> notes, problems;
  const auto explainer = std::move(assembly::Explainer::Create(config::DefaultSchedulerConfig(),
                                                               assembly::InTreePlugins(), notes))
                             .value();
  std::string dump;
  for (const auto* node : {"n1", "n2"}) {
    dump += fmt::format(R"(
{{apiVersion: v1, kind: Node, metadata: {{name: {0}}}, status: {{allocatable: {{cpu: 1, pods: 10}}}}}}
---
{{apiVersion: v1, kind: Pod, metadata: {{name: on-{0}}},
 spec: {{nodeName: {0}, containers: [{{name: c, image: x, resources: {{requests: {{cpu: 1}}}}}}]}}}}
---)",
                        node);
  }
  dump += R"(
{apiVersion: v1, kind: Pod, metadata: {name: high},
 spec: {priority: 1, containers: [{name: c, image: x, resources: {requests: {cpu: 1}}}]}})";
  ASSERT_TRUE(explainer->Load(dump, "dump", problems));
  std::shared_ptr<const record::AttemptRecord> record;
  ASSERT_TRUE(explainer->Evaluate(
      {}, [&](const assembly::Explainer::Evaluated& evaluated) { record = evaluated.record; }));
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_TRUE(record->nomination.has_value());
  EXPECT_EQ(record->nomination->node, "n1");
  EXPECT_THAT(record->nomination->victims, ElementsAre("default/on-n1"));
  EXPECT_EQ(record->nomination->choices.Count(), 2u) << "n2 is as good";
}

TEST_F(PreemptionTest, NoOtherPodIsEvictedWhileTheVictimTerminates) {
  const auto low = AddPod(Low("low", "900m"));
  AddPod(Low("small", "100m").Priority(1));
  auto high = AddPod(High("high", "900m"));
  auto nominated = std::make_shared<api::Pod>(*high);
  nominated->status.nominated_node_name = "n1";
  Change(high, nominated);
  Terminate(low);
  api.patches.clear();
  services.Activate(std::vector<std::string>{"default/high"});
  Settle();
  EXPECT_EQ(
      LastNote(),
      "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to a terminating pod on "
      "the nominated node.");
  EXPECT_THAT(Deleted(), ElementsAre("low"));
  EXPECT_THAT(Patches(), ElementsAre("high: Unschedulable")) << "the nomination stays";
}

TEST_F(PreemptionTest, ATerminatingVictimIsNotDeletedAgain) {
  AddPod(Low("low").Deleting());
  AddPod(High());
  EXPECT_THAT(Patches(), ElementsAre("high: Unschedulable -> n1"));
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NotesOf("Preempted"), IsEmpty());
  EXPECT_EQ(Metric("scheduler_preemption_victims_count"), "1") << "it counts all the same";
}

TEST_F(PreemptionTest, PodsWithPreemptionPolicyNeverDoNotPreempt) {
  AddPod(Low("low"));
  auto polite = High("polite");
  polite.raw().spec.never_preempts = true;
  AddPod(polite);
  EXPECT_EQ(LastNote(),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to "
            "preemptionPolicy=Never.");
  EXPECT_THAT(Deleted(), IsEmpty());
}

TEST_F(PreemptionTest, WithoutPodsOfLowerPriorityTheNominationIsCleared) {
  AddPod(Low("low").Priority(10));
  AddPod(High("high").Nominated("n1"));
  EXPECT_EQ(
      LastNote(),
      "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 No preemption "
      "victims found for incoming pod.");
  EXPECT_THAT(Patches(), ElementsAre("high: Unschedulable -> "));
}

TEST_F(PreemptionTest, ReasonsAreThoseAfterRemovalOfAllPotentialVictims) {
  AddNode("n2");
  AddPod(Low("low", "500m"));
  AddPod(Low("equal", "500m").Priority(10));
  AddPod(Low("other").OnNode("n2").Priority(11));
  AddPod(High());
  EXPECT_EQ(
      LastNote(),
      "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 1 Insufficient "
      "cpu, 1 No preemption victims found for incoming pod.");
}

TEST_F(PreemptionTest, AfterARejectionByPreFilterAllNodesAreConsidered) {
  AddNode("n2");
  AddPod(Low("low"));
  script.pre_filter = Status::Unschedulable("not now");
  AddPod(High());
  EXPECT_EQ(LastNote(),
            "0/2 nodes are available: not now. preemption: found a potential placement for pod on node n1, "
            "preempting 1 victims")
      << "PreFilter is not called again: any eviction may resolve its rejection";
}

TEST_F(PreemptionTest, NoPreemptionAfterAnUnresolvableRejectionByPreFilter) {
  AddNode("n2");
  AddPod(Low("low"));
  script.pre_filter = Status::Unresolvable("never");
  AddPod(High());
  EXPECT_EQ(
      LastNote(),
      "0/2 nodes are available: never. preemption: 0/2 nodes are available: 2 Preemption is not helpful "
      "for scheduling.");
}

TEST_F(PreemptionTest, AttemptsAndVictimsAreCounted) {
  AddPod(Low("a", "500m"));
  AddPod(Low("b", "500m"));
  AddPod(High());
  AddPod(High("huge", "2"));
  EXPECT_EQ(Metric("scheduler_preemption_attempts_total"), "2");
  EXPECT_EQ(Metric("scheduler_preemption_victims_sum"), "2");
  EXPECT_EQ(Metric("scheduler_preemption_goroutines_execution_total{result=\"success\"}"), "1");
}

// --- pending requests ---

TEST_F(PreemptionTest, ThePodIsGatedUntilItsVictimIsTerminating) {
  const auto low = AddPod(Low("low", "900m"));
  const auto bystander = AddPod(Low("bystander", "50m").Priority(20));
  api.hold = true;
  AddPod(High("high", "900m"));
  ASSERT_EQ(PlaceOf("high"), "unschedulable");
  Remove(bystander);
  EXPECT_EQ(PlaceOf("high"), "gated") << "an event that might help is not enough";
  Release();  // the condition has been written
  EXPECT_EQ(PlaceOf("high"), "gated");
  Remove(Terminate(low));  // received before the response to the DELETE
  EXPECT_NE(PlaceOf("high"), "gated");
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Bound(), ElementsAre("high"));
}

TEST_F(PreemptionTest, TheLastVictimIsDeletedAfterTheOthers) {
  for (const auto* name : {"a", "b", "c"}) AddPod(Low(name, "300m"));
  api.hold = true;
  AddPod(High());
  EXPECT_THAT(Patches(), UnorderedElementsAre("a: PreemptionByScheduler", "b: PreemptionByScheduler",
                                              "high: Unschedulable -> n1"));
  Release();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("a", "b"));
  Release();
  EXPECT_EQ(Patches().back(), "c: PreemptionByScheduler");
  Release();
  EXPECT_THAT(Deleted(), ElementsAre("a", "b", "c"));
}

TEST_F(PreemptionTest, AfterAnErrorTheLastVictimIsKeptAndThePodIsRetriedAfterASecond) {
  AddPod(Low("a", "500m"));
  AddPod(Low("b", "500m"));
  api.hold = true;
  AddPod(High());
  api.answer = Fail(ErrorCode::kInternal, "broken");
  api.patches.clear();
  Release();
  EXPECT_EQ(Metric("scheduler_preemption_goroutines_execution_total{result=\"error\"}"), "1");
  EXPECT_EQ(PlaceOf("high"), "unschedulable");
  clock.Advance(std::chrono::milliseconds(999));
  loop.RunOnce(*scheduler);
  EXPECT_THAT(Patches(), IsEmpty());
  clock.Advance(std::chrono::milliseconds(1));
  loop.RunOnce(*scheduler);  // without an event
  EXPECT_THAT(Patches(), ElementsAre("a: PreemptionByScheduler", "high: Unschedulable -> n1"));
  EXPECT_THAT(Deleted(), IsEmpty());
}

TEST_F(PreemptionTest, AVictimThatNoLongerExistsIsNoError) {
  AddPod(Low("low"));
  api.answer = Fail(ErrorCode::kNotFound, "gone");
  AddPod(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NotesOf("Preempted"), IsEmpty());
  EXPECT_EQ(Metric("scheduler_preemption_goroutines_execution_total{result=\"success\"}"), "1");
}

TEST_F(PreemptionTest, APodWhoseLastVictimIsGoneIsRetriedWithoutAnEvent) {
  const api::PodPtr first = AddPod(Low("a", "500m"));
  const api::PodPtr last = AddPod(Low("b", "500m"));
  api.hold = true;
  AddPod(High());
  Remove(first);
  Remove(last);
  EXPECT_EQ(PlaceOf("high"), "gated") << "it is still preempting";
  api.answer = Fail(ErrorCode::kNotFound, "gone");
  Release();
  EXPECT_EQ(Patches().back(), "b: PreemptionByScheduler");
  Release();
  api.answer = {};
  Release();
  EXPECT_THAT(Bound(), ElementsAre("high"));
}

TEST_F(PreemptionTest, NominationsOfLowerPriorityAreClearedFirst) {
  AddPod(Low("low"));
  AddPod(MakePod("hopeful").Cpu("1").Priority(5).Nominated("n1"));
  AddPod(MakePod("peer").Cpu("1").Priority(10).Nominated("n1"));
  api.patches.clear();
  api.deletions.clear();
  api.hold = true;
  // The other pod is nominated to the same node, and the new pod finds no candidate of lower priority there.
  AddPod(MakePod("high").Cpu("1").Priority(11));
  ASSERT_THAT(Patches(), Contains("hopeful:  -> "));
  EXPECT_THAT(Patches(), Contains("peer:  -> "));
  EXPECT_THAT(Patches(), Not(Contains("low: PreemptionByScheduler")));
  Release();
  EXPECT_EQ(Patches().back(), "low: PreemptionByScheduler");
}

TEST_F(PreemptionTest, WithoutTheFeatureGateNominationsAreClearedAfterTheVictims) {
  Start({"SchedulerAsyncPreemption=false"});
  for (const auto* name : {"a", "b"}) AddPod(Low(name, "500m"));
  AddPod(MakePod("hopeful").Cpu("1").Priority(5).Nominated("n1").Gate("later"));
  api.hold = true;
  AddPod(High());
  EXPECT_THAT(Patches(), UnorderedElementsAre("a: PreemptionByScheduler", "b: PreemptionByScheduler",
                                              "high: Unschedulable -> n1"));
  EXPECT_EQ(PlaceOf("high"), "unschedulable");
  Release();
  EXPECT_THAT(Deleted(), UnorderedElementsAre("a", "b"));
  Release();
  EXPECT_EQ(Patches().back(), "hopeful:  -> ");
  EXPECT_EQ(Metric("scheduler_preemption_goroutines_execution_total{result=\"success\"}"), "");
}

TEST_F(PreemptionTest, AnErrorWhileClearingANominationDoesNotStopTheEvictions) {
  for (const auto* name : {"a", "b"}) AddPod(Low(name, "500m"));
  AddPod(MakePod("hopeful").Cpu("1").Priority(5).Nominated("n1").Gate("later"));
  api.hold = true;
  AddPod(High());
  ASSERT_THAT(Patches(), UnorderedElementsAre("hopeful:  -> ", "high: Unschedulable -> n1"));
  api.answer = Fail(ErrorCode::kInternal, "broken");
  Release();
  api.answer = {};
  for (int i = 0; i < 4; ++i) Release();
  EXPECT_THAT(Deleted(), ElementsAre("a", "b"));
  EXPECT_EQ(Metric("scheduler_preemption_goroutines_execution_total{result=\"error\"}"), "1");
}

// --- victims that are not bound ---

TEST_F(PreemptionTest, AVictimThatWaitsForPermitIsRequeuedInsteadOfDeleted) {
  script.at_permit = true;
  AddPod(MakePod("slow").Cpu("1"));
  AddPod(High());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NotesOf("Preempted"),
              ElementsAre("slow: Preempted by pod uid-of-high on node n1 (in kube-scheduler memory)."));
  EXPECT_THAT(NotesOf("FailedScheduling"), Contains("slow: waiting on permit for pod: preempted"));
  EXPECT_EQ(PlaceOf("slow"), "backoff");
  EXPECT_THAT(Bound(), ElementsAre("high")) << "it is retried immediately: no deletion is pending";
}

TEST_F(PreemptionTest, TheBindingOfAVictimInPreBindIsCancelled) {
  AddPod(MakePod("slow").Cpu("1"));
  ASSERT_THAT(script.stops, SizeIs(1));
  AddPod(High());
  EXPECT_TRUE(script.stops[0].stop_requested());
  EXPECT_THAT(Deleted(), IsEmpty());
  EXPECT_THAT(NotesOf("Preempted"),
              Contains("slow: Preempted by pod uid-of-high on node n1 (in kube-scheduler memory)."));
  for (auto& answer : std::exchange(script.owed, {})) answer(Status{});
  Settle();
  EXPECT_THAT(NotesOf("FailedScheduling"), Contains("slow: preempted by DefaultPreemption"));
  Wait(std::chrono::seconds(2));
  EXPECT_THAT(Bound(), ElementsAre("high"));
}

// The binding fails after its cancellation, but before the preemption has ended: the failure is no event for
// the preemptor, which is gated until then.
TEST_F(PreemptionTest, APodIsRetriedIfTheBindingOfItsLastVictimFailsWhileItIsStillPreempting) {
  const api::PodPtr low = AddPod(Low("low", "500m"));
  AddPod(MakePod("slow").Cpu("500m"));
  ASSERT_THAT(script.owed, SizeIs(1));
  api.hold = true;
  AddPod(High());
  Release();  // the condition has been written
  ASSERT_THAT(Deleted(), ElementsAre("low"));
  Remove(Terminate(low));
  EXPECT_EQ(PlaceOf("high"), "gated");
  // In one batch: the response to the DELETE, after which the last victim is evicted, and the failure.
  api.Release();
  for (auto& answer : std::exchange(script.owed, {})) answer(Status::Error("broken"));
  Settle();
  EXPECT_THAT(NotesOf("Preempted"),
              Contains("slow: Preempted by pod uid-of-high on node n1 (in kube-scheduler memory)."));
  EXPECT_THAT(Bound(), ElementsAre("high"));
}

// While a decision waits for an extender, it executes the steps that were posted as succeeded. The end of a
// cancelled binding is none of them, although its PreBind has succeeded.
TEST_F(PreemptionTest, ACancelledBindingEndsAfterTheDecisionDuringWhichItsPreBindSucceeds) {
  AddPod(MakePod("slow").Cpu("1"));
  AddPod(High());
  for (auto& answer : std::exchange(script.owed, {})) answer(Status{});
  loop.RunSucceededSteps();
  EXPECT_THAT(NotesOf("FailedScheduling"), Not(Contains(HasSubstr("slow"))));
  EXPECT_TRUE(engine->cache().Contains("uid-of-slow"));
  Settle();
  EXPECT_THAT(NotesOf("FailedScheduling"), Contains("slow: preempted by DefaultPreemption"));
}

// --- combined and separate dry runs ---

// At most two pods with label crowd=yes per node. Filter counts the pods of the table.
class CrowdPlugin : public virtual framework::PreFilterPlugin, public framework::FilterPlugin {
 public:
  explicit CrowdPlugin(framework::Handle& handle)
      : counts_(handle.NewKey<Counts>()), reason_(handle.reasons.Intern("node(s) were crowded")) {}
  std::string_view Name() const override { return "Crowd"; }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override {
    if (!IsCrowd(*attempt.pod().pod)) return {Status::Skip(), std::nullopt};
    attempt.state().Write(counts_, Count(attempt.nodes()));
    return {};
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override {
    RejectCrowded(Count(attempt.nodes()), attempt.nodes().rows(), candidates, out);
  }

 protected:
  using Counts = std::vector<int>;
  static bool IsCrowd(const api::Pod& pod) { return pod.metadata.labels.Find("crowd") != nullptr; }
  // The counts of PreFilter, for each row of the table.
  Counts& counts(const framework::Attempt& attempt) const { return *attempt.state().Read(counts_); }
  void RejectCrowded(const Counts& counts, std::size_t rows, const RowSet& candidates,
                     framework::Rejections& out) const {
    RowSet& crowded = out.Reject(reason_, rows);
    candidates.ForEach([&](std::size_t row) {
      if (counts[row] >= 2) crowded.Add(row);
    });
  }

 private:
  static Counts Count(const cluster::NodeTable& nodes) {
    Counts counts(nodes.rows());
    nodes.all().ForEach([&](std::size_t row) {
      for (const cluster::PlacedPod* pod : nodes.pods(static_cast<cluster::Row>(row)))
        counts[row] += IsCrowd(*pod->pod) ? 1 : 0;
    });
    return counts;
  }
  framework::StateKey<Counts> counts_;
  framework::ReasonId reason_;
};

// The same, but Filter uses the counts of PreFilter, which the extensions adjust.
class CrowdPluginWithExtensions final : public CrowdPlugin, public framework::PreFilterExtensionsPlugin {
 public:
  using CrowdPlugin::CrowdPlugin;
  Status AddPod(const framework::Attempt& attempt, const cluster::PlacedPod& added,
                cluster::Row row) const override {
    counts(attempt)[row] += IsCrowd(*added.pod) ? 1 : 0;
    return {};
  }
  Status RemovePod(const framework::Attempt& attempt, const cluster::PlacedPod& removed,
                   cluster::Row row) const override {
    counts(attempt)[row] -= IsCrowd(*removed.pod) ? 1 : 0;
    return {};
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override {
    RejectCrowded(counts(attempt), attempt.nodes().rows(), candidates, out);
  }
};

struct RandomCluster {
  explicit RandomCluster(std::uint64_t seed) {
    Random random(seed);
    const std::size_t count = 1 + random.Below(9);
    for (std::size_t i = 0; i < count; ++i) {
      nodes.push_back(
          MakeNode(fmt::format("n{}", i)).Cpu("2").Pods(fmt::format("{}", 3 + random.Below(4))).Share());
      for (std::uint64_t k = random.Below(6); k > 0; --k) bound.push_back(Pod(random, fmt::format("n{}", i)));
    }
    for (std::uint64_t k = random.Below(3); k > 0; --k) {
      auto pod = std::make_shared<api::Pod>(*Pod(random, ""));
      pod->status.nominated_node_name = fmt::format("n{}", random.Below(count));
      nominated.push_back(pod);
    }
    for (int i = 0; i < 6; ++i) waiting.push_back(Pod(random, ""));
    for (std::uint64_t k = random.Below(3); k > 0; --k) {
      auto budget = std::make_shared<api::PodDisruptionBudget>();
      budget->metadata.name = fmt::format("b{}", k);
      budget->metadata.ns = "default";
      budget->selector.emplace().match_labels.Set("app", fmt::format("a{}", random.Below(3)));
      budget->disruptions_allowed = static_cast<std::int32_t>(random.Below(2));
      budgets.push_back(budget);
    }
  }
  api::PodPtr Pod(Random& random, const std::string& node) {
    const std::string name = fmt::format("p{}", next_++);
    auto pod = MakePod(name)
                   .Cpu(fmt::format("{}m", 200 + 100 * random.Below(16)))
                   .Priority(static_cast<std::int32_t>(random.Below(5)) * (node.empty() ? 2 : 1))
                   .Label("app", fmt::format("a{}", random.Below(3)))
                   .OnNode(node);
    if (random.Below(3) == 0) pod.Label("crowd", "yes");
    if (random.Below(4) == 0) pod.HostPort(static_cast<std::int32_t>(8000 + random.Below(2)));
    pod.raw().status.start_time = static_cast<std::int64_t>(random.Below(4) * 100);
    return pod.Share();
  }

  std::vector<api::NodePtr> nodes;
  std::vector<api::PodPtr> bound, nominated, waiting;
  std::vector<std::shared_ptr<const api::PodDisruptionBudget>> budgets;

 private:
  int next_ = 0;
};

template <class Plugin>
std::vector<std::string> Evaluate(const RandomCluster& cluster) {
  assembly::DryRunPorts ports;
  runtime::Registry registry = assembly::InTreePlugins();
  registry.AddForeign("Crowd",
                      [](const framework::RawArgs&, framework::Handle& handle) -> framework::PluginOrError {
                        return std::make_unique<Plugin>(handle);
                      });
  config::SchedulerConfig config = config::DefaultSchedulerConfig();
  config.profiles[0].at(config::Point::kMultiPoint).enabled.push_back({"Crowd", 1});
  std::vector<std::string> notes;
  const auto engine = std::move(assembly::Engine::Build(config, registry, ports.ports(), notes)).value();
  cluster::ClusterState& cache = engine->cache();
  for (const auto& node : cluster.nodes) cache.AddNode(node);
  for (const auto& pod : cluster.bound) cache.AddPod(pod);
  for (const auto& budget : cluster.budgets)
    cache.objects().Apply(ports::Change<api::PodDisruptionBudget>{nullptr, budget});
  std::vector<cluster::PodInfo> promised;
  for (const auto& pod : cluster.nominated) promised.push_back(cluster::PreparePod(pod, engine->symbols()));
  std::vector<runtime::Nomination> nominations;
  for (const auto& pod : promised) nominations.push_back({cache.nodes().Find(pod.nominated), &pod});
  algorithm::SchedulingAlgorithm algorithm({.sample = false, .tie_break = algorithm::TieBreak::kFirstByName},
                                           engine->reasons(), engine->extenders());
  std::vector<std::string> records;
  for (const auto& pod : cluster.waiting) {
    const cluster::PodInfo info = cluster::PreparePod(pod, engine->symbols());
    const algorithm::ScheduleResult decision = algorithm.Schedule(
        info, *engine->profiles().front(),
        {cache.nodes(), cache.VisitingOrder(), algorithm::NamesOf(cache.nodes())}, nominations);
    records.push_back(record::ToJson(*decision.record, engine->reasons()));
  }
  return records;
}

TEST(PreemptionProperty, CombinedDryRunsEqualSeparateDryRuns) {
  std::size_t nominations = 0;
  for (std::uint64_t seed = 1; seed <= testing::Repetitions(400); ++seed) {
    const RandomCluster cluster(seed);
    const auto together = Evaluate<CrowdPlugin>(cluster);
    const auto alone = Evaluate<CrowdPluginWithExtensions>(cluster);
    ASSERT_EQ(together, alone) << "seed " << seed;
    nominations += static_cast<std::size_t>(std::ranges::count_if(
        together, [](const std::string& record) { return record.contains("\"nomination\""); }));
  }
  EXPECT_GT(nominations, testing::Repetitions(300)) << "the clusters are worth looking at";
}

}  // namespace
}  // namespace berth::cycle
