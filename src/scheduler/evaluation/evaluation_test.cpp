// Explanations of pods of a complete scheduler.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
#include <random>
#include <set>

#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "scheduler/evaluation/change_reader.hpp"
#include "scheduler/evaluation/cluster_copy.hpp"
#include "scheduler/evaluation/config_preview.hpp"
#include "scheduler/evaluation/pod_explainer.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "testing/builders.hpp"

namespace berth::evaluation {
namespace {

using berth::testing::MakeGroup;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class EvaluationTest : public ::testing::Test {
 protected:
  EvaluationTest() { Build(config::DefaultSchedulerConfig()); }
  void Build(const config::SchedulerConfig& config) {
    explainer_.reset();
    config_ = config;
    run_.Build(config_, plugins_);
    run_.loop.sink().OnSynced();
    run_.Settle();
    explainer_ = MakeExplainer();
  }
  std::unique_ptr<PodExplainer> MakeExplainer() {
    return std::make_unique<PodExplainer>(PodExplainer::Parts{run_.loop, *run_.scheduler, *run_.engine,
                                                              config_, plugins_, run_.clock, run_.metrics});
  }

  template <class T>
  void Change(std::shared_ptr<const T> before, std::shared_ptr<const T> after) {
    run_.loop.sink().On(ports::Change<T>{std::move(before), std::move(after)});
    run_.Settle();
  }
  api::NodePtr Add(const NodeBuilder& node) {
    api::NodePtr shared = node.Share();
    Change<api::Node>(nullptr, shared);
    return shared;
  }
  api::PodPtr Add(const PodBuilder& pod) {
    api::PodPtr shared = pod.Share();
    Change<api::Pod>(nullptr, shared);
    return shared;
  }
  template <class T>
  void Remove(const std::shared_ptr<const T>& object) {
    Change<T>(object, nullptr);
  }

  // "null" for an unknown pod, "error: ..." for an error, else the explanation.
  static std::string Text(const Expected<const Evaluated*>& evaluated, explanation::JsonView view) {
    if (!evaluated) return "error: " + evaluated.error().message;
    if (*evaluated == nullptr) return "null";
    const Evaluated& found = **evaluated;
    return ExplanationJson(found.explanation, {found.cluster_as_of, found.evaluated_at, true, found.left_out},
                           view);
  }
  std::string ExplainWith(PodExplainer& explainer, const std::string& pod,
                          explanation::JsonView view = explanation::JsonView::kNodes) {
    std::promise<std::string> promise;
    std::future<std::string> text = promise.get_future();
    EXPECT_TRUE(explainer.Explain(pod, [&, view](const Expected<const Evaluated*>& evaluated) {
      promise.set_value(Text(evaluated, view));
    }));
    while (text.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) run_.Settle();
    run_.Settle();
    return text.get();
  }
  std::string Explain(const std::string& pod) { return ExplainWith(*explainer_, pod); }

  const runtime::Registry plugins_ = assembly::InTreePlugins();
  config::SchedulerConfig config_;
  cycle::SchedulerEnvironment run_;
  std::unique_ptr<PodExplainer> explainer_;
};

TEST_F(EvaluationTest, APendingPodIsExplainedWithAdvice) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("big").Cpu("4"));
  const std::string text = Explain("default/big");
  EXPECT_THAT(text, HasSubstr(R"("result":"unschedulable")"));
  EXPECT_THAT(text, HasSubstr(R"x("values":["requests 4; n1 lacks 2 (2 of 2 free)"])x"));
  EXPECT_THAT(text, HasSubstr(R"({"steps":["lower the cpu request from 4 to 2"],"nodes":1,)"));
  EXPECT_THAT(text, Not(HasSubstr("leftOut")));
}

TEST_F(EvaluationTest, AnUnknownPodIsNull) {
  Add(MakeNode("n1").Cpu("2"));
  EXPECT_EQ(Explain("default/gone"), "null");
  EXPECT_EQ(Explain("no-namespace"), "null");
}

TEST_F(EvaluationTest, APodOnANodeIsEvaluatedWithoutItself) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("other").Cpu("1").OnNode("n1"));
  Add(MakePod("mine").Cpu("1").OnNode("n1"));
  const std::string text = Explain("default/mine");
  EXPECT_THAT(text, HasSubstr(R"("boundTo":"n1")"));
  EXPECT_THAT(text, HasSubstr(R"("result":"scheduled")"));
}

TEST_F(EvaluationTest, APodWhoseBindingIsInProgressCountsOnItsNode) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("assumed").Cpu("2"));
  ASSERT_EQ(run_.engine->cache().assumed_count(), 1u);
  EXPECT_THAT(Explain("default/assumed"), HasSubstr(R"("boundTo":"n1")"));
  Add(MakePod("next").Cpu("1"));
  EXPECT_THAT(Explain("default/next"), HasSubstr("lacks 1 (0 of 2 free)"));
}

TEST_F(EvaluationTest, NominatedPodsKeepTheirRoom) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("victim").Cpu("2").Priority(1).OnNode("n1"));
  Add(MakePod("preemptor").Cpu("2").Priority(100));
  ASSERT_EQ(run_.scheduler->queue().nominator().all().size(), 1u);
  Add(MakePod("small").Cpu("0").Priority(5));
  EXPECT_THAT(Explain("default/preemptor"), HasSubstr(R"("preemption":{"victimCount":1,"node":"n1")"));
}

TEST_F(EvaluationTest, TheMembersOfTheGroupAreKnown) {
  const std::string gates[] = {"GenericWorkload=true"};
  std::vector<std::string> notes;
  Build(config::DefaultSchedulerConfig(config::FeatureGates::Parse(gates, notes).value()));
  Add(MakeNode("n1").Cpu("1"));
  Change<api::PodGroup>(nullptr, MakeGroup("ring", 2));
  Add(MakePod("a").Cpu("4").Group("ring"));
  EXPECT_THAT(Explain("default/a"), HasSubstr("waiting for minCount pods"));
  Add(MakePod("b").Cpu("4").Group("ring"));
  const std::string text = Explain("default/a");
  EXPECT_THAT(text, HasSubstr(R"("result":"unschedulable")"));
  EXPECT_THAT(text, HasSubstr(R"("leftOut":["the other members of the pod group)"));
  Add(MakePod("alone").Cpu("4"));
  EXPECT_THAT(Explain("default/alone"), Not(HasSubstr("leftOut")));
}

TEST_F(EvaluationTest, ALargeGroupKeepsTheMembersThatItNeeds) {
  const std::string gates[] = {"GenericWorkload=true"};
  std::vector<std::string> notes;
  Build(config::DefaultSchedulerConfig(config::FeatureGates::Parse(gates, notes).value()));
  Add(MakeNode("n1").Cpu("1"));
  constexpr int kMembers = 1010;
  for (const int least : {kMembers, 2}) {
    const std::string group = fmt::format("ring-{}", least);
    Change<api::PodGroup>(nullptr, MakeGroup(group, least));
    for (int i = 0; i < kMembers; ++i) {
      const auto pod = MakePod(fmt::format("{}-{:04}", group, i)).Cpu("4").Group(group).Share();
      run_.loop.sink().On(ports::Change<api::Pod>{nullptr, pod});
    }
    run_.Settle();
    const std::string text = Explain(fmt::format("default/{}-{:04}", group, kMembers - 1));
    EXPECT_THAT(text, HasSubstr(R"("result":"unschedulable")")) << least;
    EXPECT_THAT(text, Not(HasSubstr("more pods"))) << least;
    const auto cut = HasSubstr(R"("10 of 1010 members of the pod group")");
    if (least == kMembers) {
      EXPECT_THAT(text, Not(cut));
    } else {
      EXPECT_THAT(text, cut);
    }
  }
}

// A copy that was brought up to date many times gives the same explanations as a new one.
class RandomChanges : public EvaluationTest {
 protected:
  std::size_t Below(std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random_);
  }

  NodeBuilder RandomNode(const std::string& name) {
    NodeBuilder node = MakeNode(name);
    node.Cpu(std::to_string(1 + Below(4)))
        .Memory("8Gi")
        .Zone(std::string(1, static_cast<char>('a' + Below(3))));
    if (Below(3) == 0) node.Taint("gpu", "true", "NoSchedule");
    if (Below(4) == 0) node.Cordoned();
    if (Below(2) == 0) node.Label("disk", Below(2) == 0 ? "ssd" : "hdd");
    return node;
  }
  PodBuilder RandomPod() {
    PodBuilder pod = MakePod(fmt::format("p{}", next_pod_++));
    pod.Cpu(std::to_string(1 + Below(3))).Label("app", Below(2) == 0 ? "db" : "web");
    if (Below(4) == 0) pod.Selecting("disk", "ssd");
    if (Below(4) == 0) pod.HostPort(80);
    if (Below(4) == 0) pod.Priority(10);
    if (Below(4) == 0) {
      api::PodAffinityTerm term;
      term.label_selector.emplace().match_labels.Set("app", "db");
      term.topology_key = "topology.kubernetes.io/zone";
      pod.raw().spec.pod_anti_affinity.emplace().required.push_back(term);
    }
    if (Below(4) == 0) {
      api::Volume volume;
      volume.name = "data";
      volume.source = api::Volume::Source::kPersistentVolumeClaim;
      volume.id = fmt::format("claim{}", Below(3));
      pod.raw().spec.volumes.push_back(volume);
    }
    return pod;
  }
  void ChangeNode() {
    const std::string name = fmt::format("n{}", Below(6));
    const auto known = nodes_.find(name);
    if (known == nodes_.end()) {
      nodes_[name] = Add(RandomNode(name));
    } else if (Below(2) == 0) {
      Remove(known->second);
      nodes_.erase(known);
    } else {
      api::NodePtr after = RandomNode(name).Share();
      Change<api::Node>(std::exchange(known->second, after), after);
    }
  }
  void ChangePod() {
    if (!pods_.empty() && Below(3) == 0) {
      const std::size_t gone = Below(pods_.size());
      Remove(pods_[gone]);
      pods_.erase(pods_.begin() + static_cast<std::ptrdiff_t>(gone));
      return;
    }
    PodBuilder pod = RandomPod();
    if (Below(3) > 0) pod.OnNode(fmt::format("n{}", Below(6)));
    pods_.push_back(Add(pod));
  }
  void StartPod() {
    if (pods_.empty()) return;
    api::PodPtr& known = pods_[Below(pods_.size())];
    if (known->spec.node_name.empty()) return;
    api::Pod started = *known;
    started.status.start_time = static_cast<std::int64_t>(1 + Below(1'000));
    const auto after = std::make_shared<const api::Pod>(std::move(started));
    Change<api::Pod>(std::exchange(known, after), after);
  }
  void ChangeClaim() {
    auto claim = std::make_shared<api::PersistentVolumeClaim>();
    claim->metadata.name = fmt::format("claim{}", Below(3));
    claim->metadata.ns = "default";
    claim->metadata.resource_version = std::to_string(++version_);
    if (Below(2) == 0) claim->volume_name = "missing";
    std::shared_ptr<const api::PersistentVolumeClaim>& known = claims_[claim->metadata.name];
    std::shared_ptr<const api::PersistentVolumeClaim> after = Below(3) == 0 ? nullptr : claim;
    if (known == nullptr && after == nullptr) return;
    Change<api::PersistentVolumeClaim>(std::exchange(known, after), after);
  }

  std::mt19937 random_{17};
  std::map<std::string, api::NodePtr> nodes_;
  std::vector<api::PodPtr> pods_;
  std::map<std::string, std::shared_ptr<const api::PersistentVolumeClaim>> claims_;
  int next_pod_ = 0;
  int version_ = 0;
};

TEST_F(RandomChanges, AKeptCopyEqualsANewOne) {
  int compared = 0;
  for (int round = 0; round < 60; ++round) {
    for (std::size_t i = 0; i < 1 + Below(6); ++i) {
      switch (Below(4)) {
        case 0:
          ChangeNode();
          break;
        case 1:
          ChangePod();
          break;
        case 2:
          StartPod();
          break;
        default:
          ChangeClaim();
      }
    }
    if (pods_.empty()) continue;
    const std::string pod = pods_[Below(pods_.size())]->metadata.Key();
    const std::string kept = Explain(pod);
    ASSERT_EQ(kept, ExplainWith(*MakeExplainer(), pod)) << "round " << round;
    compared += kept != "null" ? 1 : 0;
  }
  EXPECT_GT(compared, 40);
}

TEST_F(EvaluationTest, ACopyIsDroppedWhenItIsNotUsed) {
  Add(MakeNode("n1").Cpu("2"));
  api::PodPtr pod = Add(MakePod("bound").Cpu("1").OnNode("n1"));
  const std::weak_ptr<const api::Pod> kept = pod;
  Explain("default/bound");
  Remove(pod);
  pod = nullptr;
  run_.Wait(PodExplainer::kIdle - std::chrono::seconds(1));
  EXPECT_FALSE(kept.expired()) << "the copy still has the pod";
  run_.Wait(std::chrono::seconds(1));
  // The copy is dropped on the thread of evaluations, before the next evaluation.
  EXPECT_EQ(Explain("default/bound"), "null");
  EXPECT_TRUE(kept.expired());
}

TEST_F(EvaluationTest, AUsedCopyIsKept) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("big").Cpu("4"));
  for (int i = 0; i < 4; ++i) {
    Explain("default/big");
    run_.Wait(PodExplainer::kIdle - std::chrono::seconds(1));
  }
  api::PodPtr pod = Add(MakePod("bound").Cpu("1").OnNode("n1"));
  const std::weak_ptr<const api::Pod> kept = pod;
  Explain("default/bound");
  Remove(pod);
  pod = nullptr;
  EXPECT_FALSE(kept.expired());
}

TEST_F(EvaluationTest, OnlySomeEvaluationsMayWait) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("big").Cpu("4"));
  std::atomic<int> answered = 0;
  const auto ask = [&] {
    return explainer_->Explain("default/big", [&](const Expected<const Evaluated*>&) { ++answered; });
  };
  // Without an iteration of the loop nothing is evaluated.
  for (std::size_t i = 0; i < PodExplainer::kMostWaiting; ++i) EXPECT_TRUE(ask()) << i;
  EXPECT_FALSE(ask());
  while (answered < static_cast<int>(PodExplainer::kMostWaiting)) run_.Settle();
  EXPECT_TRUE(ask());
  while (answered < static_cast<int>(PodExplainer::kMostWaiting) + 1) run_.Settle();
}

TEST_F(EvaluationTest, AtTheEndWaitingAndLaterRequestsAreAnsweredAtOnce) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("big").Cpu("4"));
  std::vector<std::string> answers;
  const auto ask = [&] {
    return explainer_->Explain("default/big", [&](const Expected<const Evaluated*>& evaluated) {
      answers.push_back(Text(evaluated, explanation::JsonView::kSummary));
    });
  };
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
  explainer_->End();
  EXPECT_THAT(answers, ElementsAre("error: the scheduler is ending", "error: the scheduler is ending"));
  EXPECT_TRUE(ask());
  EXPECT_THAT(answers, SizeIs(3));
  run_.Settle();  // the step that was requested for the first one
  EXPECT_THAT(answers, SizeIs(3));
}

TEST_F(EvaluationTest, TheLongestStepOfARequestIsAMetric) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakePod("big").Cpu("4"));
  Explain("default/big");
  EXPECT_THAT(run_.metrics.Expose(),
              HasSubstr(R"(berth_api_loop_step_duration_seconds_count{request="explanation"} 1)"));
}

// --- the loop's side ---

class ChangeReaderTest : public EvaluationTest {
 protected:
  // The steps of one update.
  std::vector<ChangeReader::Work> Read(ChangeReader& reader, CopyUpdate& update,
                                       const std::string& pod = "default/none") {
    std::vector<ChangeReader::Work> steps;
    for (bool last = false; !last;) {
      last = reader.Read(pod, {}, update);
      steps.push_back(reader.last_step());
    }
    return steps;
  }
  static std::size_t PodsOf(const CopyUpdate& update) {
    std::size_t pods = 0;
    for (const RowState& row : update.rows) pods += row.pods.size();
    return pods;
  }
};

TEST_F(ChangeReaderTest, NoStepReadsMoreThanItsLimit) {
  constexpr int kNodes = 1'000, kPodsPerNode = 10, kServices = 5'000;
  for (int node = 0; node < kNodes; ++node)
    run_.loop.sink().On(
        ports::Change<api::Node>{nullptr, MakeNode(fmt::format("n{}", node)).Cpu("64").Share()});
  for (int pod = 0; pod < kNodes * kPodsPerNode; ++pod) {
    run_.loop.sink().On(ports::Change<api::Pod>{
        nullptr, MakePod(fmt::format("p{}", pod)).OnNode(fmt::format("n{}", pod % kNodes)).Share()});
  }
  for (int i = 0; i < kServices; ++i) {
    auto service = std::make_shared<api::Service>();
    service->metadata.ns = "default";
    service->metadata.name = fmt::format("s{}", i);
    run_.loop.sink().On(ports::Change<api::Service>{nullptr, std::move(service)});
  }
  run_.Settle();
  ChangeReader reader(*run_.engine, *run_.scheduler);
  CopyUpdate update;
  const std::vector<ChangeReader::Work> steps = Read(reader, update);
  EXPECT_GE(steps.size(), 5u);
  for (const ChangeReader::Work& step : steps) {
    EXPECT_LE(step.rows + step.pods, ChangeReader::kPodsPerStep + kPodsPerNode);
    EXPECT_LE(step.objects, ChangeReader::kObjectsPerStep);
  }
  EXPECT_TRUE(update.complete);
  EXPECT_EQ(PodsOf(update), static_cast<std::size_t>(kNodes * kPodsPerNode));
  EXPECT_EQ(update.objects.size(), static_cast<std::size_t>(kServices));

  Add(MakePod("one-more").OnNode("n7"));
  CopyUpdate next;
  EXPECT_EQ(Read(reader, next).size(), 1u);
  EXPECT_FALSE(next.complete);
  ASSERT_EQ(next.rows.size(), 1u);
  EXPECT_EQ(next.rows.front().node->metadata.name, "n7");
  EXPECT_EQ(next.rows.front().pods.size(), static_cast<std::size_t>(kPodsPerNode) + 1);
}

TEST_F(ChangeReaderTest, TheMembersOfALargeGroupAreReadInSteps) {
  const std::string gates[] = {"GenericWorkload=true"};
  std::vector<std::string> notes;
  Build(config::DefaultSchedulerConfig(config::FeatureGates::Parse(gates, notes).value()));
  constexpr int kMembers = 3'500;
  Change<api::PodGroup>(nullptr, MakeGroup("ring", kMembers));
  std::vector<api::PodPtr> pods;
  for (int i = 0; i < kMembers; ++i) pods.push_back(MakePod(fmt::format("p{}", i)).Group("ring").Share());
  for (const api::PodPtr& pod : pods) run_.loop.sink().On(ports::Change<api::Pod>{nullptr, pod});
  run_.Settle();
  ChangeReader reader(*run_.engine, *run_.scheduler);
  CopyUpdate update;
  const std::vector<ChangeReader::Work> steps = Read(reader, update, "default/p77");
  EXPECT_EQ(steps.size(), 4u);
  for (const ChangeReader::Work& step : steps) EXPECT_LE(step.members, ChangeReader::kMembersPerStep);
  ASSERT_EQ(update.groups.size(), 1u);
  EXPECT_NE(update.groups.front().object, nullptr);
  std::set<std::string> read;
  for (const auto& member : update.groups.front().members) read.insert(member.pod->metadata.name);
  EXPECT_THAT(read, SizeIs(kMembers));
  EXPECT_THAT(update.groups.front().members, SizeIs(kMembers)) << "each of them once";
  EXPECT_EQ(update.groups.front().members.front().pod->metadata.name, "p77");

  CopyUpdate next;
  ASSERT_FALSE(reader.Read("default/p77", {}, next));
  Remove(pods[77]);
  EXPECT_TRUE(reader.Read("default/p77", {}, next));
  EXPECT_THAT(next.groups, IsEmpty()) << "the pod was deleted meanwhile";
}

TEST_F(ChangeReaderTest, AStartTimeIsInTheNextUpdate) {
  Add(MakeNode("n1").Cpu("2"));
  Add(MakeNode("n2").Cpu("2"));
  PodBuilder pod = MakePod("p").OnNode("n2");
  const api::PodPtr bound = Add(pod);
  ChangeReader reader(*run_.engine, *run_.scheduler);
  CopyUpdate first, second, third;
  Read(reader, first);
  pod.raw().status.start_time = 7;
  Change<api::Pod>(bound, pod.Share());
  Read(reader, second);
  ASSERT_EQ(second.rows.size(), 1u);
  ASSERT_EQ(second.rows.front().pods.size(), 1u);
  EXPECT_EQ(second.rows.front().pods.front()->status.start_time, 7);
  Read(reader, third);
  EXPECT_TRUE(third.rows.empty());
}

TEST_F(ChangeReaderTest, ChangesBetweenTheStepsAreInTheUpdate) {
  constexpr int kNodes = 3'000;
  std::vector<api::NodePtr> nodes;
  for (int node = 0; node < kNodes; ++node)
    nodes.push_back(MakeNode(fmt::format("n{}", node)).Cpu("64").Share());
  for (const api::NodePtr& node : nodes) run_.loop.sink().On(ports::Change<api::Node>{nullptr, node});
  run_.Settle();
  ChangeReader reader(*run_.engine, *run_.scheduler);
  CopyUpdate update;
  ASSERT_FALSE(reader.Read("default/none", {}, update));
  Add(MakePod("late").OnNode("n0"));  // a row that was read already
  Remove(nodes[1]);
  Read(reader, update);
  std::map<cluster::Row, const RowState*> last;
  for (const RowState& row : update.rows) last[row.row] = &row;
  EXPECT_EQ(last.at(0)->pods.size(), 1u);
  EXPECT_EQ(last.at(1)->node, nullptr);
}

TEST_F(ChangeReaderTest, AfterTooManyChangesTheNextUpdateIsComplete) {
  Add(MakeNode("n1").Cpu("2"));
  ChangeReader reader(*run_.engine, *run_.scheduler);
  CopyUpdate first, second, third;
  Read(reader, first);
  EXPECT_TRUE(first.complete);
  std::shared_ptr<const api::Service> before;
  for (std::size_t i = 0; i <= ChangeReader::kMostChanges; ++i) {
    auto service = std::make_shared<api::Service>();
    service->metadata.ns = "default";
    service->metadata.name = "s";
    service->metadata.resource_version = std::to_string(i);
    run_.loop.sink().On(ports::Change<api::Service>{before, service});
    before = service;
  }
  run_.Settle();
  Read(reader, second);
  EXPECT_TRUE(second.complete);
  EXPECT_EQ(second.objects.size(), 1u);
  Read(reader, third);
  EXPECT_FALSE(third.complete);
}

class ConfigPreviewTest : public EvaluationTest {
 protected:
  PreviewReport Compare(const config::SchedulerConfig& after) {
    ConfigPreview preview({run_.loop, *run_.scheduler, *run_.engine, plugins_, run_.clock, run_.metrics});
    std::optional<Expected<PreviewReport>> report;
    preview.Compare(config_, after, [&](Expected<PreviewReport> found) { report = std::move(found); });
    while (!report) run_.Settle();
    return report->value();
  }
  // The default configuration, with which full nodes are preferred.
  config::SchedulerConfig Packing() const {
    config::SchedulerConfig packing = config_;
    yaml::Value& args = packing.profiles.front().plugin_args["NodeResourcesFit"] = yaml::Value::Map();
    yaml::Value& strategy = args.Set("scoringStrategy", yaml::Value::Map());
    strategy.Set("type", yaml::Value::Text("MostAllocated"));
    yaml::Value& resources = strategy.Set("resources", yaml::Value::List());
    for (const char* resource : {"cpu", "memory"}) {
      yaml::Value& one = resources.items.emplace_back(yaml::Value::Map());
      one.Set("name", yaml::Value::Text(resource));
      one.Set("weight", yaml::Value::Number(1));
    }
    return packing;
  }
};

TEST_F(ConfigPreviewTest, AnEqualConfigurationChangesNothing) {
  for (const char* node : {"n1", "n2", "n3"}) Add(MakeNode(node).Cpu("4").Memory("8Gi"));
  for (const char* pod : {"a", "b", "c"}) Add(MakePod(pod).Cpu("1"));
  Add(MakePod("big").Cpu("8"));
  const PreviewReport report = Compare(config_);
  EXPECT_EQ(report.compared, 4u);
  EXPECT_EQ(report.changed, 0u);
  EXPECT_THAT(report.left_out, ::testing::IsEmpty());
}

TEST_F(ConfigPreviewTest, DecisionsThatWouldDifferAreNamed) {
  Add(MakeNode("full").Cpu("10").Memory("10Gi"));
  Add(MakePod("load").Cpu("8").Memory("8Gi").OnNode("full"));
  Add(MakeNode("empty").Cpu("10").Memory("10Gi"));
  Add(MakePod("web").Cpu("1").Memory("1Gi"));
  Add(MakePod("big").Cpu("20"));
  const PreviewReport report = Compare(Packing());
  EXPECT_EQ(report.compared, 2u);
  ASSERT_EQ(report.changed, 1u);
  EXPECT_EQ(report.examples[0].pod, "default/web");
  EXPECT_EQ(report.examples[0].before, "empty");
  EXPECT_EQ(report.examples[0].after, "full");
}

TEST_F(ConfigPreviewTest, APodWithoutAProfileChanges) {
  Add(MakeNode("n1").Cpu("4"));
  Add(MakePod("web").Cpu("1"));
  config::SchedulerConfig renamed = config_;
  renamed.profiles.front().scheduler_name = "other";
  const PreviewReport report = Compare(renamed);
  ASSERT_EQ(report.changed, 1u);
  EXPECT_EQ(report.examples[0].before, "n1");
  EXPECT_EQ(report.examples[0].after, "");
}

TEST_F(ConfigPreviewTest, PodsThatAreGoneAreNotCompared) {
  Add(MakeNode("n1").Cpu("4"));
  const api::PodPtr gone = Add(MakePod("gone").Cpu("8"));
  EXPECT_EQ(Compare(config_).compared, 1u);
  Remove(gone);
  EXPECT_EQ(Compare(config_).compared, 0u);
}

TEST_F(ConfigPreviewTest, CancelDropsTheComparisonInProgress) {
  Add(MakeNode("n1").Cpu("4"));
  Add(MakePod("web").Cpu("1"));
  ConfigPreview preview({run_.loop, *run_.scheduler, *run_.engine, plugins_, run_.clock, run_.metrics});
  const auto token = std::make_shared<bool>(false);
  preview.Compare(config_, config_, [token](const Expected<PreviewReport>&) { *token = true; });
  run_.loop.RunOnce(*run_.scheduler);  // a step of the comparison
  preview.Cancel();
  run_.loop.DropPending();
  EXPECT_EQ(token.use_count(), 1);
  EXPECT_FALSE(*token);
}

TEST(ConfigOfCopy, LeavesOutWhatMayOnlyRunOnTheLoop) {
  runtime::Registry plugins = assembly::InTreePlugins();
  plugins.AddForeign("Custom", *plugins.Find("NodeName"));
  plugins.AddForeign("CustomSort", *plugins.Find("PrioritySort"));
  config::SchedulerConfig config = config::DefaultSchedulerConfig();
  config.profiles.front().at(config::Point::kFilter).enabled.push_back({"Custom"});
  config.profiles.front().at(config::Point::kQueueSort).enabled = {{"CustomSort"}};
  for (config::PluginRef& plugin : config.profiles.front().at(config::Point::kMultiPoint).enabled) {
    if (plugin.name == "PrioritySort") plugin.name = "CustomSort";
  }
  config.extenders.emplace_back().url_prefix = "http://user:secret@extender/";
  const CopyConfig copy = ConfigOfCopy(config, plugins);
  EXPECT_THAT(copy.left_out, ElementsAre(HasSubstr("plugin CustomSort"), HasSubstr("plugin Custom"),
                                         HasSubstr("extender http://")));
  EXPECT_THAT(copy.left_out.back(), Not(HasSubstr("secret")));
  const SystemClock clock;
  EXPECT_TRUE(ClusterCopy::Create({copy.config, plugins, clock}).has_value());
}

}  // namespace
}  // namespace berth::evaluation
