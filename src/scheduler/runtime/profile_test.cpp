#include "scheduler/runtime/profile.hpp"
#include "scheduler/runtime/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "testing/cluster.hpp"

namespace berth::runtime {
namespace {

using berth::testing::Cluster;
using berth::testing::MakeNode;
using berth::testing::MakePod;
using framework::Attempt;
using framework::Code;
using framework::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The behaviour of a test's fake plugins, and their recorded calls, by name.
struct Script {
  std::map<std::string, std::function<Status(const api::Pod&)>> pre_enqueue;
  std::map<std::string, std::function<framework::PreFilterResult(const Attempt&)>> pre_filter;
  std::map<std::string, std::function<void(const Attempt&, const RowSet&, framework::Rejections&)>> filter;
  std::map<std::string, Status> pre_score;
  std::map<std::string, std::function<Status(const RowSet&, framework::ScoreColumn&)>> score;
  std::map<std::string, Status> bind;
  std::set<std::string> reusable;  // plugins with the dependency kNodes
  std::vector<std::string> calls;
};

class Named : public virtual framework::Plugin {
 public:
  Named(std::string name, Script& script) : script_(script), name_(std::move(name)) {}
  std::string_view Name() const override { return name_; }

 protected:
  template <class Map>
  auto* Find(const char* point, Map& map) const {
    script_.calls.push_back(std::string(point) + " " + name_);
    const auto found = map.find(name_);
    return found == map.end() ? nullptr : &found->second;
  }
  Script& script_;
  std::string name_;
};

class Sort final : public Named, public framework::QueueSortPlugin {
 public:
  using Named::Named;
  bool Less(const framework::QueuedEntity&, const framework::QueuedEntity&) const override { return false; }
};
class Gate final : public Named, public framework::PreEnqueuePlugin {
 public:
  using Named::Named;
  Status PreEnqueue(const cluster::PodInfo& pod) const override {
    const auto* answer = Find("preEnqueue", script_.pre_enqueue);
    return answer ? (*answer)(*pod.pod) : Status{};
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override {
    return {{framework::EventResource::kTargetPod, framework::kUpdatePodLabel}};
  }
};
// A gate whose hint reads the object.
class Reader final : public Named, public framework::PreEnqueuePlugin {
 public:
  using Named::Named;
  Status PreEnqueue(const cluster::PodInfo&) const override { return {}; }
  std::vector<framework::EventRegistration> EventsToRegister() const override {
    return {framework::When<api::ResourceSlice>(
        framework::EventResource::kResourceSlice, framework::kUpdate,
        [](const cluster::PodInfo&, const api::ResourceSlice*, const api::ResourceSlice* after) {
          return framework::QueueIf(after->driver == "mine");
        })};
  }
};
// A plugin that filters and scores.
class Rule final : public Named,
                   public framework::PreFilterPlugin,
                   public framework::FilterPlugin,
                   public framework::PreScorePlugin,
                   public framework::ScorePlugin {
 public:
  using Named::Named;
  framework::PreFilterResult PreFilter(const Attempt& attempt) const override {
    const auto* answer = Find("preFilter", script_.pre_filter);
    return answer ? (*answer)(attempt) : framework::PreFilterResult{};
  }
  framework::ResultDependency PreFilterDependency(const cluster::PodInfo&) const override {
    return BasisOf();
  }
  framework::ResultDependency PreScoreDependency(const cluster::PodInfo&) const override { return BasisOf(); }
  void Filter(const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) const override {
    if (const auto* answer = Find("filter", script_.filter)) (*answer)(attempt, candidates, out);
  }
  Status PreScore(const Attempt&, const RowSet&) const override {
    const auto* answer = Find("preScore", script_.pre_score);
    return answer ? *answer : Status{};
  }
  Status Score(const Attempt&, const RowSet& feasible, framework::ScoreColumn& scores) const override {
    const auto* answer = Find("score", script_.score);
    return answer ? (*answer)(feasible, scores) : Status{};
  }
  std::vector<framework::EventRegistration> EventsToRegister() const override {
    return {{framework::EventResource::kNode, framework::kAdd}};
  }

 private:
  framework::ResultDependency BasisOf() const {
    return script_.reusable.contains(name_) ? framework::ResultDependency::kNodes
                                            : framework::ResultDependency::kEverything;
  }
};
// A filter that counts pods of other nodes.
class ExtendedRule final : public Named,
                           public framework::PreFilterExtensionsPlugin,
                           public framework::FilterPlugin {
 public:
  using Named::Named;
  framework::PreFilterResult PreFilter(const Attempt&) const override { return {}; }
  Status AddPod(const Attempt&, const cluster::PlacedPod&, cluster::Row) const override { return {}; }
  Status RemovePod(const Attempt&, const cluster::PlacedPod&, cluster::Row) const override { return {}; }
  void Filter(const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) const override {
    if (const auto* answer = Find("filter", script_.filter)) (*answer)(attempt, candidates, out);
  }
};
class Binder final : public Named, public framework::BindPlugin {
 public:
  using Named::Named;
  void Bind(const framework::Placement&, framework::StatusCallback answer) override {
    const auto* scripted = Find("bind", script_.bind);
    answer(scripted ? *scripted : Status{});
  }
};

class ProfileTest : public ::testing::Test {
 protected:
  ProfileTest() {
    for (const auto* name : {"n0", "n1", "n2", "n3"}) cluster.Add(MakeNode(name).Cpu("1"));
    AddFake<Sort>("Sort");
    AddFake<Gate>("Gate");
    AddFake<Gate>("Gate2");
    AddFake<Reader>("Reader");
    for (const auto* name : {"A", "B", "C", "D"}) AddFake<Rule>(name);
    AddFake<ExtendedRule>("Extended");
    AddFake<Binder>("Bind");
    AddFake<Binder>("Bind2");
    registry.Add("Broken",
                 [](const framework::RawArgs& args, framework::Handle&) -> framework::PluginOrError {
                   return Invalid(args.path + ": broken");
                 });
    config.scheduler_name = "mine";
    Multi({"Sort", "A", "B", "Bind"});
  }
  template <class T>
  void AddFake(const std::string& name) {
    registry.Add(name,
                 [this, name](const framework::RawArgs&, framework::Handle&) -> framework::PluginOrError {
                   return std::make_unique<T>(name, script);
                 });
  }
  void Multi(std::vector<config::PluginRef> plugins) {
    config.at(config::Point::kMultiPoint).enabled = std::move(plugins);
  }
  void Multi(std::initializer_list<const char*> names) {
    config.at(config::Point::kMultiPoint).enabled.clear();
    for (const auto* name : names) config.at(config::Point::kMultiPoint).enabled.push_back({name, 0});
  }
  config::PluginSet& At(config::Point point) { return config.at(point); }
  Expected<std::unique_ptr<Profile>> TryBuild(std::unique_ptr<MetricsRecorder> metrics_recorder = nullptr) {
    return Profile::Build(config, registry, cluster.handle(), std::move(metrics_recorder));
  }
  Profile& Build(std::unique_ptr<MetricsRecorder> metrics_recorder = nullptr) {
    profile = std::move(TryBuild(std::move(metrics_recorder))).value();
    return *profile;
  }
  std::string ErrorOf() {
    const auto built = TryBuild();
    return built ? "no error" : built.error().message;
  }
  std::vector<std::string> Filters() {
    std::vector<std::string> names;
    for (const auto* plugin : Build().filters()) names.emplace_back(plugin->Name());
    return names;
  }
  std::vector<std::string> Scores() {
    std::vector<std::string> out;
    for (const auto& [plugin, weight] : Build().scores())
      out.push_back(std::string(plugin->Name()) + "*" + std::to_string(weight));
    return out;
  }
  // A filter that rejects these rows for a reason.
  auto Rejecting(std::vector<std::size_t> rows, const std::string& reason, bool never = false) {
    return [=, this](const Attempt& attempt, const RowSet&, framework::Rejections& out) {
      RowSet& set = out.Reject(cluster.reasons().Intern(reason), attempt.nodes().rows());
      for (const std::size_t row : rows) {
        set.Add(row);
        if (never) out.unresolvable().Add(row);
      }
    };
  }
  static auto Names(std::vector<cluster::NodeNameId> names) {
    return [=](const Attempt&) { return framework::PreFilterResult{{}, names}; };
  }
  cluster::NodeNameId Node(const std::string& name) { return cluster.symbols().node_names.Intern(name); }
  static auto Answers(Status status) {
    return [=](const Attempt&) { return framework::PreFilterResult{status, std::nullopt}; };
  }

  PreFilterOutcome PreFilter() { return Build().RunPreFilter(Attempt(pod, cluster.nodes(), state, scratch)); }
  framework::FilterOutcome Filter(const std::vector<Nomination>& nominations = {}) {
    Build();
    const Attempt attempt(pod, cluster.nodes(), state, scratch);
    framework::FilterOutcome out;
    profile->RunFilters(attempt, cluster.nodes(), profile->RunPreFilter(attempt), nominations,
                        cluster.nodes().all(), out);
    return out;
  }
  // "plugin: reason: rows" in order, then "feasible: rows".
  std::vector<std::string> Text(const framework::FilterOutcome& outcome) {
    std::vector<std::string> out;
    const auto rows = [](const RowSet& set) {
      std::string text;
      set.ForEach([&](std::size_t row) { text += " " + std::to_string(row); });
      return text;
    };
    for (const auto& rejection : outcome.all()) {
      out.push_back(std::string(profile->filters()[rejection.plugin]->Name()) + ": " +
                    cluster.reasons().Text(rejection.reason) + ":" + rows(rejection.rows));
    }
    out.push_back("feasible:" + rows(outcome.feasible));
    if (!outcome.unresolvable.Empty()) out.push_back("never:" + rows(outcome.unresolvable));
    for (const auto& [row, status] : outcome.errors)
      out.push_back("error " + std::to_string(row) + ": " + status.Message());
    return out;
  }
  Status RunScores(std::vector<framework::ScoreColumn>& columns, SkippedPlugins& skipped) {
    const std::vector<cluster::Row> order{2, 0, 1, 3};
    return Build().RunScores(Attempt(pod, cluster.nodes(), state, scratch), cluster.nodes().all(), order,
                             columns, skipped);
  }

  Script script;
  Cluster cluster;
  Registry registry;
  config::Profile config;
  std::unique_ptr<Profile> profile;
  cluster::PodInfo pod = cluster.Prepare(MakePod());
  framework::CycleState state;
  framework::ScratchPool scratch;
};

// --- enabled plugins and their order ---

TEST_F(ProfileTest, MultiPointEnablesAllExtensionPointsOfAPlugin) {
  EXPECT_THAT(Filters(), ElementsAre("A", "B"));
  EXPECT_THAT(Scores(), ElementsAre("A*1", "B*1"));
}

TEST_F(ProfileTest, ExplicitPluginsOfMultiPointComeFirstThenTheRestThenTheOthers) {
  Multi({"Sort", "A", "B", "C", "Bind"});
  At(config::Point::kFilter).enabled = {{"D", 0}, {"C", 0}, {"B", 0}};
  EXPECT_THAT(Filters(), ElementsAre("C", "B", "A", "D"));
  EXPECT_THAT(Scores(), ElementsAre("A*1", "B*1", "C*1")) << "other points are not touched";
}

TEST_F(ProfileTest, APluginCanBeDisabledAtOneExtensionPoint) {
  At(config::Point::kFilter).disabled = {"A"};
  EXPECT_THAT(Filters(), ElementsAre("B"));
  EXPECT_THAT(Scores(), ElementsAre("A*1", "B*1"));
}

TEST_F(ProfileTest, DisablingAllKeepsExplicitPluginsInTheirOrder) {
  At(config::Point::kFilter) = {{{"B", 0}, {"A", 0}}, {"*"}};
  EXPECT_THAT(Filters(), ElementsAre("B", "A"));
}

TEST_F(ProfileTest, AnExplicitWeightTakesPrecedenceAndZeroMeansOne) {
  Multi({{"Sort", 0}, {"A", 5}, {"B", 7}, {"C", 0}, {"Bind", 0}});
  At(config::Point::kScore).enabled = {{"B", 2}, {"D", 0}};
  EXPECT_THAT(Scores(), ElementsAre("B*2", "A*5", "C*1", "D*1"));
}

// --- start-up errors ---

constexpr const char* kWhere = "initializing profiles: creating profile for scheduler name mine: ";

TEST_F(ProfileTest, TheErrorForAnUnknownPluginSuggestsTheNearestName) {
  At(config::Point::kFilter).enabled = {{"Gatee", 0}};
  EXPECT_EQ(ErrorOf(), kWhere + std::string("FilterPlugin \"Gatee\" does not exist; did you mean \"Gate\"?"));
  At(config::Point::kFilter).enabled = {};
  Multi({"Sort", "Something", "Bind"});
  EXPECT_EQ(ErrorOf(), kWhere + std::string("PreFilterPlugin \"Something\" does not exist"));
}

TEST_F(ProfileTest, APluginMustImplementTheExtensionPoint) {
  At(config::Point::kScore).enabled = {{"Gate", 0}};
  EXPECT_EQ(ErrorOf(), kWhere + std::string("plugin \"Gate\" does not extend ScorePlugin plugin"));
}

TEST_F(ProfileTest, APluginMustNotBeListedTwice) {
  At(config::Point::kFilter).enabled = {{"A", 0}, {"A", 0}};
  EXPECT_EQ(ErrorOf(), kWhere + std::string("plugin \"A\" already registered as \"FilterPlugin\""));
}

TEST_F(ProfileTest, QueueSortAndBindPluginsAreRequired) {
  Multi({"A", "Bind"});
  EXPECT_EQ(
      ErrorOf(),
      kWhere +
          std::string(
              "only one queue sort plugin required for profile with scheduler name \"mine\", but got 0"));
  Multi({"Sort", "A"});
  EXPECT_EQ(
      ErrorOf(),
      kWhere + std::string("at least one bind plugin is needed for profile with scheduler name \"mine\""));
}

TEST_F(ProfileTest, AnErrorOfAPluginFactoryIsReported) {
  Multi({"Sort", "Broken", "Bind"});
  config.args_paths["Broken"] = "profiles[0].pluginConfig[2].args";
  EXPECT_EQ(ErrorOf(),
            kWhere + std::string("initializing plugin \"Broken\": profiles[0].pluginConfig[2].args: broken"));
}

// --- PreEnqueue and PreFilter ---

TEST_F(ProfileTest, TheFirstRejectionOfPreEnqueueIsReturned) {
  Multi({"Sort", "Gate2", "Gate", "Bind"});
  EXPECT_TRUE(Build().RunPreEnqueue(pod).ok());
  script.pre_enqueue["Gate"] =
      script.pre_enqueue["Gate2"] = [](const api::Pod&) { return Status::Unresolvable("wait"); };
  const Status status = profile->RunPreEnqueue(pod);
  EXPECT_EQ(status.plugin, "Gate2");
  EXPECT_EQ(status.Message(), "wait");
}

TEST_F(ProfileTest, FilterIsNotCalledAfterASkipOfPreFilter) {
  script.pre_filter["A"] = Answers(Status::Skip());
  Filter();
  EXPECT_THAT(script.calls, ElementsAre("preFilter A", "preFilter B", "filter B"));
}

TEST_F(ProfileTest, UnresolvableEndsPreFilterAndUnschedulableDoesNot) {
  Multi({"Sort", "A", "B", "C", "Bind"});
  script.pre_filter["A"] = Answers(Status::Unschedulable("a"));
  script.pre_filter["B"] = Answers(Status::Unresolvable("b"));
  const auto outcome = PreFilter();
  EXPECT_EQ(outcome.status.plugin, "B");
  EXPECT_EQ(outcome.status.code, Code::kUnschedulableAndUnresolvable);
  EXPECT_THAT(script.calls, ElementsAre("preFilter A", "preFilter B"));
}

TEST_F(ProfileTest, TheLastOfSeveralUnschedulableStatusesCounts) {
  script.pre_filter["A"] = Answers(Status::Unschedulable("a"));
  script.pre_filter["B"] = Answers(Status::Unschedulable("b"));
  EXPECT_EQ(PreFilter().status.Message(), "b");
}

TEST_F(ProfileTest, AnErrorOfPreFilterNamesThePlugin) {
  script.pre_filter["A"] = Answers(Status::Error("broke"));
  const auto outcome = PreFilter();
  EXPECT_EQ(outcome.status.code, Code::kError);
  EXPECT_EQ(outcome.status.Message(), "running PreFilter plugin \"A\": broke");
}

TEST_F(ProfileTest, NodesOfSeveralPluginsAreIntersected) {
  Multi({"Sort", "B", "A", "C", "Bind"});
  script.pre_filter["A"] = Names({Node("n2"), Node("unknown"), Node("n1")});
  script.pre_filter["B"] = Names({Node("n1"), Node("n2"), Node("n3")});
  const auto outcome = PreFilter();
  EXPECT_TRUE(outcome.narrowed);
  EXPECT_THAT(outcome.nodes, ElementsAre(Node("n1"), Node("n2")));
  EXPECT_THAT(outcome.narrowing, ElementsAre("B", "A"));
}

TEST_F(ProfileTest, AnEmptyIntersectionRejectsThePod) {
  script.pre_filter["A"] = Names({Node("n2")});
  script.pre_filter["B"] = Names({Node("n1")});
  EXPECT_EQ(PreFilter().status.Message(), "node(s) didn't satisfy plugin(s) [A B] simultaneously");
  script.pre_filter["A"] = Names({});
  EXPECT_EQ(PreFilter().status.Message(), "node(s) didn't satisfy plugin A");
  EXPECT_EQ(PreFilter().status.code, Code::kUnschedulableAndUnresolvable);
}

// --- Filter ---

TEST_F(ProfileTest, TheFirstPluginThatRejectsANodeDeterminesItsStatus) {
  script.filter["A"] = Rejecting({0, 1}, "a");
  script.filter["B"] = Rejecting({1, 2}, "b", /*never=*/true);
  EXPECT_THAT(Text(Filter()), ElementsAre("A: a: 0 1", "B: b: 2", "feasible: 3", "never: 2"));
}

TEST_F(ProfileTest, FilterReceivesOnlyRemainingNodes) {
  std::size_t evaluated = 0;
  script.filter["A"] = Rejecting({0, 1}, "a");
  script.filter["B"] = [&](const Attempt&, const RowSet& candidates, framework::Rejections&) {
    evaluated = candidates.Count();
  };
  Filter();
  EXPECT_EQ(evaluated, 2U);
  script.filter["A"] = Rejecting({0, 1, 2, 3}, "a");
  script.calls.clear();
  Filter();
  EXPECT_THAT(script.calls, ElementsAre("preFilter A", "preFilter B", "filter A")) << "no rows remain";
}

TEST_F(ProfileTest, APluginMayReturnSeveralReasonsForANode) {
  script.filter["A"] = [&](const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) {
    Rejecting({0}, "first")(attempt, candidates, out);
    Rejecting({}, "nowhere")(attempt, candidates, out);
    Rejecting({0, 1}, "second")(attempt, candidates, out);
  };
  EXPECT_THAT(Text(Filter()), ElementsAre("A: first: 0", "A: second: 0 1", "feasible: 2 3"));
}

TEST_F(ProfileTest, UnresolvableAppliesOnlyToRejectedNodes) {
  script.filter["A"] = [&](const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) {
    Rejecting({0}, "a")(attempt, candidates, out);
    out.unresolvable() |= candidates;
  };
  script.filter["B"] = Rejecting({1}, "b");
  EXPECT_THAT(Text(Filter()), ElementsAre("A: a: 0", "B: b: 1", "feasible: 2 3", "never: 0"));
}

TEST_F(ProfileTest, AnErrorForARejectedNodeIsIgnored) {
  script.filter["A"] = Rejecting({0}, "a");
  script.filter["B"] = [](const Attempt&, const RowSet&, framework::Rejections& out) {
    out.Fail(0, "too late");
    out.Fail(1, "broke");
  };
  const auto outcome = Filter();
  ASSERT_EQ(outcome.errors.size(), 1U);
  EXPECT_EQ(outcome.errors[0].first, 1U);
  EXPECT_EQ(outcome.errors[0].second.Message(), "running \"B\" filter plugin: broke");
}

TEST_F(ProfileTest, ANodeWithAnErrorIsNotFeasibleAndNotEvaluatedFurther) {
  script.filter["A"] = [](const Attempt&, const RowSet&, framework::Rejections& out) {
    out.Fail(1, "broke");
  };
  script.filter["B"] = [](const Attempt&, const RowSet&, framework::Rejections& out) {
    out.Fail(1, "broke too");
  };
  EXPECT_THAT(Text(Filter()), ElementsAre("feasible: 0 2 3", "error 1: running \"A\" filter plugin: broke"));
}

TEST_F(ProfileTest, NodesWithNominatedPodsAreEvaluatedTwice) {
  const auto nominated = cluster.Prepare(MakePod("promised").Cpu("1"));
  std::vector<std::string> seen;
  script.filter["A"] = [&](const Attempt& attempt, const RowSet& candidates, framework::Rejections&) {
    std::string pass;
    candidates.ForEach([&](std::size_t row) {
      pass += std::to_string(row) + ":" + std::to_string(attempt.nodes().requested(cluster::kCpu)[row]) + " ";
    });
    seen.push_back(pass);
  };
  Filter({{2, &nominated}});
  EXPECT_THAT(seen, ElementsAre("2:1000 ", "0:0 1:0 2:0 3:0 "));
  EXPECT_EQ(cluster.nodes().requested(cluster::kCpu)[2], 0);
}

TEST_F(ProfileTest, ANodeFilledByANominatedPodIsRejectedOnce) {
  const auto nominated = cluster.Prepare(MakePod("promised").Cpu("1"));
  script.filter["A"] = [&](const Attempt& attempt, const RowSet& candidates, framework::Rejections& out) {
    RowSet& full = out.Reject(cluster.reasons().Intern("full"), attempt.nodes().rows());
    candidates.ForEach([&](std::size_t row) {
      if (attempt.nodes().requested(cluster::kCpu)[row] > 0 || row == 0) full.Add(row);
    });
  };
  EXPECT_THAT(Text(Filter({{2, &nominated}})), ElementsAre("A: full: 0 2", "feasible: 1 3"));
}

TEST_F(ProfileTest, RejectionsOfNodesWithNominatedPodsAreMergedByReasonInTheOrderOfEachNode) {
  Multi({"Sort", "Extended", "Bind"});
  const auto nominated = cluster.Prepare(MakePod("promised").Cpu("1"));
  script.filter["Extended"] = [&](const Attempt& attempt, const RowSet& candidates,
                                  framework::Rejections& out) {
    if (candidates.Has(1)) Rejecting({1}, "first")(attempt, candidates, out);
    Rejecting({0, 1, 2, 3}, "second")(attempt, candidates, out);
  };
  const std::vector<Nomination> nominations{
      {0, &nominated}, {1, &nominated}, {2, &nominated}, {3, &nominated}};
  EXPECT_THAT(Text(Filter(nominations)), ElementsAre("Extended: second: 0 2 3", "Extended: first: 1",
                                                     "Extended: second: 1", "feasible:"));
  EXPECT_EQ(std::ranges::count(script.calls, "filter Extended"), 4) << "once for each row";
}

// --- Score ---

TEST_F(ProfileTest, ScoreIsNotCalledAfterASkipOfPreScore) {
  script.pre_score["A"] = Status::Skip();
  std::vector<framework::ScoreColumn> columns;
  SkippedPlugins skipped;
  EXPECT_TRUE(RunScores(columns, skipped).ok());
  EXPECT_THAT(script.calls, ElementsAre("preScore A", "preScore B", "score B"));
  EXPECT_TRUE(skipped.Has(0));
  EXPECT_FALSE(skipped.Has(1));
}

TEST_F(ProfileTest, ReusableResultsAreNotComputedAgain) {
  Multi({"Sort", "A", "B", "C", "Bind"});
  script.reusable = {"A", "C"};
  script.pre_filter["A"] = script.pre_filter["B"] = Answers(Status::Skip());
  script.pre_score["C"] = Status::Skip();
  const Attempt attempt(pod, cluster.nodes(), state, scratch);
  const PreFilterOutcome first = Build().RunPreFilter(attempt);
  SkippedPlugins skipped;
  ASSERT_TRUE(profile->RunPreScores(attempt, cluster.nodes().all(), skipped).ok());

  const ReusableResult before_filters = profile->ReusablePreFilter(pod, first);
  const ReusableResult before_scores = profile->ReusablePreScores(pod, skipped);
  script.calls.clear();
  const PreFilterOutcome again = profile->RunPreFilter(attempt, &before_filters);
  SkippedPlugins skipped_again;
  ASSERT_TRUE(profile->RunPreScores(attempt, cluster.nodes().all(), skipped_again, &before_scores).ok());
  EXPECT_THAT(script.calls, ElementsAre("preFilter B", "preScore B"));
  EXPECT_EQ(again.skipped_filters, first.skipped_filters);
  EXPECT_EQ(skipped_again, skipped);
}

TEST_F(ProfileTest, ReusableResultsCountInMetricsAndAreComputedInTimedAttempts) {
  metrics::Registry metrics;
  const ManualClock clock;
  Build(std::make_unique<MetricsRecorder>(metrics, clock, "mine", InstrumentOptions{}));
  script.reusable = {"A"};
  const Attempt attempt(pod, cluster.nodes(), state, scratch);
  const ReusableResult reusable = profile->ReusablePreFilter(pod, profile->RunPreFilter(attempt));
  std::size_t timed = 0;
  for (int i = 0; i < 100; ++i) {
    profile->metrics_recorder()->BeginAttempt();
    script.calls.clear();
    profile->RunPreFilter(attempt, &reusable);
    if (profile->metrics_recorder()->sampled()) {
      ++timed;
      EXPECT_THAT(script.calls, ElementsAre("preFilter A", "preFilter B"));
    } else {
      EXPECT_THAT(script.calls, ElementsAre("preFilter B"));
    }
  }
  EXPECT_GT(timed, 0U);
  EXPECT_EQ(profile->metrics_recorder()->Evaluations(ExtensionPoint::kPreFilter, "A").Value(), 101);
}

TEST_F(ProfileTest, PluginsAfterAnErrorDoNotCountAsCalled) {
  metrics::Registry metrics;
  const ManualClock clock;
  Build(std::make_unique<MetricsRecorder>(metrics, clock, "mine", InstrumentOptions{}));
  script.pre_filter["A"] = Answers(Status::Error("broke"));
  script.pre_score["A"] = Status::Error("broke");
  const Attempt attempt(pod, cluster.nodes(), state, scratch);
  SkippedPlugins skipped;
  EXPECT_FALSE(profile->RunPreFilter(attempt).status.ok());
  EXPECT_FALSE(profile->RunPreScores(attempt, cluster.nodes().all(), skipped).ok());
  for (const ExtensionPoint point : {ExtensionPoint::kPreFilter, ExtensionPoint::kPreScore}) {
    EXPECT_EQ(profile->metrics_recorder()->Evaluations(point, "A").Value(), 1);
    EXPECT_EQ(profile->metrics_recorder()->Evaluations(point, "B").Value(), 0);
  }
}

TEST_F(ProfileTest, WithoutScorePluginsPreScoreIsNotCalled) {
  At(config::Point::kScore).disabled = {"*"};
  std::vector<framework::ScoreColumn> columns;
  SkippedPlugins skipped;
  EXPECT_TRUE(RunScores(columns, skipped).ok());
  EXPECT_THAT(script.calls, IsEmpty());
}

TEST_F(ProfileTest, ErrorsOfScoringNameThePlugin) {
  std::vector<framework::ScoreColumn> columns;
  SkippedPlugins skipped;
  script.score["B"] = [](const RowSet&, framework::ScoreColumn&) { return Status::Error("broke"); };
  EXPECT_EQ(RunScores(columns, skipped).Message(), "running Score plugins: plugin \"B\" failed with: broke");
  script.pre_score["A"] = Status::Error("broke before");
  EXPECT_EQ(RunScores(columns, skipped).Message(), "running PreScore plugin \"A\": broke before");
}

TEST_F(ProfileTest, AnInvalidScoreIsReportedForTheFirstNodeInVisitingOrder) {
  std::vector<framework::ScoreColumn> columns;
  SkippedPlugins skipped;
  script.score["A"] = [](const RowSet&, framework::ScoreColumn& scores) {
    scores.Mutable()[0] = 101;
    return Status{};
  };
  script.score["B"] = [](const RowSet&, framework::ScoreColumn& scores) {
    scores.Mutable()[2] = -1;
    return Status{};
  };
  EXPECT_EQ(RunScores(columns, skipped).Message(),
            "applying score defaultWeights on Score plugins: plugin \"B\" returns an invalid score -1, it "
            "should in the range of [0, 100] "
            "after normalizing");
  script.score["B"] = [](const RowSet&, framework::ScoreColumn& scores) {
    scores.SetAll(100);
    return Status{};
  };
  EXPECT_THAT(RunScores(columns, skipped).Message(), HasSubstr("plugin \"A\" returns an invalid score 101"));
}

// --- Bind ---

TEST_F(ProfileTest, AnErrorOfBindNamesThePluginAndSkipIsPassedOn) {
  Build();
  const std::string node = "n1";
  const framework::Placement placement{pod, node, state};
  std::vector<Status> answers;
  const auto bind = [&] {
    profile->StartBind(0, placement, [&](Status status) { answers.push_back(std::move(status)); });
  };
  bind();
  script.bind["Bind"] = Status::Error("no such pod");
  bind();
  script.bind["Bind"] = Status::Unschedulable("not today");
  bind();
  script.bind["Bind"] = Status::Skip();
  bind();
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(answers[1].Message(), "running Bind plugin \"Bind\": no such pod");
  EXPECT_EQ(answers[2].Message(), "not today");
  EXPECT_EQ(answers[2].plugin, "Bind");
  EXPECT_TRUE(answers[3].skip());
}

// --- events ---

TEST_F(ProfileTest, EventsAreEvaluatedByRegisteredPlugins) {
  Multi({"Sort", "Gate", "A", "Bind"});
  Build();
  const framework::ClusterEvent node_add{framework::EventResource::kNode, framework::kAdd};
  const framework::ClusterEvent label{framework::EventResource::kTargetPod, framework::kUpdatePodLabel};
  const std::vector<std::string> a{"A"};
  const std::vector<std::string> gate{"Gate"};
  const std::vector<std::string> both{"Gate", "A"};
  EXPECT_TRUE(profile->IsRegistered(node_add, a));
  EXPECT_FALSE(profile->IsRegistered(label, a));
  EXPECT_TRUE(profile->IsRegistered(label, gate));
  EXPECT_TRUE(profile->IsRegistered(node_add, both));
  EXPECT_FALSE(profile->IsRegistered(node_add, {}));
}

TEST_F(ProfileTest, HintsAreCalledWithObjectsOnly) {
  Multi({"Sort", "Reader", "Bind"});
  Build();
  const auto slice = std::make_shared<const api::ResourceSlice>();
  const cluster::PodInfo pod = cluster.Prepare(MakePod("p"));
  const std::vector<std::string> rejectors{"Reader"};
  const auto evaluate = [&](const framework::EventObjects& objects) {
    return profile->EvaluateHint({framework::EventResource::kResourceSlice, framework::kUpdate}, objects, pod,
                                 rejectors, {});
  };
  EXPECT_EQ(evaluate({slice, slice}), framework::Requeue::kSkip);
  EXPECT_EQ(evaluate({}), framework::Requeue::kAfterBackoff);
}

}  // namespace
}  // namespace berth::runtime
