// Recordings that keep their latest part: every snapshot is the beginning of the same decisions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kubernetes/api/external_groups.hpp"
#include "observability/log/log.hpp"
#include "testing/builders.hpp"
#include "testing/repetitions.hpp"
#include "testing/temporary_directory.hpp"
#include "tools/replay/fake_measurements.hpp"
#include "tools/replay/fake_plugin_objects.hpp"
#include "tools/replay/fake_recorded_scheduler.hpp"
#include "tools/replay/repetition.hpp"

namespace berth::replay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;

const std::string kSampled = std::string(kDefaultConfig) + "percentageOfNodesToScore: 40\n";
const std::string kWithQuotas =
    ConfigWith("  plugins: {multiPoint: {enabled: [{name: CapacityScheduling}]}}\n");
const std::string kWithLoad = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 5}]}}
  pluginConfig:
  - name: LoadAware
    args:
      preset: none
      onOutage: reject
      forecast: {}
      signals:
      - {name: cpu, threshold: 70, estimate: {from: history, resource: cpu}}
      - {name: own, query: q, window: 20s, threshold: 90, estimate: {from: mean}}
)");
const std::string kWithOtherLoadPlugins = ConfigWith(R"(
  plugins:
    multiPoint:
      enabled:
      - {name: TargetLoadPacking, weight: 5}
      - {name: LoadVariationRiskBalancing, weight: 5}
      - {name: LowRiskOverCommitment, weight: 5}
      - {name: NetworkTraffic, weight: 5}
      - {name: CPUUsage, weight: 5}
  pluginConfig:
  - {name: TargetLoadPacking, args: {metricProvider: {type: Prometheus, address: http://p:9090}}}
  - {name: LoadVariationRiskBalancing, args: {metricProvider: {type: Prometheus, address: http://p:9090}}}
  - {name: LowRiskOverCommitment, args: {metricProvider: {type: Prometheus, address: http://p:9090}}}
  - {name: NetworkTraffic, args: {prometheusAddress: http://p:9090, networkInterface: eth0}}
  - {name: CPUUsage, args: {prometheusAddress: http://p:9090}}
)");
const std::string kWithExtender = std::string(kDefaultConfig) + R"(
extenders:
- {urlPrefix: "http://e", filterVerb: filter, prioritizeVerb: prioritize, weight: 5, nodeCacheCapable: true, ignorable: true}
)";
const std::string kWithBudget = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: EvictionBudget}]}}
  pluginConfig:
  - name: EvictionBudget
    args:
      minRunSeconds: 3
      budgets: [{namespace: "*", evictions: 2, period: 20s}]
      loops: {evictions: 2, window: 1m, pause: 15s}
)");
const std::string kWithTenants = ConfigWith(R"(
  plugins:
    queueSort: {enabled: [{name: FairOrder}], disabled: [{name: "*"}]}
  pluginConfig:
  - name: FairOrder
    args:
      tenantLabel: team
      separator: "."
      tenants: [{name: a, weight: 2}, {name: a.x, weight: 3}]
      ageing: 30s
)");
const std::string kWithReservation = ConfigWith(R"(
  plugins:
    multiPoint:
      disabled: [{name: DefaultPreemption}]
      enabled: [{name: Gangs}, {name: GroupReservation}, {name: DefaultPreemption}]
  pluginConfig:
  - {name: Gangs, args: {sources: [Coscheduling]}}
  - {name: GroupReservation, args: {waitSeconds: 1}}
)");

const std::string kWithCosts = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: sample-plugin}, {name: NodeCost, weight: 50}]}}
  pluginConfig:
  - {name: NodeCost, args: {priceLabel: price, per: cpu, amount: free}}
)");
const std::string kWithTopologies = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch, weight: 50}]}}
)");
const std::string kWithReservedTopologies = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: NodeResourceTopologyMatch, weight: 50}]}}
  pluginConfig:
  - name: NodeResourceTopologyMatch
    args: {discardReservedNodes: true, scoringStrategy: {type: LeastNUMANodes}}
)");
const std::string kWithGpus = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: GpuFragmentation, weight: 50}]}}
  pluginConfig:
  - {name: GpuFragmentation, args: {deviceClasses: [other, gpu], capacity: milli, mostClasses: 5}}
)");
const std::string kWithGivenGpus = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: GpuFragmentation, weight: 50}]}}
  pluginConfig:
  - name: GpuFragmentation
    args: {deviceClasses: [gpu], capacity: milli, mix: [{cpu: "1", gpus: 1}, {gpus: 1, capacity: 500}]}
)");

// Responds at random: with an error, or with some of the nodes.
class RandomExtender {
 public:
  explicit RandomExtender(std::mt19937_64& random) : random_(random) {}

  extenders::Reply ReplyTo(const extenders::TransportRequest& request) {
    if (random_() % 3 == 0) return {.status = 500, .body = "down"};
    const boost::json::value body = boost::json::parse(request.body);
    const boost::json::array& nodes = body.at("NodeNames").get_array();
    boost::json::array names, scores;
    for (const boost::json::value& node : nodes) {
      if (random_() % 4 != 0) names.push_back(node);
      scores.push_back({{"Host", node}, {"Score", random_() % 11}});
    }
    if (request.url.ends_with("filter"))
      return {.status = 200, .body = boost::json::serialize(boost::json::object{{"NodeNames", names}})};
    return {.status = 200, .body = boost::json::serialize(scores)};
  }

 private:
  std::mt19937_64& random_;
};

// A cluster that changes at random: pods that fit, that preempt, that are gated, that fit nowhere, and that
// exceed the quota of their namespace if the plugin CapacityScheduling is enabled.
class RandomCluster {
 public:
  RandomCluster(Recorded& recorded, std::uint64_t seed)
      : recorded_(recorded),
        random_(seed),
        times_(seed),
        claims_(seed),
        measurements_(recorded, random_),
        plugin_objects_(recorded, seed),
        extender_(random_) {
    recorded_.extenders.on_ask = [this](const extenders::TransportRequest& request) {
      recorded_.extenders.answers.insert_or_assign(request.url, extender_.ReplyTo(request));
    };
    for (int i = 0; i < 12; ++i) AddNode();
    auto quota = std::make_shared<api::ElasticQuota>();
    quota->metadata.name = "team";
    quota->metadata.ns = "default";
    quota->min = testing::Amounts({{"cpu", "12"}});
    quota->max = testing::Amounts({{"cpu", "20"}});
    recorded_.Change<api::ElasticQuota>(nullptr, quota);
    recorded_.Sync();
  }

  void Change() {
    plugin_objects_.Change(NamesOf(nodes_));
    // With load metrics, so many pods of another scheduler leave too few moments for snapshots.
    if (!measures() && claims_() % 2 == 0) AddPodWithClaim();
    if (measures() && random_() % 2 == 0) measurements_.Measure(NamesOf(nodes_), NamesOf(pods_));
    switch (random_() % 10) {
      case 0:
        return AddNode();
      case 1:
        return RemoveNode();
      case 2:
        return UpdateNode();
      case 3:
      case 4:
        return DeletePod();
      case 5:
        return recorded_.Pass(std::chrono::milliseconds(random_() % 4000));
      default:
        AddPod();
    }
    ConfirmBindings();
  }

 private:
  static constexpr std::string_view kTeams[] = {"a", "a.x", "a.y", "b", "c.x.y"};

  void AddNode() {
    const std::string name = "n" + std::to_string(numbers_++);
    auto node = MakeNode(name).Cpu("4").Memory("8Gi").Label("topology.kubernetes.io/zone",
                                                            "z" + std::to_string(random_() % 3));
    plugin_objects_.Complete(node);
    nodes_[name] = node.Share();
    recorded_.Change<api::Node>(nullptr, nodes_[name]);
    plugin_objects_.AddFor(name);
  }
  template <class T>
  typename std::map<std::string, std::shared_ptr<const T>>::iterator Any(
      std::map<std::string, std::shared_ptr<const T>>& of) {
    return std::next(of.begin(), static_cast<std::ptrdiff_t>(random_() % of.size()));
  }
  template <class T>
  static std::vector<std::string> NamesOf(const std::map<std::string, T>& of) {
    std::vector<std::string> names;
    for (const auto& [name, object] : of) names.push_back(name);
    return names;
  }
  void RemoveNode() {
    if (nodes_.size() < 5) return;
    const auto node = Any(nodes_);
    recorded_.Change<api::Node>(node->second, nullptr);
    plugin_objects_.RemoveFor(node->first);
    nodes_.erase(node);
  }
  void UpdateNode() {
    const auto node = Any(nodes_);
    auto changed = std::make_shared<api::Node>(*node->second);
    changed->unschedulable = !changed->unschedulable;
    const std::shared_ptr<const api::Node> after = changed;
    recorded_.Change<api::Node>(std::exchange(node->second, after), after);
  }
  void AddPod() {
    const std::string name = "p" + std::to_string(numbers_++);
    auto pod = MakePod(name)
                   .Cpu(std::to_string(100 + random_() % 2500) + "m")
                   .Memory("64Mi")
                   .Label("app", "a")
                   .Label("team", std::string(kTeams[numbers_ % std::size(kTeams)]));
    if (random_() % 4 == 0) pod.Priority(static_cast<std::int32_t>(random_() % 100));
    if (random_() % 7 == 0) pod.Gate("g");
    if (random_() % 5 == 0) pod.HostPort(8080);
    if (random_() % 9 == 0) pod.Cpu("100");
    api::Pod controlled = pod;
    plugin_objects_.Complete(controlled);
    const std::string controller = "set" + std::to_string(numbers_ % 4);
    auto& owner = controlled.metadata.controller.emplace();
    owner.kind = "ReplicaSet";
    owner.name = owner.uid = controller;
    pods_[name] = std::make_shared<const api::Pod>(std::move(controlled));
    recorded_.Change<api::Pod>(nullptr, pods_[name]);
  }
  // Of another scheduler, on a node.
  void AddPodWithClaim() {
    const std::string name = "q" + std::to_string(claiming_++);
    const std::vector<std::string> nodes = NamesOf(nodes_);
    api::Pod pod = MakePod(name).Memory("1Mi").OnNode(nodes[claims_() % nodes.size()]);
    plugin_objects_.Claim(pod, [&] {
      pods_[name] = std::make_shared<const api::Pod>(pod);
      recorded_.Change<api::Pod>(nullptr, pods_[name]);
    });
  }
  void DeletePod() {
    if (pods_.empty()) return;
    const auto pod = Any(pods_);
    recorded_.Change<api::Pod>(pod->second, nullptr);
    pods_.erase(pod);
  }
  bool measures() const { return recorded_.signals().size() > 0; }
  // Now, or so long ago that plugins learn from the usage of the pod.
  std::int64_t StartTime() {
    const auto now = std::chrono::floor<std::chrono::seconds>(recorded_.wall_now().time_since_epoch());
    return now.count() - (times_() % 2 == 0 ? 0 : 600);
  }
  // The API server reports bound pods, victims and nominations.
  void ConfirmBindings() {
    for (; bindings_ < recorded_.writer.bindings.size(); ++bindings_) {
      const ports::Binding binding = recorded_.writer.bindings[bindings_];
      const auto pod = pods_.find(binding.name);
      if (pod == pods_.end()) continue;
      auto bound = std::make_shared<api::Pod>(*pod->second);
      bound->spec.node_name = binding.node;
      if (times_() % 2 == 0) bound->status.start_time = StartTime();
      const api::PodPtr after = bound;
      recorded_.Change<api::Pod>(std::exchange(pod->second, after), after);
    }
    for (; deletions_ < recorded_.writer.deletions.size(); ++deletions_) {
      const auto pod = pods_.find(recorded_.writer.deletions[deletions_].name);
      if (pod == pods_.end()) continue;
      recorded_.Change<api::Pod>(pod->second, nullptr);
      pods_.erase(pod);
    }
  }

  Recorded& recorded_;
  std::mt19937_64 random_;
  std::mt19937_64 times_;
  std::mt19937_64 claims_;
  FakeMeasurements measurements_;
  FakePluginObjects plugin_objects_;
  RandomExtender extender_;
  std::map<std::string, std::shared_ptr<const api::Node>> nodes_;
  std::map<std::string, api::PodPtr> pods_;
  std::uint64_t numbers_ = 0, claiming_ = 0;
  std::size_t bindings_ = 0, deletions_ = 0;
};

// A plugin whose state cannot be encoded after the first time.
class OnceEncodable final : public framework::PostBindPlugin, public framework::SavedStatePlugin {
 public:
  std::string_view Name() const override { return "OnceEncodable"; }
  void PostBind(const framework::Placement&) override {}
  Expected<framework::StateEncoder> SaveState() override {
    return [number = ++saves_]() -> std::string {
      if (number > 1) throw std::runtime_error("broke");
      return "once";
    };
  }
  Expected<void> RestoreState(std::string_view) override {
    saves_ = 1;
    return {};
  }

 private:
  int saves_ = 0;
};

class SnapshotsTest : public ::testing::Test {
 protected:
  SnapshotsTest() { log::SetVerbosity(-1); }

  // Files as small as possible, so that many begin.
  void Record(std::uint64_t seed, std::string_view config, std::uint64_t total = 1u << 30) {
    Recorded recorded(directory_, {.total = total, .full_file = 1}, config);
    RandomCluster cluster(recorded, seed);
    for (int i = 0; i < 400; ++i) {
      cluster.Change();
      if (i % 40 == 0) recorded.Flush();
    }
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(directory_)) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  }
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    auto reader = Value(recording::SegmentReader::Open(directory_));
    while (const auto line = reader.Next()) lines.emplace_back(*line);
    return lines;
  }
  Repetition Repeated() const {
    auto steps = Value(Steps::Open(directory_));
    return Value(Repeat(steps, assembly::InTreePlugins(), [](const Repetition&) {}));
  }
  static void ExpectSame(const Repetition& result) {
    EXPECT_FALSE(result.difference) << result.difference->line << ": " << result.difference->what << "\n"
                                    << result.difference->recorded << "\n"
                                    << result.difference->repeated;
    EXPECT_EQ(result.ended_by, "");
  }

  // Without its first files, a recording begins at each of its snapshots in turn. The states at the later
  // snapshots are compared, too, unless a timed attempt called plugins in another number.
  // A build with a sanitizer, where one repetition takes seconds, begins at the last three snapshots of the
  // first seed. `saved`: text that at least one of the saved states of all seeds contains, for each part.
  void ExpectSameFromEverySnapshot(const std::string& config, const std::vector<std::string>& saved = {},
                                   std::size_t files_at_least = 6) {
    SCOPED_TRACE(config);
    std::string states;
    for (std::uint64_t seed = 1; seed <= testing::Repetitions(4); ++seed) {
      SCOPED_TRACE(seed);
      fs::remove_all(directory_);
      Record(seed, config);
      for (const std::string& line : Lines()) {
        if (line.starts_with(R"({"state":)")) states += line;
      }
      const std::vector<fs::path> files = Files();
      ASSERT_GE(files.size(), files_at_least);
      std::uint64_t before = UINT64_MAX;
      for (std::size_t i = 0; i < files.size(); ++i) {
        if (i > 0) fs::remove(files[i - 1]);
        if (!kAll && i + 3 < files.size()) continue;
        SCOPED_TRACE(files[i].string());
        const Repetition result = Repeated();
        ExpectSame(result);
        EXPECT_THAT(result.skipped, ::testing::IsEmpty());
        EXPECT_LE(result.attempts, before);
        before = result.attempts;
        if (HasFailure()) return;
      }
    }
    if (!kAll) return;
    for (const std::string& member : saved) EXPECT_TRUE(states.contains(member)) << member;
  }

  static constexpr bool kAll = testing::Repetitions(8) == 8;

  const berth::testing::TemporaryDirectory temporary_;
  const fs::path directory_ = temporary_.path() / "run";
};

TEST_F(SnapshotsTest, EverySnapshotBeginsTheSameDecisions) {
  for (const std::string& config : {std::string(kDefaultConfig), kSampled, kWithQuotas})
    ExpectSameFromEverySnapshot(config);
}

TEST_F(SnapshotsTest, MeasurementsAreRestored) {
  ExpectSameFromEverySnapshot(
      kWithLoad,
      {R"(\"learned\":[{)", R"(\"hot\":[)", R"(\"filled\":[)", R"(\"unknown\":[)", R"(\"closed\":[)",
       R"(\"before\":[{)", R"(\"placedSince\":)", R"("values":[")", R"("state":2)", R"("state":3)"},
      4);
  ExpectSameFromEverySnapshot(
      kWithOtherLoadPlugins,
      {R"(\"recent\":[{)", R"(\"deviation\":)", R"(\"byShare\":true)", R"(\"unmeasured\":{\"rows\":[{)"});
}

TEST_F(SnapshotsTest, CircuitsOfExtendersAreRestored) {
  ExpectSameFromEverySnapshot(kWithExtender, {R"("open":true,"again":)", R"("failures":1)"});
}

TEST_F(SnapshotsTest, EvictionsAreRestored) {
  ExpectSameFromEverySnapshot(kWithBudget, {R"(\"evictions\":[[)", R"(\"next\":)", R"(\"check\":)",
                                            R"(\"by\":[{)", R"(\"pausedUntil\":)", R"(\"updatePaused\":)"});
}

TEST_F(SnapshotsTest, TenantsAreRestored) {
  ExpectSameFromEverySnapshot(kWithTenants,
                              {R"(\"unsettled\":2)", R"(\"attempted\":true)", R"(\"forgetAt\":)"});
}

TEST_F(SnapshotsTest, StateThatFollowsFromObjectsNeedsNoText) {
  for (const std::string& config : {kWithCosts, kWithTopologies, kWithReservedTopologies})
    ExpectSameFromEverySnapshot(config);
}

TEST_F(SnapshotsTest, TypicalPodsAreRestored) {
  ExpectSameFromEverySnapshot(kWithGpus, {R"(\"changes\":)", R"(\"class\":true)", R"(\"selectors\":[)",
                                          R"(\"capacity\":[[)", R"(\"weight\":\"0.)"});
  ExpectSameFromEverySnapshot(kWithGivenGpus);
}

// A group gets a reservation and is deleted. Until the next check its node stays closed.
TEST_F(SnapshotsTest, ReservationsAreRestored) {
  {
    Recorded recorded(directory_, {.full_file = 1}, kWithReservation, "AllBeta=true,GenericWorkload=true");
    const auto node = MakeNode("n0").Cpu("1").Memory("4Gi").Share();
    recorded.Change<api::Node>(nullptr, node);
    const api::PodPtr running = MakePod("running").Cpu("1").OnNode("n0").Share();
    recorded.Change<api::Pod>(nullptr, running);
    api::CoschedulingPodGroup training;
    training.metadata.name = "training";
    training.metadata.ns = "default";
    training.min_member = 1;
    recorded.Change<api::PodGroup>(nullptr, api::ToPodGroup(training));
    const api::PodPtr member =
        MakePod("member").Cpu("1").Label("scheduling.x-k8s.io/pod-group", "training").Share();
    recorded.Change<api::Pod>(nullptr, member);
    recorded.Sync();
    recorded.Pass(std::chrono::minutes(6));  // it is tried again
    recorded.Change<api::Pod>(member, nullptr);
    recorded.Change<api::Pod>(running, nullptr);
    recorded.Change<api::Pod>(nullptr, MakePod("single").Cpu("1").Share());
    recorded.Flush();
    recorded.Pass(std::chrono::milliseconds(1));
    recorded.Pass(std::chrono::seconds(30));
  }
  const std::vector<std::string> lines = Lines();
  const auto contain = [](std::string_view text) {
    return ::testing::Contains(HasSubstr(std::string(text)));
  };
  EXPECT_THAT(lines, contain(R"(\"reservations\":{\"groups\":[{)"));
  EXPECT_THAT(lines, contain(R"("pod":"default/single","result":"unschedulable")"));
  EXPECT_THAT(lines, contain(R"("pod":"default/single","result":"scheduled")"));
  ASSERT_EQ(Files().size(), 2U);
  ExpectSame(Repeated());
  fs::remove(Files().front());
  const Repetition result = Repeated();
  ExpectSame(result);
  EXPECT_EQ(result.attempts, 1U);
}

// The writing thread finds out: there are no further snapshots, and the recording can be repeated to its end.
TEST_F(SnapshotsTest, AStateThatCannotBeEncodedEndsSnapshots) {
  runtime::Registry plugins = assembly::InTreePlugins();
  plugins.Add("OnceEncodable", [](const framework::RawArgs&, framework::Handle&) -> framework::PluginOrError {
    return std::make_unique<OnceEncodable>();
  });
  {
    Recorded recorded(directory_, {.full_file = 1},
                      ConfigWith("  plugins: {multiPoint: {enabled: [{name: OnceEncodable}]}}\n"), kGates,
                      plugins);
    RandomCluster cluster(recorded, 1);
    for (int i = 0; i < 200; ++i) {
      cluster.Change();
      if (i % 40 == 0) recorded.Flush();
    }
  }
  const auto unsaved = std::ranges::count(Lines(), R"({"unsaved":true})");
  EXPECT_EQ(unsaved, 1);
  ASSERT_EQ(Files().size(), 2U);
  for (int files = 2; files > 0; --files) {
    auto steps = Value(Steps::Open(directory_));
    ExpectSame(Value(Repeat(steps, plugins, [](const Repetition&) {})));
    fs::remove(Files().front());
  }
}

TEST_F(SnapshotsTest, ARecordingKeepsItsLatestPart) {
  Record(1, kDefaultConfig, 20'000);
  const std::vector<fs::path> files = Files();
  EXPECT_NE(files.front().filename(), "000001.jsonl.zst");
  std::uintmax_t bytes = 0;
  for (const fs::path& file : files) bytes += fs::file_size(file);
  EXPECT_LT(bytes, 30'000U);
  ExpectSame(Repeated());
}

TEST_F(SnapshotsTest, AMissingFileIsReportedAndTheNextSnapshotContinues) {
  Record(1, kDefaultConfig);
  const std::uint64_t all = Repeated().attempts;
  fs::remove(Files()[2]);
  const Repetition result = Repeated();
  ExpectSame(result);
  ASSERT_EQ(result.skipped.size(), 1U);
  EXPECT_THAT(result.skipped.front(), HasSubstr("000003.jsonl.zst is missing"));
  EXPECT_GT(result.attempts, all / 2);
  EXPECT_LT(result.attempts, all);
}

TEST_F(SnapshotsTest, ADamagedFileIsReportedAndTheNextSnapshotContinues) {
  Record(1, kDefaultConfig);
  const std::uint64_t all = Repeated().attempts;
  for (const std::size_t damaged : {std::size_t{0}, std::size_t{2}}) {
    const fs::path file = Files()[damaged];
    std::fstream content(file, std::ios::in | std::ios::out | std::ios::binary);
    content.seekp(20);
    content.write("????????", 8);
    content.close();
    const Repetition result = Repeated();
    ExpectSame(result);
    EXPECT_EQ(result.skipped.size(), damaged == 0 ? 0U : 1U);
    EXPECT_GT(result.attempts, all / 2);
    EXPECT_LE(result.attempts, all);
  }
}

// What the state of a snapshot says decides: another one is found.
TEST_F(SnapshotsTest, AChangedStateIsADifferenceOrTheEnd) {
  Record(1, kDefaultConfig);
  const std::vector<std::string> lines = Lines();
  const struct {
    std::string_view from, to;
  } cases[] = {
      {R"("seed":)", R"("seed":1)"}, {R"("attempts":)", R"("attempts":1)"}, {R"("uid":")", R"("uid":"x)"}};
  for (const auto& test : cases) {
    SCOPED_TRACE(test.from);
    std::vector<std::string> changed = lines;
    const auto state = std::ranges::find_if(changed, [&](const std::string& line) {
      return line.starts_with(R"({"state":)") && line.contains(test.from);
    });
    ASSERT_NE(state, changed.end());
    state->replace(state->find(test.from), test.from.size(), test.to);
    const auto snapshot =
        std::find_if(std::make_reverse_iterator(state), changed.rend(),
                     [](const std::string& line) { return line.starts_with(R"({"snapshot":)"); })
            .base() -
        2;
    fs::remove_all(directory_);
    const auto writer = Value(recording::SegmentWriter::Create(directory_));
    for (auto line = snapshot; line != changed.end(); ++line) {
      if (line->starts_with(R"({"recording":)")) writer->EndFile();
      EXPECT_TRUE(writer->Append(*line + "\n").has_value());
    }
    const Repetition result = Repeated();
    EXPECT_TRUE(result.difference || !result.ended_by.empty() || !result.skipped.empty());
  }
}

}  // namespace
}  // namespace berth::replay
