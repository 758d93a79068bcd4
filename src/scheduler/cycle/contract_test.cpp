// The effects of the results of each extension point in a complete scheduler. A probe plugin implements all
// extension points and returns what the test specifies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <latch>
#include <map>
#include <mutex>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "scheduler/framework/one_node.hpp"
#include "testing/builders.hpp"

namespace berth::cycle {
namespace {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using framework::Code;
using framework::Placement;
using framework::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// By extension point: the behaviour of the probe for pods called "victim". Other pods get Success.
struct Script {
  std::map<std::string, std::function<Status()>> act;
  std::vector<std::string> calls;
  std::int64_t score = 50;
  std::map<std::string, Duration> wait;  // by plugin: Permit returns Wait with this timeout
  bool allow_parallel = false;
  std::vector<framework::StatusCallback> owed;  // pending completions of PreBind and Bind
  std::vector<std::stop_token> stops;
  bool hold_pre_bind = false;
  bool hold_bind = false;
  Duration longest_pre_bind = std::chrono::minutes(15);
  std::vector<std::string> activate;
  std::optional<std::string> nominate;
  std::shared_ptr<int> data;  // kept in the cycle state from Reserve on, if it is set
};

class Probe final : public framework::PreEnqueuePlugin,
                    public framework::PreFilterExtensionsPlugin,
                    public framework::FilterPlugin,
                    public framework::PostFilterPlugin,
                    public framework::PreScorePlugin,
                    public framework::ScorePlugin,
                    public framework::ReservePlugin,
                    public framework::PermitPlugin,
                    public framework::PreBindPlugin,
                    public framework::BindPlugin,
                    public framework::PostBindPlugin {
 public:
  Probe(std::string name, Script& script, framework::Handle& handle)
      : name_(std::move(name)),
        script_(script),
        key_(handle.NewKey<int>()),
        data_key_(handle.NewKey<std::shared_ptr<int>>()) {}
  std::string_view Name() const override { return name_; }
  std::vector<framework::EventRegistration> EventsToRegister() const override {
    return {{framework::EventResource::kNode, framework::kAdd}};
  }

  Status PreEnqueue(const cluster::PodInfo& pod) const override { return Act("PreEnqueue", pod); }
  framework::PreFilterResult PreFilter(const framework::Attempt& attempt) const override {
    attempt.state().Write(key_, 1);
    return {Act("PreFilter", attempt.pod()), std::nullopt};
  }
  Status AddPod(const framework::Attempt& attempt, const cluster::PlacedPod&, cluster::Row) const override {
    ++*attempt.state().Read(key_);
    return Act("AddPod", attempt.pod());
  }
  Status RemovePod(const framework::Attempt& attempt, const cluster::PlacedPod&,
                   cluster::Row) const override {
    return Act("RemovePod", attempt.pod());
  }
  void Filter(const framework::Attempt& attempt, const RowSet& candidates,
              framework::Rejections& out) const override {
    if (*attempt.state().Read(key_) > 1) script_.calls.push_back(name_ + " Filter with a nominated pod");
    const Status status = Act("Filter", attempt.pod());
    if (status.ok()) return;
    candidates.ForEach([&](std::size_t row) {
      if (!status.rejected()) return out.Fail(static_cast<cluster::Row>(row), status.Message());
      out.Add(static_cast<cluster::Row>(row), status.Message());
      if (status.code == Code::kUnschedulableAndUnresolvable) out.unresolvable().Add(row);
      if (status.code == Code::kPending) out.MarkPending();
    });
  }
  framework::PostFilterResult PostFilter(const framework::Attempt& attempt, const framework::FilterOutcome&,
                                         framework::PostFilterServices&) override {
    return {Act("PostFilter", attempt.pod(), Status::Unschedulable("")), script_.nominate};
  }
  Status PreScore(const framework::Attempt& attempt, const RowSet&) const override {
    return Act("PreScore", attempt.pod());
  }
  Status Score(const framework::Attempt& attempt, const RowSet&,
               framework::ScoreColumn& scores) const override {
    scores.SetAll(IsVictim(attempt.pod()) ? script_.score : 50);
    return Act("Score", attempt.pod());
  }
  Status Normalize(const framework::Attempt& attempt, const RowSet&, framework::ScoreColumn&) const override {
    return Act("Normalize", attempt.pod());
  }
  Status Reserve(const Placement& placement) override {
    if (script_.data && IsVictim(placement.pod)) placement.state.Write(data_key_, script_.data);
    return Act("Reserve", placement.pod);
  }
  void Unreserve(const Placement& placement) override { (void)Act("Unreserve", placement.pod); }
  framework::PermitResult Permit(const Placement& placement) override {
    placement.state.pods_to_activate = script_.activate;
    const Status status = Act("Permit", placement.pod);
    const auto wait = script_.wait.find(name_);
    if (!IsVictim(placement.pod) || !status.ok() || wait == script_.wait.end()) return {status, {}};
    return {{Code::kWait, {}, {}}, wait->second};
  }
  PreFlight PreBindPreFlight(const Placement& placement) override {
    return {Act("PreBindPreFlight", placement.pod), script_.allow_parallel};
  }
  Duration LongestPreBind() const override { return script_.longest_pre_bind; }
  void PreBind(const Placement& placement, std::stop_token stop, framework::StatusCallback answer) override {
    script_.stops.push_back(stop);
    if (script_.hold_pre_bind && IsVictim(placement.pod)) return script_.owed.push_back(std::move(answer));
    answer(Act("PreBind", placement.pod));
  }
  void Bind(const Placement& placement, framework::StatusCallback answer) override {
    if (script_.hold_bind && IsVictim(placement.pod)) return script_.owed.push_back(std::move(answer));
    answer(Act("Bind", placement.pod, Status::Skip()));
  }
  void PostBind(const Placement& placement) override { (void)Act("PostBind", placement.pod); }

 private:
  static bool IsVictim(const cluster::PodInfo& pod) { return pod.pod->metadata.name == "victim"; }
  Status Act(const std::string& point, const cluster::PodInfo& pod, Status otherwise = {}) const {
    if (!IsVictim(pod)) return otherwise;
    script_.calls.push_back(name_ + " " + point);
    const auto found = script_.act.find(point);
    return found == script_.act.end() ? otherwise : found->second();
  }

  std::string name_;
  Script& script_;
  framework::StateKey<int> key_;
  framework::StateKey<std::shared_ptr<int>> data_key_;
};

class ContractTest : public ::testing::Test, protected SchedulerEnvironment {
 protected:
  ContractTest() { Start({"Probe"}); }
  // The probes refer to the script.
  ~ContractTest() override {
    scheduler.reset();
    engine.reset();
  }

  // The probes are called before all other plugins.
  void Start(const std::vector<std::string>& probes) {
    runtime::Registry registry = assembly::InTreePlugins();
    config::SchedulerConfig config = config::DefaultSchedulerConfig();
    auto& enabled = config.profiles[0].at(config::Point::kMultiPoint).enabled;
    std::erase_if(enabled, [](const auto& plugin) {
      return plugin.name == "DefaultPreemption";
    });  // covered by its own test
    for (auto name = probes.rbegin(); name != probes.rend(); ++name) {
      registry.AddForeign(*name,
                          [this, name = *name](const framework::RawArgs&,
                                               framework::Handle& handle) -> framework::PluginOrError {
                            return std::make_unique<Probe>(name, script, handle);
                          });
      enabled.insert(enabled.begin(), {*name, 1});
    }
    Build(config, registry);
    for (const auto* name : {"n1", "n2"}) AddNode(name);
    loop.sink().OnSynced();
    Settle();
  }
  // One node and this plugin besides the default ones.
  void StartWith(const std::string& name, framework::Factory factory) {
    runtime::Registry registry = assembly::InTreePlugins();
    registry.AddForeign(name, std::move(factory));
    config::SchedulerConfig config = config::DefaultSchedulerConfig();
    auto& enabled = config.profiles[0].at(config::Point::kMultiPoint).enabled;
    enabled.insert(enabled.begin(), {name, 1});
    Build(config, registry);
    AddNode("n1");
    loop.sink().OnSynced();
  }
  void AddNode(const std::string& name) {
    loop.sink().On(ports::Change<api::Node>{
        nullptr, std::make_shared<const api::Node>(MakeNode(name).Cpu("1").Memory("4Gi"))});
  }
  api::PodPtr AddPod(const PodBuilder& pod) {
    api::PodPtr shared = pod.Share();
    loop.sink().On(ports::Change<api::Pod>{nullptr, shared});
    Settle();
    return shared;
  }
  void CompletePending(Status status) {
    for (auto& answer : std::exchange(script.owed, {})) answer(status);
    Settle();
  }
  std::vector<std::string> Bound() const {
    std::vector<std::string> names;
    for (const ports::Binding& binding : api.bindings) names.push_back(binding.name);
    return names;
  }
  std::string LastMessage() const { return api.patches.empty() ? "" : api.patches.back().message; }
  std::string LastReason() const { return api.patches.empty() ? "" : api.patches.back().reason; }
  std::vector<std::string> Calls(const std::string& point) const {
    std::vector<std::string> found;
    for (const std::string& call : script.calls) {
      if (call.ends_with(" " + point)) found.push_back(call);
    }
    return found;
  }
  queue::QueueSizes Sizes() const { return scheduler->queue().sizes(); }

  Script script;
};

// --- errors by extension point ---

struct Failure {
  std::string point;
  std::string message;  // of the condition; empty if the pod is bound nevertheless
  std::string reason = "SchedulerError";
};

class FailureTest : public ContractTest, public ::testing::WithParamInterface<Failure> {
 protected:
  void ExpectConsequences() {
    AddPod(MakePod("victim"));
    const auto& [point, message, reason] = GetParam();
    if (message.empty()) {
      EXPECT_THAT(Bound(), ElementsAre("victim"));
    } else {
      EXPECT_THAT(Bound(), IsEmpty());
      EXPECT_EQ(LastMessage(), message);
      EXPECT_EQ(LastReason(), reason);
      EXPECT_EQ(Sizes().active + Sizes().backoff + Sizes().unschedulable, 1U) << "the pod is queued again";
      EXPECT_EQ(engine->cache().assumed_count(), 0U) << "the attempt was reverted completely";
    }
    api.bindings.clear();
    AddPod(MakePod("other"));
    EXPECT_THAT(Bound(), ElementsAre("other")) << "others do not suffer";
  }
};

TEST_P(FailureTest, AnErrorHasItsConsequence) {
  if (GetParam().point == "PostFilter") script.act["Filter"] = [] { return Status::Unschedulable("no"); };
  script.act[GetParam().point] = [] { return Status::Error("broke"); };
  ExpectConsequences();
}

INSTANTIATE_TEST_SUITE_P(
    Points, FailureTest,
    ::testing::Values(Failure{"PreFilter", "running PreFilter plugin \"Probe\": broke"},
                      Failure{"Filter", "running \"Probe\" filter plugin: broke"},
                      Failure{"PostFilter", "0/2 nodes are available: 2 no. broke", "Unschedulable"},
                      Failure{"PreScore", "running PreScore plugin \"Probe\": broke"},
                      Failure{"Score", "running Score plugins: plugin \"Probe\" failed with: broke"},
                      Failure{"Normalize",
                              "running Normalize on Score plugins: plugin \"Probe\" failed with: broke"},
                      Failure{"Reserve", "running Reserve plugin \"Probe\": broke"},
                      Failure{"Permit", "running Permit plugin \"Probe\": broke"},
                      Failure{"PreBindPreFlight", "running PreBindPreFlight \"Probe\": broke"},
                      Failure{"PreBind", "running PreBind plugin \"Probe\": broke"},
                      Failure{"Bind", "running Bind plugin \"Probe\": broke"}, Failure{"PostBind", ""}),
    [](const auto& row) { return row.param.point; });

class ThrowTest : public FailureTest {};

TEST_P(ThrowTest, AnExceptionCountsAsAnErrorWithItsText) {
  if (GetParam().point == "PostFilter") script.act["Filter"] = [] { return Status::Unschedulable("no"); };
  script.act[GetParam().point] = []() -> Status { throw std::runtime_error("boom"); };
  ExpectConsequences();
}

INSTANTIATE_TEST_SUITE_P(
    Points, ThrowTest,
    ::testing::Values(
        Failure{"PreFilter", "running PreFilter plugin \"Probe\": the plugin threw: boom"},
        Failure{"Filter", "running \"Probe\" filter plugin: the plugin threw: boom"},
        Failure{"PostFilter", "0/2 nodes are available: 2 no. the plugin threw: boom", "Unschedulable"},
        Failure{"PreScore", "running PreScore plugin \"Probe\": the plugin threw: boom"},
        Failure{"Score", "running Score plugins: plugin \"Probe\" failed with: the plugin threw: boom"},
        Failure{"Normalize",
                "running Normalize on Score plugins: plugin \"Probe\" failed with: the plugin threw: boom"},
        Failure{"Reserve", "running Reserve plugin \"Probe\": the plugin threw: boom"},
        Failure{"Permit", "running Permit plugin \"Probe\": the plugin threw: boom"},
        Failure{"PreBindPreFlight", "running PreBindPreFlight \"Probe\": the plugin threw: boom"},
        Failure{"PreBind", "running PreBind plugin \"Probe\": the plugin threw: boom"},
        Failure{"Bind", "running Bind plugin \"Probe\": the plugin threw: boom"}, Failure{"PostBind", ""}),
    [](const auto& row) { return row.param.point; });

class RejectionTest : public FailureTest {};

TEST_P(RejectionTest, ARejectionHasItsConsequence) {
  script.act[GetParam().point] = [] { return Status::Unschedulable("not here"); };
  ExpectConsequences();
}

INSTANTIATE_TEST_SUITE_P(
    Points, RejectionTest,
    ::testing::Values(
        Failure{"PreFilter", "0/2 nodes are available: not here.", "Unschedulable"},
        Failure{"Filter", "0/2 nodes are available: 2 not here.", "Unschedulable"},
        Failure{"PreScore", "running PreScore plugin \"Probe\": not here"},
        Failure{"Score", "running Score plugins: plugin \"Probe\" failed with: not here"},
        Failure{"Reserve", "0/1 nodes are available: 1 not here.", "Unschedulable"},
        Failure{"Permit", "0/1 nodes are available: 1 not here.", "Unschedulable"},
        Failure{"PreBindPreFlight",
                "PreBindPreFlight Probe returned \"Unschedulable\", which is unsupported. It is supposed to "
                "return Success, Skip, or Error status"},
        Failure{"PreBind", "not here", "Unschedulable"}, Failure{"Bind", "not here", "Unschedulable"}),
    [](const auto& row) { return row.param.point; });

TEST_F(ContractTest, AScoreOutOfRangeFailsTheAttempt) {
  script.score = 101;
  AddPod(MakePod("victim"));
  EXPECT_THAT(LastMessage(), HasSubstr("plugin \"Probe\" returns an invalid score 101"));
  EXPECT_EQ(Sizes().backoff, 1U);
}

TEST_F(ContractTest, AnErrorOfPreEnqueueGatesOnlyThatPod) {
  script.act["PreEnqueue"] = []() -> Status { throw std::runtime_error("boom"); };
  AddPod(MakePod("victim"));
  EXPECT_EQ(Sizes().gated, 1U);
  EXPECT_THAT(api.patches, IsEmpty());
  AddPod(MakePod("other"));
  EXPECT_THAT(Bound(), ElementsAre("other"));
  script.act.clear();
  AddNode("n3");  // the probe registers for nodes
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("other", "victim"));
}

// --- requeueing ---

TEST_F(ContractTest, RejectionsWaitForAnEventAndErrorsForTheBackoff) {
  script.act["Reserve"] = [] { return Status::Unschedulable("not here"); };
  AddPod(MakePod("victim"));
  EXPECT_EQ(Sizes().unschedulable, 1U);
  script.act["Reserve"] = [] { return Status::Error("broke"); };
  Wait(std::chrono::seconds(3));
  EXPECT_EQ(Sizes().unschedulable, 1U) << "time alone does not requeue it";
  AddNode("n3");
  Settle();
  EXPECT_EQ(Sizes().backoff, 1U);
}

TEST_F(ContractTest, APendingRejectionSkipsTheBackoff) {
  script.act["Filter"] = [] { return Status{Code::kPending, {"wait"}, {}}; };
  AddPod(MakePod("victim"));
  EXPECT_EQ(Sizes().unschedulable, 1U);
  const std::size_t attempts = Calls("Filter").size();
  AddNode("n3");
  Settle();
  EXPECT_EQ(Calls("Filter").size(), attempts + 1) << "immediately";
}

TEST_F(ContractTest, UnreserveIsCalledInReverseOrder) {
  Start({"P1", "P2"});
  script.act["PreBind"] = [] { return Status::Error("broke"); };
  AddPod(MakePod("victim"));
  EXPECT_THAT(Calls("Unreserve"), ElementsAre("P2 Unreserve", "P1 Unreserve"));
  EXPECT_THAT(Calls("Bind"), IsEmpty());
}

TEST_F(ContractTest, UnreserveIsCalledForPluginsThatWereNotReserved) {
  Start({"P1", "P2"});
  script.act["Reserve"] = [] { return Status::Error("broke"); };
  AddPod(MakePod("victim"));
  EXPECT_THAT(Calls("Reserve"), ElementsAre("P1 Reserve"));
  EXPECT_THAT(Calls("Unreserve"), ElementsAre("P2 Unreserve", "P1 Unreserve"));
}

TEST_F(ContractTest, AFailedBindingRequeuesPodsThatWereRejectedBecauseOfIt) {
  AddPod(MakePod("filler").Cpu("900m"));
  script.hold_pre_bind = true;
  AddPod(MakePod("victim").Cpu("900m"));
  AddPod(MakePod("late").Cpu("900m"));
  EXPECT_THAT(Bound(), ElementsAre("filler"));
  EXPECT_EQ(Sizes().unschedulable, 1U);
  CompletePending(Status::Error("broke"));
  EXPECT_THAT(Bound(), ElementsAre("filler", "late"));
}

// --- Permit ---

TEST_F(ContractTest, APodWaitsUntilEveryPluginAllowsIt) {
  Start({"P1", "P2"});
  script.wait = {{"P1", std::chrono::seconds(10)}, {"P2", std::chrono::seconds(20)}};
  AddPod(MakePod("victim"));
  framework::WaitingPod* waiting = services.FindWaitingPod("uid-of-victim");
  ASSERT_NE(waiting, nullptr);
  EXPECT_THAT(waiting->PendingPlugins(), ElementsAre("P1", "P2"));
  ASSERT_EQ(api.patches.size(), 1U) << "the nomination is written";
  EXPECT_EQ(api.patches[0].nomination, waiting->node());
  EXPECT_EQ(api.patches[0].reason, "");
  waiting->Allow("P1");
  Settle();
  EXPECT_THAT(Bound(), IsEmpty());
  waiting->Allow("P2");
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("victim"));
  EXPECT_EQ(services.FindWaitingPod("uid-of-victim"), nullptr);
}

TEST_F(ContractTest, ThePluginWithTheFirstTimeoutRejectsThePod) {
  Start({"P1", "P2"});
  script.wait = {{"P1", std::chrono::minutes(2)}, {"P2", std::chrono::milliseconds(1500)}};
  AddPod(MakePod("victim"));
  Wait(std::chrono::milliseconds(1499));
  EXPECT_EQ(LastMessage(), "");
  Wait(std::chrono::milliseconds(1));
  EXPECT_EQ(LastMessage(),
            "0/1 nodes are available: 1 rejected due to timeout after waiting 1.5s at plugin P2.");
  EXPECT_EQ(LastReason(), "Unschedulable");
  EXPECT_EQ(api.patches.back().nomination, "");
  EXPECT_EQ(api.patches.front().nomination, api.patches.back().written_nomination);
  EXPECT_EQ(Sizes().unschedulable, 1U);
}

TEST_F(ContractTest, TheTimeoutOfAPluginThatHasAllowedThePodDoesNotCount) {
  Start({"P1", "P2"});
  script.wait = {{"P1", std::chrono::seconds(10)}, {"P2", std::chrono::seconds(1)}};
  AddPod(MakePod("victim"));
  services.FindWaitingPod("uid-of-victim")->Allow("P2");
  Wait(std::chrono::milliseconds(9999));
  EXPECT_EQ(LastMessage(), "");
  Wait(std::chrono::milliseconds(1));
  EXPECT_THAT(LastMessage(), HasSubstr("after waiting 10s at plugin P1"));
}

TEST_F(ContractTest, AWaitingPodCanBeRejectedOrPreemptedOnce) {
  script.wait = {{"Probe", std::chrono::seconds(10)}};
  AddPod(MakePod("victim"));
  framework::WaitingPod* waiting = services.FindWaitingPod("uid-of-victim");
  EXPECT_TRUE(waiting->Reject("Probe", "no"));
  EXPECT_FALSE(waiting->Preempt("Probe", "too late"));
  waiting->Allow("Probe");
  Settle();
  EXPECT_EQ(LastMessage(), "0/1 nodes are available: 1 no.");
  EXPECT_THAT(Bound(), IsEmpty());
  AddNode("n3");
  Wait(std::chrono::seconds(3));
  waiting = services.FindWaitingPod("uid-of-victim");
  ASSERT_NE(waiting, nullptr);
  EXPECT_TRUE(waiting->Preempt("Probe", "gone"));
  Settle();
  EXPECT_EQ(LastMessage(), "waiting on permit for pod: gone");
  EXPECT_EQ(LastReason(), "SchedulerError");
}

TEST_F(ContractTest, AWaitIsLimitedToFifteenMinutes) {
  script.wait = {{"Probe", std::chrono::hours(5)}};
  AddPod(MakePod("victim"));
  Wait(std::chrono::minutes(15));
  EXPECT_THAT(LastMessage(), HasSubstr("after waiting 15m0s at plugin Probe"));
}

TEST_F(ContractTest, DeletingAWaitingPodRejectsItAndFreesItsNode) {
  AddPod(MakePod("filler").Cpu("900m"));
  script.wait = {{"Probe", std::chrono::minutes(5)}};
  const api::PodPtr pod = AddPod(MakePod("victim").Cpu("900m"));
  AddPod(MakePod("late").Cpu("900m"));
  loop.sink().On(ports::Change<api::Pod>{pod, nullptr});
  Settle();
  EXPECT_EQ(engine->cache().assumed_count(), 0U + 2U) << "filler and late";
  EXPECT_THAT(Bound(), ElementsAre("filler", "late"));
  EXPECT_EQ(services.FindWaitingPod("uid-of-victim"), nullptr);
}

TEST_F(ContractTest, DeletingAPodDuringItsBindingFreesItsNodeImmediately) {
  AddPod(MakePod("filler").Cpu("900m"));
  script.hold_bind = true;
  const api::PodPtr pod = AddPod(MakePod("victim").Cpu("900m"));
  AddPod(MakePod("late").Cpu("900m"));
  EXPECT_THAT(Bound(), ElementsAre("filler"));
  api::Pod deleting = *pod;
  deleting.metadata.deletion_timestamp = "2026-01-01T00:00:00Z";
  loop.sink().On(ports::Change<api::Pod>{pod, std::make_shared<const api::Pod>(deleting)});
  Settle();
  EXPECT_THAT(Bound(), ElementsAre("filler", "late")) << "before the binding has failed";
}

// --- PreBind and Bind ---

TEST_F(ContractTest, TheLoopContinuesDuringPreBind) {
  script.hold_pre_bind = true;
  AddPod(MakePod("victim"));
  AddPod(MakePod("other"));
  EXPECT_THAT(Bound(), ElementsAre("other"));
  CompletePending({});
  EXPECT_THAT(Bound(), ElementsAre("other", "victim"));
}

TEST_F(ContractTest, PreBindPluginsRunInSequenceUnlessBothAllowParallel) {
  Start({"P1", "P2"});
  script.hold_pre_bind = true;
  AddPod(MakePod("victim"));
  EXPECT_EQ(script.owed.size(), 1U);
  CompletePending({});
  EXPECT_EQ(script.owed.size(), 1U);
  CompletePending({});
  EXPECT_THAT(Bound(), ElementsAre("victim"));

  Start({"P1", "P2"});
  script.allow_parallel = true;
  AddPod(MakePod("victim"));
  EXPECT_EQ(script.owed.size(), 2U);
  CompletePending({});
  EXPECT_THAT(Bound(), ElementsAre("victim", "victim"));
}

TEST_F(ContractTest, PreBindIsNotCalledAfterASkipOfPreBindPreFlight) {
  script.act["PreBindPreFlight"] = [] { return Status::Skip(); };
  AddPod(MakePod("victim"));
  EXPECT_THAT(Calls("PreBind"), IsEmpty());
  EXPECT_THAT(Bound(), ElementsAre("victim"));
  EXPECT_THAT(api.patches, IsEmpty()) << "no nomination is written";
}

TEST_F(ContractTest, AMissingResultIsAnErrorAfterTheDeadline) {
  script.hold_pre_bind = true;
  AddPod(MakePod("victim"));
  Wait(std::chrono::minutes(15));
  EXPECT_EQ(LastMessage(), "running PreBind plugins: no result within 15m0s");
  EXPECT_TRUE(script.stops.back().stop_requested());
  EXPECT_EQ(Sizes().backoff, 1U);
  script.hold_pre_bind = false;
  script.hold_bind = true;
  CompletePending({});  // too late: the attempt has ended
  EXPECT_THAT(Bound(), IsEmpty());
  Wait(std::chrono::seconds(3));
  Wait(std::chrono::minutes(2));
  EXPECT_EQ(LastMessage(), "running Bind plugin: no result within 2m0s");
}

TEST_F(ContractTest, ThePluginSetsTheDeadlineOfPreBind) {
  script.hold_pre_bind = true;
  script.longest_pre_bind = std::chrono::hours(2);
  AddPod(MakePod("victim"));
  Wait(std::chrono::minutes(119));
  EXPECT_EQ(Sizes().backoff, 0U);
  Wait(std::chrono::minutes(1));
  EXPECT_EQ(LastMessage(), "running PreBind plugins: no result within 2h0m0s");
}

TEST_F(ContractTest, APluginCanReplaceTheDefaultBinder) {
  script.act["Bind"] = [] { return Status{}; };
  AddPod(MakePod("victim"));
  EXPECT_THAT(Bound(), IsEmpty()) << "the default binder was not called";
  EXPECT_EQ(events.events.back().reason, "Scheduled");
  EXPECT_THAT(Calls("PostBind"), ElementsAre("Probe PostBind"));
}

// --- other ---

TEST_F(ContractTest, PluginsCanActivateOtherPods) {
  AddPod(MakePod("big").Cpu("2"));
  EXPECT_EQ(Sizes().unschedulable, 1U);
  script.activate = {"default/big"};
  const auto attempts = api.patches.size() + events.events.size();
  AddPod(MakePod("victim"));
  EXPECT_GT(api.patches.size() + events.events.size(), attempts + 1);
  EXPECT_EQ(scheduler->records().Latest("default/big")->result, record::Result::kUnschedulable);
}

TEST_F(ContractTest, PostFilterSetsTheNomination) {
  script.act["Filter"] = [] { return Status::Unschedulable("no"); };
  script.act["PostFilter"] = [] { return Status{Code::kSuccess, {"made room"}, {}}; };
  script.nominate = "n2";
  AddPod(MakePod("victim").Priority(5));
  EXPECT_EQ(LastMessage(), "0/2 nodes are available: 2 no. made room");
  EXPECT_EQ(api.patches.back().nomination, "n2");
  ASSERT_EQ(scheduler->queue().nominator().all().size(), 1U);
}

TEST_F(ContractTest, PreFilterExtensionsAreCalledForNominatedPods) {
  AddPod(MakePod("promised").Cpu("2").Priority(10).Nominated("n1"));
  AddPod(MakePod("victim"));
  EXPECT_THAT(Calls("AddPod"), ElementsAre("Probe AddPod"));
  EXPECT_THAT(script.calls, ::testing::Contains("Probe Filter with a nominated pod"));
  EXPECT_THAT(Bound(), ElementsAre("victim"));
}

TEST_F(ContractTest, AnErrorOfPreFilterExtensionsFailsTheAttempt) {
  AddPod(MakePod("promised").Cpu("2").Priority(10).Nominated("n1"));
  script.act["AddPod"] = [] { return Status::Error("broke"); };
  AddPod(MakePod("victim"));
  EXPECT_THAT(LastMessage(), HasSubstr("running AddPod on PreFilter plugin \"Probe\": broke"));
}

TEST_F(ContractTest, SlowPluginCallsAreCounted) {
  script.act["Score"] = [this] {
    clock.Advance(std::chrono::milliseconds(101));
    return Status{};
  };
  AddPod(MakePod("victim"));
  EXPECT_THAT(metrics.Expose(),
              HasSubstr("berth_plugin_overruns_total{extension_point=\"Score\",plugin=\"Probe\"} 1"));
  EXPECT_THAT(metrics.Expose(),
              HasSubstr("berth_plugin_seconds_total{extension_point=\"Score\",plugin=\"Probe\","
                        "profile=\"default-scheduler\"} 0.101"))
      << "of plugins that are not Berth's own each call is timed";
  EXPECT_THAT(Bound(), ElementsAre("victim"));
  EXPECT_THAT(
      metrics.Expose(),
      HasSubstr("scheduler_framework_extension_point_duration_seconds_count{extension_point=\"Reserve\","
                "profile=\"default-scheduler\",status=\"Success\"}"));
}

// Blocks its thread until the test releases it.
class SlowBinder final : public framework::BlockingPreBindPlugin, public framework::BlockingBindPlugin {
 public:
  SlowBinder(framework::Handle& handle, std::latch& go)
      : BlockingPreBindPlugin(handle), BlockingBindPlugin(handle), go_(go) {}
  std::string_view Name() const override { return "SlowBinder"; }
  Status PreBindNow(const Placement&, std::stop_token) override {
    go_.wait();
    return {};
  }
  Status BindNow(const Placement& placement) override {
    if (placement.pod.pod->metadata.name == "victim") throw std::runtime_error("boom");
    return Status::Skip();
  }

 private:
  std::latch& go_;
};

TEST_F(ContractTest, BlockingPluginsDoNotBlockTheLoop) {
  std::latch go(1);
  StartWith("SlowBinder",
            [&](const framework::RawArgs&, framework::Handle& handle) -> framework::PluginOrError {
              return std::make_unique<SlowBinder>(handle, go);
            });
  AddPod(MakePod("victim"));
  AddPod(MakePod("other"));
  EXPECT_EQ(engine->cache().assumed_count(), 2U) << "both are on their way at the same time";
  go.count_down();
  while (Bound().empty() || LastMessage().empty()) loop.RunOnce(*scheduler);
  EXPECT_THAT(Bound(), ElementsAre("other"));
  EXPECT_EQ(LastMessage(), "running Bind plugin \"SlowBinder\": the plugin threw: boom");
}

// Its PreBind returns when it is stopped. It gives up after a while, so that a test fails instead of waiting.
class WaitsForStop final : public framework::BlockingPreBindPlugin {
 public:
  WaitsForStop(framework::Handle& handle, std::latch& began, bool& stopped)
      : BlockingPreBindPlugin(handle), began_(began), stopped_(stopped) {}
  std::string_view Name() const override { return "WaitsForStop"; }
  Status PreBindNow(const Placement&, std::stop_token stop) override {
    began_.count_down();
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    stopped_ = changed.wait_for(lock, stop, std::chrono::seconds(10), [&] { return stop.stop_requested(); });
    return {};
  }

 private:
  std::latch& began_;
  bool& stopped_;
};

// One pod is in PreBind.
class WaitingPreBind : public ContractTest {
 protected:
  WaitingPreBind() {
    StartWith("WaitsForStop",
              [&](const framework::RawArgs&, framework::Handle& handle) -> framework::PluginOrError {
                return std::make_unique<WaitsForStop>(handle, began_, stopped_);
              });
    AddPod(MakePod("victim"));
    began_.wait();
  }
  // The plugin refers to the members.
  ~WaitingPreBind() override {
    scheduler.reset();
    engine.reset();
  }

  std::latch began_{1};
  bool stopped_ = false;
};

TEST_F(WaitingPreBind, TheEndOfTheSchedulerStopsIt) {
  scheduler.reset();
  EXPECT_TRUE(stopped_);
}

// The process destroys the clients before the scheduler.
TEST_F(WaitingPreBind, NoPluginRunsOnAnotherThreadAfterTheEndOfBlockingPluginsEvenForAnAbandonedBinding) {
  scheduler->Drain({});
  loop.RunOnce(*scheduler);
  ASSERT_TRUE(loop.stopping());
  scheduler->EndBlockingPlugins();
  EXPECT_TRUE(stopped_);
}

// Other threads may keep a binding cycle for a moment longer, as the loop keeps the messages of an iteration.
TEST_F(ContractTest, TheDataOfPluginsEndsWithTheBinding) {
  script.data = std::make_shared<int>();
  script.hold_bind = true;
  AddPod(MakePod("victim"));
  EXPECT_EQ(script.data.use_count(), 2);
  for (auto& answer : std::exchange(script.owed, {})) answer({});
  loop.RunOnce(*scheduler);
  EXPECT_THAT(Calls("PostBind"), ElementsAre("Probe PostBind"));
  EXPECT_EQ(script.data.use_count(), 1);
}

TEST_F(ContractTest, TheDataOfPluginsIsKeptForACallThatHasNotCompleted) {
  script.data = std::make_shared<int>();
  script.hold_pre_bind = true;
  AddPod(MakePod("victim"));
  Wait(std::chrono::minutes(15));
  EXPECT_THAT(Calls("Unreserve"), ElementsAre("Probe Unreserve"));
  EXPECT_EQ(script.data.use_count(), 2);
  for (auto& answer : std::exchange(script.owed, {})) answer({});
  loop.RunOnce(*scheduler);
  EXPECT_EQ(script.data.use_count(), 1);
}

TEST_F(ContractTest, ARecreatedPodIsNotAffectedByTheOldPodsFailure) {
  script.hold_bind = true;
  const api::PodPtr old = AddPod(MakePod("victim"));
  loop.sink().On(ports::Change<api::Pod>{old, nullptr});
  script.hold_bind = false;
  AddPod(MakePod("victim").Uid("another"));
  const auto patches = api.patches.size();
  CompletePending(Status::Error("gone"));
  EXPECT_EQ(api.patches.size(), patches);
  EXPECT_THAT(Bound(), ElementsAre("victim"));
}

}  // namespace
}  // namespace berth::cycle
