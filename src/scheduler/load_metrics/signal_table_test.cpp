#include "scheduler/load_metrics/signal_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "testing/cluster.hpp"

namespace berth::load_metrics {
namespace {

using berth::testing::MakeNode;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kNaN = kNoValue;
constexpr double kInf = std::numeric_limits<double>::infinity();

// Three nodes, and poll results whose series are identified by the label "instance".
struct SignalTableTest : ::testing::Test {
  SignalTableTest() {
    for (const auto* name : {"n1", "n2", "n3"}) cluster.Add(MakeNode(name));
  }

  // The series of this result are numbered from 0, so that results are independent of each other.
  static SignalAnswer Answer(SignalId signal, std::vector<std::pair<std::string, double>> series,
                             MonoTime polled_at = MonoTime(seconds(100))) {
    SignalAnswer answer{
        .signal = signal, .polled_at = polled_at, .renumbered = true, .fresh = nullptr, .samples = {}};
    std::vector<SeriesName> names;
    for (const auto& [instance, value] : series) {
      answer.samples.emplace_back(names.size(), value);
      names.push_back({{"instance", instance}});
    }
    answer.fresh = std::make_shared<const std::vector<SeriesName>>(std::move(names));
    return answer;
  }
  std::string ValueOf(SignalId id, const std::string& node) {
    const double value = measurements.signal(id).At(cluster.RowOf(node));
    return std::isnan(value) ? "-" : std::to_string(static_cast<int>(value));
  }
  std::vector<std::string> ValuesOf(SignalId id) {
    return {ValueOf(id, "n1"), ValueOf(id, "n2"), ValueOf(id, "n3")};
  }
  SignalState StateOf(SignalId id) { return measurements.signal(id).state; }

  berth::testing::Cluster cluster;
  SignalTable& measurements = cluster.handle().signals;
};

TEST_F(SignalTableTest, EqualSpecificationsShareOneSignal) {
  const SignalSpec spec{.name = "test", .source = "http://p:9090", .expression = "up"};
  const SignalId first = measurements.Declare(spec);
  EXPECT_EQ(measurements.Declare(spec), first);
  SignalSpec other = spec;
  other.merge = Merge::kSum;
  EXPECT_NE(measurements.Declare(other), first);
}

TEST_F(SignalTableTest, NodesHaveNoValueBeforeTheFirstPollOrWithoutASeries) {
  const SignalId cpu = measurements.Declare({.name = "test", .source = "p", .expression = "cpu"});
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("-", "-", "-"));
  const SignalCoverage coverage = measurements.Take(Answer(cpu, {{"n1", 5}, {"n3", 7}, {"unmatched", 9}}));
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("5", "-", "7"));
  EXPECT_EQ(coverage.nodes, 3U);
  EXPECT_EQ(coverage.measured, 2U);
  EXPECT_EQ(coverage.unmatched_series, 1U);
  EXPECT_THAT(coverage.unmatched, ElementsAre("{instance=\"unmatched\"}"));
  EXPECT_EQ(coverage.before, SignalState::kWaiting);
  EXPECT_EQ(coverage.after, SignalState::kFresh);
}

TEST_F(SignalTableTest, NaNAndInfinityAreNoValues) {
  const SignalId cpu = measurements.Declare({.name = "test", .source = "p", .expression = "cpu"});
  measurements.Take(Answer(cpu, {{"n1", kNaN}, {"n2", kInf}, {"n3", -kInf}}));
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("-", "-", "-"));
}

TEST_F(SignalTableTest, SeveralSeriesOfANodeAreMerged) {
  const struct {
    Merge merge;
    std::string expected;
  } cases[] = {{Merge::kMax, "6"}, {Merge::kSum, "8"}, {Merge::kMean, "4"}};
  for (const auto& [merge, expected] : cases) {
    const SignalId id =
        measurements.Declare({.name = "test", .source = "p", .expression = "x", .merge = merge});
    const SignalCoverage coverage = measurements.Take(Answer(id, {{"n1", 2}, {"n1:9100", 6}, {"n1", kNaN}}));
    EXPECT_EQ(ValueOf(id, "n1"), expected);
    EXPECT_EQ(coverage.merged, 1U);
  }
}

TEST_F(SignalTableTest, ValuesAreHeldDuringAnOutageUntilTheyExpire) {
  const SignalId cpu =
      measurements.Declare({.name = "test", .source = "p", .expression = "cpu", .hold = seconds(60)});
  int calls = 0;
  measurements.Listen(cpu, [&] { ++calls; });
  measurements.Take(Answer(cpu, {{"n1", 5}}, MonoTime(seconds(100))));
  EXPECT_EQ(measurements.Failed(cpu, MonoTime(seconds(130)), "connection refused").after, SignalState::kHeld);
  EXPECT_EQ(ValueOf(cpu, "n1"), "5");
  EXPECT_EQ(measurements.Failed(cpu, MonoTime(seconds(160)), "connection refused").after, SignalState::kHeld);
  EXPECT_EQ(measurements.Failed(cpu, MonoTime(seconds(161)), "connection refused").after, SignalState::kGone);
  EXPECT_EQ(ValueOf(cpu, "n1"), "-");
  EXPECT_EQ(measurements.signal(cpu).error, "connection refused");
  measurements.Take(Answer(cpu, {{"n1", 6}}, MonoTime(seconds(175))));
  EXPECT_EQ(ValueOf(cpu, "n1"), "6");
  EXPECT_EQ(measurements.signal(cpu).error, "");
  EXPECT_EQ(calls, 3) << "listeners are called exactly once per change";
}

TEST_F(SignalTableTest, ASignalOfWorkloadsKeepsTheSeriesOfTheLastResult) {
  const SignalId id = measurements.Declare({.name = "test",
                                            .source = "p",
                                            .expression = "use",
                                            .hold = seconds(60),
                                            .subject = Subject::kWorkload,
                                            .series_labels = {"instance"}});
  const auto series = [&] {
    std::vector<std::string> texts;
    for (const auto& [name, value] : measurements.signal(id).series)
      texts.push_back(name.front().second + "=" + std::to_string(static_cast<int>(value)));
    return texts;
  };
  int calls = 0;
  measurements.Listen(id, [&] { ++calls; });
  SignalAnswer answer = Answer(id, {{"web", 5}, {"db", kNaN}, {"job", 7}});
  answer.dropped_series = 3;
  const SignalCoverage coverage = measurements.Take(answer);
  EXPECT_THAT(series(), ElementsAre("web=5", "job=7"));
  EXPECT_EQ(coverage.series, 2U);
  EXPECT_EQ(coverage.dropped_series, 3U);
  EXPECT_EQ(coverage.nodes, 0U);
  answer.renumbered = false;
  answer.fresh = nullptr;
  answer.samples = {{2, 8}};
  measurements.Take(answer);
  EXPECT_THAT(series(), ElementsAre("job=8")) << "the names of series are stored";
  measurements.Failed(id, MonoTime(seconds(130)), "refused");
  EXPECT_THAT(series(), ElementsAre("job=8"));
  measurements.Failed(id, MonoTime(seconds(161)), "refused");
  EXPECT_THAT(series(), ElementsAre());
  EXPECT_EQ(calls, 3);
}

TEST_F(SignalTableTest, ASignalThatWasNeverPolledSuccessfullyIsGoneImmediately) {
  const SignalId cpu = measurements.Declare({.name = "test", .source = "p", .expression = "cpu"});
  measurements.Failed(cpu, MonoTime(seconds(1)), "404");
  EXPECT_EQ(StateOf(cpu), SignalState::kGone);
}

TEST_F(SignalTableTest, AGuardSuppressesUntrustedValues) {
  const SignalId cpu =
      measurements.Declare({.name = "test",
                            .source = "p",
                            .expression = "cpu",
                            .guards = {{.name = "age", .expression = "age", .at_most = 60},
                                       {.name = "count", .expression = "count", .at_least_of_median = 0.8}}});
  const SignalId age = measurements.Declare({.name = "test", .source = "p", .expression = "age"});
  const SignalId count = measurements.Declare({.name = "test", .source = "p", .expression = "count"});
  measurements.Take(Answer(cpu, {{"n1", 1}, {"n2", 2}, {"n3", 3}}));
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("-", "-", "-")) << "the guards have no result yet";
  measurements.Take(Answer(age, {{"n1", 15}, {"n2", 90}, {"n3", 15}}));
  measurements.Take(Answer(count, {{"n1", 8}, {"n2", 8}, {"n3", 8}}));
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("1", "-", "3"));
  measurements.Take(Answer(count, {{"n1", 8}, {"n2", 8}, {"n3", 6}}));
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("1", "-", "-"));
  EXPECT_EQ(measurements.Take(Answer(cpu, {{"n1", 1}, {"n2", 2}, {"n3", 3}})).distrusted, 2U);
  measurements.Take(Answer(age, {{"n1", 15}}));
  EXPECT_THAT(ValuesOf(cpu), ElementsAre("1", "-", "-")) << "a node without a guard value has no value";
}

TEST_F(SignalTableTest, AllSignalsArePolledOnceTheirGuardsAre) {
  const SignalId cpu =
      measurements.Declare({.name = "test",
                            .source = "p",
                            .expression = "cpu",
                            .guards = {{.name = "age", .expression = "age", .at_most = 60}}});
  const SignalId age = measurements.Declare({.name = "test", .source = "p", .expression = "age"});
  EXPECT_FALSE(measurements.AllPolled());
  measurements.Take(Answer(cpu, {{"n1", 1}}));
  EXPECT_FALSE(measurements.AllPolled()) << "the guard has no result yet";
  measurements.Failed(age, MonoTime(seconds(100)), "refused");
  EXPECT_TRUE(measurements.AllPolled()) << "a failed poll is a result";
}

SignalSpec GuardedByAge() {
  return {.name = "test",
          .source = "p",
          .expression = "cpu",
          .guards = {{.name = "age", .expression = "age", .at_most = 60}}};
}

// A signal and its guards are answered in any order.
TEST_F(SignalTableTest, TheCoverageIncludesGuardsThatAreAnsweredLater) {
  const SignalId cpu = measurements.Declare(GuardedByAge());
  const SignalId age = measurements.Declare({.name = "test", .source = "p", .expression = "age"});
  measurements.Take(Answer(cpu, {{"n1", 1}, {"n2", 2}}));
  measurements.Take(Answer(age, {{"n1", 15}, {"n2", 90}}));
  const SignalCoverage& coverage = measurements.signal(cpu).coverage;
  EXPECT_EQ(coverage.nodes, 3U);
  EXPECT_EQ(coverage.measured, 1U);
  EXPECT_EQ(coverage.distrusted, 1U);
}

TEST_F(SignalTableTest, DeclaredSignalsAreTakenWithTheirGuardsAlsoIfShared) {
  const SignalSpec spec = GuardedByAge();
  measurements.Declare(spec);
  EXPECT_THAT(measurements.TakeDeclared(), ::testing::SizeIs(2));
  EXPECT_THAT(measurements.TakeDeclared(), ::testing::IsEmpty());
  measurements.Declare(spec);
  EXPECT_THAT(measurements.TakeDeclared(), ::testing::UnorderedElementsAre(SignalId{0}, SignalId{1}));
}

TEST_F(SignalTableTest, AGuardWithoutValuesIsNotApplied) {
  const SignalId cpu = measurements.Declare(GuardedByAge());
  const SignalId age = measurements.Declare({.name = "test", .source = "p", .expression = "age"});
  measurements.Take(Answer(cpu, {{"n1", 1}}));
  measurements.Failed(age, MonoTime(seconds(100)), "parse error");
  EXPECT_EQ(ValueOf(cpu, "n1"), "1");
  measurements.Take(Answer(age, {}));
  EXPECT_EQ(ValueOf(cpu, "n1"), "1");
}

TEST_F(SignalTableTest, AGuardIsNotAppliedAfterItsValuesHaveExpired) {
  const SignalId cpu = measurements.Declare(GuardedByAge());
  const SignalId age = measurements.Declare({.name = "test", .source = "p", .expression = "age"});
  measurements.Take(Answer(age, {{"n1", 90}}, MonoTime(seconds(100))));
  measurements.Take(Answer(cpu, {{"n1", 1}}, MonoTime(seconds(100))));
  measurements.Failed(age, MonoTime(seconds(400)), "refused");
  EXPECT_EQ(ValueOf(cpu, "n1"), "-") << "the values of the guard are held";
  measurements.Failed(age, MonoTime(seconds(401)), "refused");
  EXPECT_EQ(ValueOf(cpu, "n1"), "1");
  measurements.Take(Answer(cpu, {{"n1", 2}}, MonoTime(seconds(401))));
  EXPECT_EQ(ValueOf(cpu, "n1"), "2");
}

TEST_F(SignalTableTest, ANodeOnAReusedRowHasNoValue) {
  const SignalId cpu = measurements.Declare({.name = "test", .source = "p", .expression = "cpu"});
  measurements.Take(Answer(cpu, {{"n1", 1}, {"n2", 2}}));
  cluster.nodes().Remove(cluster.RowOf("n2"));
  cluster.Add(MakeNode("n4"));
  EXPECT_EQ(ValueOf(cpu, "n4"), "-");
  measurements.Take(Answer(cpu, {{"n1", 1}, {"n2", 2}, {"n4", 4}}));
  EXPECT_EQ(ValueOf(cpu, "n4"), "4");
}

TEST_F(SignalTableTest, SeriesNumbersContinueAcrossThePollsOfASource) {
  const SignalId a = measurements.Declare({.name = "test", .source = "p", .expression = "a"});
  const SignalId b = measurements.Declare({.name = "test", .source = "p", .expression = "b"});
  measurements.Take(Answer(a, {{"n1", 1}, {"n2", 2}}));
  SignalAnswer next{
      .signal = b, .polled_at = {}, .renumbered = false, .fresh = nullptr, .samples = {{1, 20}, {2, 30}}};
  next.fresh = std::make_shared<const std::vector<SeriesName>>(
      std::vector<SeriesName>{{{"node", "gone"}, {"instance", "n3:9100"}}});
  measurements.Take(next);
  EXPECT_THAT(ValuesOf(b), ElementsAre("-", "20", "30"));
  measurements.Take(
      {.signal = a, .polled_at = {}, .renumbered = false, .fresh = nullptr, .samples = {{7, 1}}});
  EXPECT_THAT(ValuesOf(a), ElementsAre("-", "-", "-")) << "an unknown series number is ignored";
}

TEST(NodeDirectory, FindsANodeByNameAddressAndHostName) {
  berth::testing::Cluster cluster;
  cluster.Add(MakeNode("a.example.com").Address("InternalIP", "10.0.0.1").Address("Hostname", "host-a"))
      .Add(MakeNode("b.example.com").Address("InternalIP", "fd00::2").Address("ExternalIP", "10.9.9.9"))
      .Add(MakeNode("c.example.com").Address("ExternalIP", "10.9.9.9").Address("Hostname", "a.example.com"))
      .Add(MakeNode("twin.east"))
      .Add(MakeNode("twin.west"));
  NodeDirectory directory(cluster.nodes());
  directory.Refresh();
  const auto name = [&](std::string_view text) {
    const cluster::Row row = directory.Find(text);
    return row == cluster::kNoRow ? std::string("-") : cluster.nodes().name(row);
  };
  const struct {
    std::string text, node;
  } cases[] = {
      {"a.example.com", "a.example.com"},  // a name takes precedence over another node's address
      {"10.0.0.1", "a.example.com"},
      {"10.0.0.1:9100", "a.example.com"},
      {"host-a", "a.example.com"},
      {"host-a:9100", "a.example.com"},
      {"fd00::2", "b.example.com"},
      {"[fd00::2]:9100", "b.example.com"},
      {"b", "b.example.com"},
      {"b.other.domain", "b.example.com"},
      {"10.9.9.9", "-"},  // an address of two nodes
      {"twin", "-"},
      {"twin.east", "twin.east"},
      {"", "-"},
      {"10.0.0.1:metrics", "-"},
      {"missing", "-"},
  };
  for (const auto& [text, node] : cases) EXPECT_EQ(name(text), node) << text;
}

TEST(NodeDirectory, TheFirstNumberOfAnAddressIsNoHostName) {
  berth::testing::Cluster cluster;
  cluster.Add(MakeNode("10.0.0.5").Address("InternalIP", "10.0.0.5")).Add(MakeNode("192.example.com"));
  NodeDirectory directory(cluster.nodes());
  directory.Refresh();
  EXPECT_EQ(directory.Find("10.0.0.5:9100"), cluster.RowOf("10.0.0.5"));
  for (const char* text : {"10.0.0.6:9100", "10.0.0.6", "10.example.com", "192.168.0.1:9100"})
    EXPECT_EQ(directory.Find(text), cluster::kNoRow) << text;
  for (const char* text : {"192", "192.other.domain"})
    EXPECT_EQ(directory.Find(text), cluster.RowOf("192.example.com")) << text;
}

TEST(NodeDirectory, UsesTheFirstLabelThatMatches) {
  berth::testing::Cluster cluster;
  cluster.Add(MakeNode("n1")).Add(MakeNode("n2"));
  NodeDirectory directory(cluster.nodes());
  directory.Refresh();
  EXPECT_EQ(directory.Find(SeriesName{{"node", "unheard-of"}, {"instance", "n2:9100"}}), cluster.RowOf("n2"));
  EXPECT_EQ(directory.Find(SeriesName{{"node", "n1"}, {"instance", "n2:9100"}}), cluster.RowOf("n1"));
  EXPECT_EQ(directory.Find(SeriesName{}), cluster::kNoRow);
}

TEST_F(SignalTableTest, AListenerEndsWithItsOwner) {
  const SignalId id = measurements.Declare({.name = "test", .source = "http://p:9090", .expression = "up"});
  int calls = 0;
  auto owner = std::make_shared<const char>();
  measurements.SetListenerOwner(owner);
  measurements.Listen(id, [&] { ++calls; });
  measurements.Take(Answer(id, {{"n1", 1}}));
  EXPECT_EQ(calls, 1);
  owner = nullptr;
  measurements.Take(Answer(id, {{"n1", 2}}));
  EXPECT_EQ(calls, 1);
}

TEST_F(SignalTableTest, ANewListenerCatchesUp) {
  const SignalId nodes =
      measurements.Declare({.name = "nodes", .source = "http://p:9090", .expression = "up"});
  const SignalId pods = measurements.Declare(
      {.name = "pods", .source = "http://p:9090", .expression = "use", .subject = Subject::kPod});
  const SignalId waiting =
      measurements.Declare({.name = "other", .source = "http://p:9090", .expression = "x"});
  measurements.Take(Answer(nodes, {{"n1", 1}}));
  measurements.Take(Answer(pods, {{"a", 1}, {"b", 2}}));
  SignalAnswer more = Answer(pods, {{"c", 3}});
  more.renumbered = false;
  measurements.Take(more);
  const auto owner = std::make_shared<const char>();
  measurements.SetListenerOwner(owner);
  int calls = 0;
  std::size_t names = 0;
  measurements.Listen(nodes, [&] { ++calls; });
  measurements.Listen(waiting, [&] { calls += 100; });
  measurements.ListenToPods(pods, [&](const SignalAnswer& answer) {
    if (answer.renumbered) names = 0;
    names += answer.fresh->size();
    EXPECT_TRUE(answer.samples.empty());
  });
  measurements.DeliverKnownValues(owner);
  EXPECT_EQ(calls, 1) << "the signal without values has no news";
  EXPECT_EQ(names, 3U);
}

}  // namespace
}  // namespace berth::load_metrics
