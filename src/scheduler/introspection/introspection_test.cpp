// Reports of a complete scheduler, and their JSON.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "scheduler/introspection/event_names.hpp"
#include "scheduler/introspection/inspector.hpp"
#include "scheduler/introspection/node_json.hpp"
#include "scheduler/introspection/report_json.hpp"
#include "testing/builders.hpp"

namespace berth::introspection {
namespace {

namespace json = boost::json;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::PodBuilder;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

class IntrospectionTest : public ::testing::Test {
 protected:
  explicit IntrospectionTest(const config::SchedulerConfig& config = config::DefaultSchedulerConfig()) {
    run_.Build(config, assembly::InTreePlugins());
    run_.loop.sink().OnSynced();
    run_.Settle();
  }
  template <class T>
  void Change(std::shared_ptr<const T> before, std::shared_ptr<const T> after) {
    run_.loop.sink().On(ports::Change<T>{std::move(before), std::move(after)});
    run_.Settle();
  }
  void Add(const api::Node& node) { Change<api::Node>(nullptr, std::make_shared<const api::Node>(node)); }
  void Add(const PodBuilder& pod) { Change<api::Pod>(nullptr, pod.Share()); }
  Inspector Inspect() {
    return Inspector({run_.loop, *run_.scheduler, run_.engine->cache(), run_.engine->handle().signals,
                      run_.engine->profiles(), run_.engine->reasons(), run_.clock, run_.metrics,
                      std::chrono::minutes(5)});
  }
  std::optional<PodReport> Pod(const std::string& key, std::size_t attempts = 2) {
    std::optional<PodReport> report;
    Inspect().ReportPod(key, attempts, [&](std::optional<PodReport> taken) { report = std::move(taken); });
    run_.Settle();
    return report;
  }
  json::object Json(const std::string& key, PodView view = PodView::kSummary) {
    return json::parse(PodJson(Pod(key).value(), view)).as_object();
  }
  QueueReport Queue() {
    QueueReport report;
    Inspect().ReportQueue([&](QueueReport taken) { report = std::move(taken); });
    run_.Settle();
    return report;
  }

  cycle::SchedulerEnvironment run_;
};

std::string Text(const json::value& value) { return std::string(value.as_string()); }

TEST_F(IntrospectionTest, ARejectedPodReportsItsPlaceItsReasonsAndWhatWakesIt) {
  Add(MakeNode("small").Cpu("1"));
  Add(MakePod("big").Cpu("4"));
  run_.clock.Advance(seconds(30));
  const json::object pod = Json("default/big");
  EXPECT_EQ(Text(pod.at("stage")), "queued");
  const json::object& queue = pod.at("queue").as_object();
  EXPECT_EQ(Text(queue.at("place")), "unschedulable");
  EXPECT_EQ(queue.at("attempts").as_int64(), 1);
  EXPECT_EQ(json::serialize(queue.at("rejectedBy")), R"(["NodeResourcesFit"])");
  EXPECT_THAT(json::serialize(queue.at("wokenBy")), HasSubstr("Node: Add, UpdateNodeAllocatable"));
  EXPECT_EQ(Text(queue.at("nextRetry")), FormatMicroTime(run_.clock.WallNow() + seconds(5 * 60 - 30)));
  const json::object& attempt = pod.at("attempts").at(0).as_object();
  EXPECT_EQ(Text(attempt.at("result")), "unschedulable");
  EXPECT_EQ(json::serialize(attempt.at("reasons")),
            R"([{"plugin":"NodeResourcesFit","reason":"Insufficient cpu","nodes":1}])");
  EXPECT_EQ(Text(attempt.at("time")), FormatMicroTime(run_.clock.WallNow() - seconds(30)));
}

TEST_F(IntrospectionTest, ASummaryNamesNoNodeAndNoOtherPod) {
  Add(MakeNode("secret-node").Cpu("1"));
  Add(MakePod("victim").Cpu("1").Priority(1).OnNode("secret-node"));
  Add(MakePod("big").Cpu("4"));
  EXPECT_THAT(json::serialize(Json("default/big")), Not(HasSubstr("secret-node")));
  EXPECT_THAT(json::serialize(Json("default/big", PodView::kNodes)), HasSubstr(R"("names":["secret-node"])"));
}

TEST(PodJson, ASummaryCountsTheTenantsBeforeButDoesNotNameThem) {
  PodReport report;
  report.stage = PodStage::kQueued;
  queue::TenantPlace& tenant = report.queued.emplace().tenant.emplace();
  tenant.own.name = "own";
  tenant.before.emplace_back().name = "secret-tenant";
  tenant.tenants_before = 1;
  const std::string summary = PodJson(report, PodView::kSummary);
  EXPECT_THAT(summary, HasSubstr(R"("tenant":{"name":"own",)"));
  EXPECT_THAT(summary, HasSubstr(R"("tenantsBefore":1)"));
  EXPECT_THAT(summary, Not(HasSubstr("firstTenants")));
  EXPECT_THAT(summary, Not(HasSubstr("secret-tenant")));
  EXPECT_THAT(PodJson(report, PodView::kNodes), HasSubstr(R"("firstTenants":[{"name":"secret-tenant",)"));
}

config::SchedulerConfig GroupConfig() {
  std::vector<std::string> notes;
  const std::string on[] = {"GenericWorkload=true"};
  return config::DefaultSchedulerConfig(config::FeatureGates::Parse(on, notes).value());
}

class GroupIntrospectionTest : public IntrospectionTest {
 protected:
  GroupIntrospectionTest() : IntrospectionTest(GroupConfig()) {}
};

TEST_F(GroupIntrospectionTest, AnAttemptOfAMemberTellsHowFarItsGroupCame) {
  Add(MakeNode("n").Cpu("1"));
  Change<api::PodGroup>(nullptr, berth::testing::MakeGroup("g", 2));
  Add(MakePod("fits").Cpu("600m").Group("g"));
  Add(MakePod("waits").Cpu("600m").Group("g"));
  const auto group = [&](PodView view) {
    return Json("default/fits", view).at("attempts").at(0).at("group").as_object();
  };
  const json::object summary = group(PodView::kSummary);
  EXPECT_EQ(Text(summary.at("name")), "default/g");
  EXPECT_EQ(Text(summary.at("result")), "unschedulable");
  EXPECT_THAT(Text(summary.at("message")), HasSubstr("minCount (2) cannot be satisfied: 1 scheduled"));
  EXPECT_THAT(json::serialize(summary),
              HasSubstr(R"("minCount":2,"scheduled":0,"pending":2,"placed":1,"failed":1,"notTried":0)"));
  EXPECT_THAT(json::serialize(summary), Not(HasSubstr("default/waits"))) << "names no other pod";
  EXPECT_EQ(json::serialize(group(PodView::kNodes).at("failures")),
            R"([{"pod":"default/waits","message":"0/1 nodes are available: 1 Insufficient cpu."}])");
}

TEST_F(IntrospectionTest, AnAttemptIsComparedWithTheOneBefore) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakePod("big").Cpu("4"));
  // Enough for the hint of the plugin; a pod takes it before the next attempt.
  const auto node = std::make_shared<const api::Node>(MakeNode("b").Cpu("5"));
  run_.loop.sink().On(ports::Change<api::Node>{nullptr, node});
  run_.loop.sink().On(ports::Change<api::Pod>{nullptr, MakePod("other").Cpu("3").OnNode("b").Share()});
  run_.Wait(seconds(15));
  const json::object pod = Json("default/big");
  ASSERT_EQ(pod.at("attempts").as_array().size(), 2u) << json::serialize(pod);
  const json::object& reason = pod.at("attempts").at(0).at("reasons").at(0).as_object();
  EXPECT_EQ(reason.at("nodes").as_int64(), 2);
  EXPECT_EQ(reason.at("nodesBefore").as_int64(), 1);
}

TEST_F(IntrospectionTest, ABoundPodReportsItsNodeAndTheRunnersUpAsLongAsItsRecordIsKept) {
  Add(MakeNode("large").Cpu("64").Memory("64Gi"));
  Add(MakeNode("tiny").Cpu("2").Memory("2Gi"));
  Add(MakePod("web").Cpu("1").Memory("1Gi"));
  const json::object pod = Json("default/web", PodView::kNodes);
  const json::object& attempt = pod.at("attempts").at(0).as_object();
  EXPECT_EQ(Text(attempt.at("result")), "scheduled");
  EXPECT_EQ(Text(attempt.at("node")), "large");
  const json::array& candidates = attempt.at("candidates").as_array();
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(Text(candidates.at(0).at("node")), "large");
  EXPECT_GT(candidates.at(0).at("total").as_int64(), candidates.at(1).at("total").as_int64());
  EXPECT_THAT(json::serialize(candidates.at(1)), HasSubstr(R"({"plugin":"NodeResourcesFit","score":)"));
  EXPECT_EQ(Pod("default/never-seen"), std::nullopt);
}

TEST_F(IntrospectionTest, ARecordIsTheOneOfTheAttempt) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakePod("big").Cpu("4"));
  const auto kept = run_.scheduler->records().Latest("default/big");
  EXPECT_THAT(PodJson(Pod("default/big").value(), PodView::kRecords),
              HasSubstr("\"record\":" + record::ToJson(*kept, run_.engine->reasons())));
}

TEST_F(IntrospectionTest, AReportStaysAsItIsWhenTheSchedulerGoesOn) {
  Add(MakeNode("a").Cpu("4"));
  Add(MakePod("first").Cpu("1"));
  const std::optional<PodReport> report = Pod("default/first");
  const std::string before = PodJson(*report, PodView::kRecords);
  for (int i = 0; i < 3; ++i) Add(MakePod("p" + std::to_string(i)).Cpu("1"));
  Add(MakeNode("b").Cpu("64"));
  EXPECT_EQ(PodJson(*report, PodView::kRecords), before);
}

TEST_F(IntrospectionTest, AGatedPodNamesThePluginThatGatesIt) {
  PodBuilder gated = MakePod("gated");
  gated.raw().spec.scheduling_gates = {"quota"};
  Add(gated);
  const json::object pod = Json("default/gated");
  EXPECT_EQ(Text(pod.at("queue").at("place")), "gated");
  EXPECT_EQ(Text(pod.at("queue").at("gatedBy")), "SchedulingGates");
}

TEST_F(IntrospectionTest, TheQueueIsReportedInStepsWithoutLosingAPod) {
  constexpr int kPods = 9000;
  for (int i = 0; i < kPods; ++i)
    run_.loop.sink().On(ports::Change<api::Pod>{nullptr, MakePod("p" + std::to_string(i)).Cpu("1").Share()});
  run_.Settle();
  std::optional<std::size_t> rows;
  Inspect().ReportQueue([&](const QueueReport& taken) { rows = taken.rows.size(); });
  int steps = 0;
  // Pods leave the queue between the steps.
  for (; !rows; ++steps) {
    const PodBuilder gone = MakePod("p" + std::to_string(steps)).Cpu("1");
    run_.loop.sink().On(ports::Change<api::Pod>{gone.Share(), nullptr});
    ASSERT_TRUE(run_.loop.RunOnce(*run_.scheduler));
  }
  EXPECT_GT(steps, 3);
  EXPECT_GE(*rows, static_cast<std::size_t>(kPods - steps));
  EXPECT_LE(*rows, static_cast<std::size_t>(kPods));
}

TEST_F(IntrospectionTest, QueueJsonCountsAndListsThePodsThatPassTheFilter) {
  Add(MakeNode("a").Cpu("1"));
  for (const auto* name : {"x", "y", "z"}) {
    Add(MakePod(name).Cpu("8"));
    run_.clock.Advance(seconds(1));
  }
  const QueueReport report = Queue();
  const json::object all = json::parse(QueueJson(report, {.limit = 2})).as_object();
  EXPECT_EQ(all.at("total").as_int64(), 3);
  EXPECT_EQ(all.at("remaining").as_int64(), 1);
  EXPECT_EQ(json::serialize(all.at("causes")), R"([{"plugin":"NodeResourcesFit","pods":3}])");
  EXPECT_EQ(Text(all.at("pods").at(0).at("name")), "x");
  const json::object next = json::parse(QueueJson(report, {.limit = 2, .offset = 2})).as_object();
  EXPECT_EQ(Text(next.at("pods").at(0).at("name")), "z");
  EXPECT_EQ(json::parse(QueueJson(report, {.plugin = "NodeAffinity"})).at("matching").as_int64(), 0);
}

TEST_F(IntrospectionTest, TheShortfallComparesRequestsOfRejectedPodsWithWhatIsFree) {
  struct Case {
    const char* name;
    std::vector<api::Node> nodes;
    std::vector<PodBuilder> pods;
    const char* want;
  };
  const auto node = [](const char* name, const char* cpu) { return MakeNode(name).Cpu(cpu).Memory("8Gi"); };
  const std::vector<Case> cases = {
      {"more is requested than is free in total",
       {node("a", "2"), node("b", "1")},
       {MakePod("x").Cpu("4"), MakePod("y").Cpu("3500m")},
       R"([{"resource":"cpu","pods":2,"requested":"7500m","free":"3","missing":"4500m","largestRequest":"4",)"
       R"("largestFree":"2"}])"},
      {"enough is free, but on no single node",
       {node("a", "2"), node("b", "3")},
       {MakePod("x").Cpu("4")},
       R"([{"resource":"cpu","pods":1,"requested":"4","free":"5","missing":"0","largestRequest":"4",)"
       R"("largestFree":"3"}])"},
      {"pods on the nodes and cordoned nodes count",
       {node("a", "4"), node("b", "8").Cordoned()},
       {MakePod("bound").Cpu("3").OnNode("a"), MakePod("x").Cpu("2")},
       R"([{"resource":"cpu","pods":1,"requested":"2","free":"1","missing":"1","largestRequest":"2",)"
       R"("largestFree":"1"}])"},
      {"a resource that no node has",
       {node("a", "4")},
       {MakePod("x").Cpu("1").Request("example.com/gpu", "2")},
       R"([{"resource":"example.com/gpu","pods":1,"requested":"2","free":"0","missing":"2",)"
       R"("largestRequest":"2","largestFree":"0"}])"},
      {"pods that another plugin rejects do not count",
       {node("a", "4")},
       {MakePod("x").Cpu("8").Selecting("disk", "ssd")},
       "[]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<api::NodePtr> nodes;
    std::vector<api::PodPtr> pods;
    for (const api::Node& one : c.nodes)
      Change<api::Node>(nullptr, nodes.emplace_back(std::make_shared<const api::Node>(one)));
    for (const PodBuilder& one : c.pods) Change<api::Pod>(nullptr, pods.emplace_back(one.Share()));
    const json::value report = json::parse(QueueJson(Queue(), {}));
    EXPECT_EQ(json::serialize(report.at("shortfall")), c.want);
    for (const api::PodPtr& pod : pods) Change<api::Pod>(pod, nullptr);
    for (const api::NodePtr& one : nodes) Change<api::Node>(one, nullptr);
  }
}

// --- nodes and plugins ---

class NodeReportTest : public IntrospectionTest {
 protected:
  std::optional<NodeReport> Node(const std::string& name) {
    std::optional<NodeReport> report;
    Inspect().ReportNode(name, [&](std::optional<NodeReport> taken) { report = std::move(taken); });
    run_.Settle();
    return report;
  }
  json::object NodeAsJson(const std::string& name, NodeView view = NodeView::kPods) {
    return json::parse(NodeJson(Node(name).value(), view)).as_object();
  }
};

TEST_F(NodeReportTest, ANodeReportsItsStateAndThePodsOnIt) {
  Add(MakeNode("a")
          .Cpu("4")
          .Memory("8Gi")
          .Allocatable("example.com/gpu", "2")
          .Cordoned()
          .Taint("gpu", "true", "NoSchedule"));
  Add(MakePod("db").Cpu("1500m").Memory("1Gi").Request("example.com/gpu", "1").OnNode("a").Priority(7));
  Add(MakePod("web").Cpu("1").OnNode("a"));
  const json::object node = NodeAsJson("a");
  EXPECT_EQ(json::serialize(node.at("unschedulable")), "true");
  EXPECT_EQ(json::serialize(node.at("taints")), R"([{"key":"gpu","value":"true","effect":"NoSchedule"}])");
  EXPECT_EQ(node.at("podCount").as_int64(), 2);
  EXPECT_EQ(json::serialize(node.at("resources")),
            R"([{"resource":"cpu","allocatable":"4","requested":"2500m"},)"
            R"({"resource":"example.com/gpu","allocatable":"2","requested":"1"},)"
            R"({"resource":"memory","allocatable":"8Gi","requested":"1Gi"},)"
            R"({"resource":"pods","allocatable":"110","requested":"2"}])");
  EXPECT_EQ(json::serialize(node.at("pods").at(0)),
            R"({"namespace":"default","name":"db","priority":7,"assumed":false,"requests":[)"
            R"({"resource":"cpu","requested":"1500m"},{"resource":"memory","requested":"1Gi"},)"
            R"({"resource":"example.com/gpu","requested":"1"}]})");
  EXPECT_EQ(Node("b"), std::nullopt);
}

TEST_F(NodeReportTest, APodWithoutAConfirmedBindingIsAssumed) {
  Add(MakeNode("a").Cpu("4"));
  Add(MakePod("web").Cpu("1"));
  const json::object node = NodeAsJson("a");
  EXPECT_EQ(node.at("assumedCount").as_int64(), 1);
  EXPECT_TRUE(node.at("pods").at(0).at("assumed").as_bool());
}

TEST_F(NodeReportTest, ANodeReportsThePodsThatItRejectedWithTheReasons) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakeNode("b").Cpu("64"));
  Add(MakePod("big").Cpu("4"));
  run_.clock.Advance(seconds(1));
  Add(MakePod("bigger").Cpu("8"));
  Add(MakePod("small").Cpu("500m").Priority(1));
  const json::object node = NodeAsJson("a");
  const json::array& rejections = node.at("rejections").as_array();
  ASSERT_EQ(rejections.size(), 1u) << json::serialize(node);
  const json::object& rejection = rejections.at(0).as_object();
  EXPECT_EQ(Text(rejection.at("plugin")), "NodeResourcesFit");
  EXPECT_EQ(Text(rejection.at("reason")), "Insufficient cpu");
  EXPECT_EQ(rejection.at("pods").as_int64(), 2);
  EXPECT_EQ(Text(rejection.at("lastPods").at(0).at("name")), "bigger");
  EXPECT_EQ(Text(rejection.at("last")), FormatMicroTime(run_.clock.WallNow()));
  EXPECT_EQ(node.at("searched").at("attempts").as_int64(), 3);
  EXPECT_EQ(NodeAsJson("b").at("rejections").as_array().size(), 0u);
}

TEST_F(NodeReportTest, ARowThatBelongedToAnotherNodeIsNotSearched) {
  const auto old = std::make_shared<const api::Node>(MakeNode("old").Cpu("1"));
  Change<api::Node>(nullptr, old);
  Add(MakePod("big").Cpu("4"));
  Change<api::Node>(old, nullptr);
  Add(MakeNode("new").Cpu("64"));
  EXPECT_EQ(NodeAsJson("new").at("rejections").as_array().size(), 0u);
}

TEST_F(NodeReportTest, ASummaryNamesNoPod) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakePod("secret-bound").Cpu("1").OnNode("a"));
  Add(MakePod("secret-rejected").Cpu("4"));
  EXPECT_THAT(json::serialize(NodeAsJson("a")), HasSubstr("secret-rejected"));
  const std::string summary = json::serialize(NodeAsJson("a", NodeView::kSummary));
  EXPECT_THAT(summary, Not(HasSubstr("secret")));
  EXPECT_THAT(summary, HasSubstr(R"("podCount":1)"));
}

TEST_F(IntrospectionTest, TheRecordsAreSearchedInSteps) {
  Add(MakeNode("a").Cpu("1"));
  constexpr int kPods = 500;
  for (int i = 0; i < kPods; ++i) Add(MakePod("p" + std::to_string(i)).Cpu("4"));
  std::optional<NodeReport> report;
  Inspect().ReportNode("a", [&](std::optional<NodeReport> taken) { report = std::move(taken); });
  int steps = 0;
  for (; !report; ++steps) ASSERT_TRUE(run_.loop.RunOnce(*run_.scheduler));
  EXPECT_GE(steps, 10);
  EXPECT_EQ(report->searched.attempts, static_cast<std::size_t>(kPods));
  const NodeRejection& rejection = report->rejections.begin()->second;
  EXPECT_EQ(rejection.pods.size(), kMostRejectedPods);
  EXPECT_EQ(rejection.more_pods, kPods - kMostRejectedPods);
}

TEST_F(IntrospectionTest, AllNodesAreReportedInStepsWithTheRequestedShares) {
  constexpr int kNodes = 2500;
  for (int i = 0; i < kNodes; ++i)
    run_.loop.sink().On(ports::Change<api::Node>{
        nullptr, std::make_shared<const api::Node>(MakeNode(fmt::format("n{:04}", i)).Cpu("4"))});
  run_.Settle();
  Add(MakePod("web").Cpu("1").OnNode("n0001"));
  Add(MakeNode("last").Cpu("8").Allocatable("example.com/gpu", "2").Cordoned());
  Add(MakePod("training").Request("example.com/gpu", "1").OnNode("last"));
  const load_metrics::SignalId signal =
      run_.engine->handle().signals.Declare({.name = "cpu",
                                             .source = "main",
                                             .expression = "x",
                                             .guards = {{.name = "age", .expression = "y", .at_most = 60}}});
  run_.engine->handle().signals.SetClock(run_.clock);
  load_metrics::SeriesValue value{{{"node", "n0001"}}, 0.25};
  load_metrics::SeriesValue age{{{"node", "n0001"}}, 5};
  run_.engine->handle().signals.Take(
      load_metrics::AnswerOf(load_metrics::SignalId{0}, run_.clock.Now(), {age}));
  run_.engine->handle().signals.Take(load_metrics::AnswerOf(signal, run_.clock.Now(), {value}));
  run_.clock.Advance(seconds(5));

  std::optional<NodesReport> report;
  Inspect().ReportNodes([&](NodesReport taken) { report = std::move(taken); });
  int steps = 0;
  for (; !report; ++steps) ASSERT_TRUE(run_.loop.RunOnce(*run_.scheduler));
  EXPECT_GE(steps, 10);
  ASSERT_EQ(report->nodes.size(), static_cast<std::size_t>(kNodes) + 1);
  const json::object page = json::parse(NodesJson(*report, {.limit = 2, .offset = 1})).as_object();
  EXPECT_EQ(page.at("total").as_int64(), kNodes + 1);
  EXPECT_EQ(page.at("remaining").as_int64(), kNodes - 2);
  EXPECT_EQ(json::serialize(page.at("measurements")),
            fmt::format(R"([{{"name":"cpu","state":"fresh","polledAt":"{}"}}])",
                        FormatMicroTime(run_.clock.WallNow() - seconds(5))));
  EXPECT_EQ(json::serialize(page.at("nodes")),
            R"([{"name":"n0000","unschedulable":false,"podCount":0,"requested":[)"
            R"({"resource":"cpu","share":0},{"resource":"pods","share":0}]},)"
            R"({"name":"n0001","unschedulable":false,"podCount":1,"requested":[)"
            R"({"resource":"cpu","share":2.5E-1},{"resource":"pods","share":9.091E-3}],)"
            R"("measured":[{"name":"cpu","value":2.5E-1}]}])");
  EXPECT_EQ(json::serialize(json::parse(NodesJson(*report, {.limit = 1})).at("nodes")),
            R"([{"name":"last","unschedulable":true,"podCount":1,"requested":[)"
            R"({"resource":"cpu","share":0},{"resource":"pods","share":9.091E-3},)"
            R"({"resource":"example.com/gpu","share":5E-1}]}])");
}

TEST_F(IntrospectionTest, PreemptionsAreReportedWithTheirVictims) {
  Add(MakeNode("a").Cpu("2"));
  Add(MakePod("low").Cpu("2").OnNode("a"));
  Add(MakePod("unrelated").Cpu("8"));
  Add(MakePod("urgent").Cpu("2").Priority(100));
  std::optional<PreemptionsReport> report;
  Inspect().ReportPreemptions([&](PreemptionsReport taken) { report = std::move(taken); });
  run_.Settle();
  ASSERT_TRUE(report);
  const json::object all = json::parse(PreemptionsJson(*report)).as_object();
  ASSERT_GE(all.at("preemptions").as_array().size(), 1u);
  const json::object& newest = all.at("preemptions").at(0).as_object();
  EXPECT_EQ(Text(newest.at("name")), "urgent");
  EXPECT_EQ(Text(newest.at("node")), "a");
  EXPECT_EQ(newest.at("victimCount").as_int64(), 1);
  EXPECT_EQ(json::serialize(newest.at("victims")), R"(["default/low"])");
  EXPECT_THAT(json::serialize(all), Not(HasSubstr("unrelated")));
}

TEST_F(IntrospectionTest, PluginsReportCallsCostAndRejections) {
  Add(MakeNode("a").Cpu("1"));
  Add(MakeNode("b").Cpu("64"));
  constexpr int kPods = 60;  // a tenth of the attempts is timed
  for (int i = 0; i < kPods; ++i) Add(MakePod("p" + std::to_string(i)).Cpu("1500m"));
  std::optional<PluginsReport> report;
  Inspect().ReportPlugins([&](PluginsReport taken) { report = std::move(taken); });
  run_.Settle();
  const json::object plugins = json::parse(PluginsJson(*report)).as_object();
  const json::object& profile = plugins.at("profiles").at(0).as_object();
  EXPECT_EQ(Text(profile.at("name")), "default-scheduler");
  const std::string text = json::serialize(profile);
  EXPECT_THAT(text, HasSubstr(R"({"extensionPoint":"Filter","status":"Success","calls":)"));
  EXPECT_THAT(text, HasSubstr(R"({"plugin":"NodeResourcesFit","extensionPoint":"Filter","evaluations":)"));
  EXPECT_THAT(text, HasSubstr(R"({"plugin":"TaintToleration","weight":3})"));
  const std::size_t attempts = report->searched.attempts;
  EXPECT_GE(attempts, static_cast<std::size_t>(kPods));
  const PluginRejections& fit = report->profiles.front().rejections.at("NodeResourcesFit");
  EXPECT_EQ(fit.attempts, attempts);
  EXPECT_GT(fit.nodes, attempts) << "both nodes, when the second one is full";
}

// After a reload the evaluations are those of before, too.
TEST(PluginsJson, APluginWithoutATimedCallHasNoSeconds) {
  PluginsReport report;
  report.profiles.emplace_back().plugins = {{"A", "Filter", 10, 0.5}, {"B", "Filter", 10, std::nullopt}};
  EXPECT_THAT(PluginsJson(report),
              HasSubstr(R"("costs":[{"plugin":"A","extensionPoint":"Filter","evaluations":10,"seconds":0.5},)"
                        R"({"plugin":"B","extensionPoint":"Filter","evaluations":10}])"));
}

TEST(DescribeEvent, NamesTheChanges) {
  using enum framework::EventResource;
  EXPECT_EQ(DescribeEvent({kNode, framework::kAdd | framework::kUpdateNodeTaint}),
            "Node: Add, UpdateNodeTaint");
  EXPECT_EQ(DescribeEvent({kAssignedPod, framework::kDelete}), "AssignedPod: Delete");
  EXPECT_EQ(DescribeEvent({kStorageClass, framework::kAdd | framework::kUpdate}),
            "StorageClass: Add, Update");
  EXPECT_EQ(DescribeEvent({kAny}), "any: any change");
}

}  // namespace
}  // namespace berth::introspection
