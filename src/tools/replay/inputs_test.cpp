// Inputs that are not objects of the API, or that only some plugins read: recorded and repeated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "kubernetes/api/external_groups.hpp"
#include "observability/log/log.hpp"
#include "testing/builders.hpp"
#include "testing/temporary_directory.hpp"
#include "tools/replay/fake_recorded_scheduler.hpp"
#include "tools/replay/pod_cluster.hpp"
#include "tools/replay/repetition.hpp"

namespace berth::replay {
namespace {

using ::testing::HasSubstr;
using testing::MakeNode;
using testing::MakePod;
using namespace std::chrono_literals;

const std::string kLoadAware = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: LoadAware, weight: 5}]}}
  pluginConfig:
  - name: LoadAware
    args: {preset: none, onOutage: reject, signals: [{name: own, query: q, threshold: 55}]}
)");
const std::string kGangs = ConfigWith(R"(
  plugins: {multiPoint: {enabled: [{name: Gangs}]}}
  pluginConfig: [{name: Gangs, args: {sources: [Coscheduling, Volcano, Job]}}]
)");
const std::string kQuotas = ConfigWith("  plugins: {multiPoint: {enabled: [{name: CapacityScheduling}]}}\n");

load_metrics::SignalAnswer Load(MonoTime at, const std::vector<double>& values) {
  std::vector<load_metrics::SeriesValue> series;
  for (std::size_t i = 0; i < values.size(); ++i)
    series.push_back({{{"node", "n" + std::to_string(i)}}, values[i]});
  return load_metrics::AnswerOf(load_metrics::SignalId{0}, at, std::move(series));
}

class InputsTest : public ::testing::Test {
 protected:
  InputsTest() { log::SetVerbosity(-1); }

  static void AddNodes(Recorded& recorded, int count) {
    for (int i = 0; i < count; ++i)
      recorded.Change<api::Node>(nullptr, MakeNode("n" + std::to_string(i)).Cpu("4").Memory("8Gi").Share());
    recorded.Sync();
  }
  // Every step is repeated, with the same attempts and at least this many of them.
  void ExpectRepeated(std::uint64_t attempts) const {
    auto steps = Value(Steps::Open(directory_));
    const Repetition result = Value(Repeat(steps, assembly::InTreePlugins(), [](const Repetition&) {}));
    EXPECT_FALSE(result.difference) << result.difference->recorded << "\n" << result.difference->repeated;
    EXPECT_EQ(result.ended_by, "");
    EXPECT_EQ(result.deviations, 0);
    EXPECT_GE(result.attempts, attempts);
  }
  std::string Lines() const {
    auto reader = Value(recording::SegmentReader::Open(directory_));
    std::string lines;
    while (const auto line = reader.Next()) lines.append(*line).push_back('\n');
    return lines;
  }

  const berth::testing::TemporaryDirectory temporary_;
  const std::filesystem::path directory_ = temporary_.path() / "run";
};

TEST_F(InputsTest, LoadMeasurementsDecideAgain) {
  {
    Recorded recorded(directory_, {}, kLoadAware);
    AddNodes(recorded, 3);
    const auto add = [&](const char* pod) {
      recorded.Change<api::Pod>(nullptr, MakePod(pod).Cpu("100m").Share());
    };
    recorded.Measure(Load(recorded.now(), {0.9, 0.2, 0.5499999999999999}));
    add("on-n1");
    recorded.Measure(Load(recorded.now(), {0.1, 0.9, 0.9}));
    add("on-n0");
    recorded.Measure(load_metrics::FailedPoll{load_metrics::SignalId{0}, recorded.now() + 1h, "timeout"});
    add("rejected");
    recorded.Measure(Load(recorded.now() + 2h, {0.9, std::nan(""), 0.1}));
    recorded.Pass(20s);
  }
  ExpectRepeated(4);
  const std::string lines = Lines();
  EXPECT_THAT(lines, HasSubstr(R"("pod":"default/on-n1","result":"scheduled","node":"n1")"));
  EXPECT_THAT(lines, HasSubstr(R"("pod":"default/on-n0","result":"scheduled","node":"n0")"));
  EXPECT_THAT(lines, HasSubstr(R"("pod":"default/rejected","result":"unschedulable")"));
  EXPECT_THAT(lines, HasSubstr(R"("pod":"default/rejected","result":"scheduled","node":"n2")"));
}

// Each project has other fields that decide: a minimum per task, resources, and what is left of a Job.
TEST_F(InputsTest, GroupsOfOtherProjectsDecideAgain) {
  {
    Recorded recorded(directory_, {}, kGangs);
    AddNodes(recorded, 4);
    api::CoschedulingPodGroup training;
    training.metadata.name = "training";
    training.metadata.ns = "default";
    training.min_member = 2;
    training.schedule_timeout_seconds = 30;
    training.min_resources = {{"cpu", testing::Amounts({{"cpu", "1500m"}}).at("cpu")}};
    const api::PodGroupPtr first = api::ToPodGroup(training);
    recorded.Change<api::PodGroup>(nullptr, first);
    api::VolcanoPodGroup batch;
    batch.metadata.name = "batch";
    batch.metadata.ns = "default";
    batch.min_member = 0;
    batch.min_task_member = {{"worker", 1}};
    recorded.Change<api::PodGroup>(nullptr, api::ToPodGroup(batch));
    for (const char* name : {"a", "b", "c"}) {
      recorded.Change<api::Pod>(
          nullptr, MakePod(name).Cpu("600m").Label("scheduling.x-k8s.io/pod-group", "training").Share());
    }
    training.min_member = 4;
    const api::PodGroupPtr second = api::ToPodGroup(training);
    recorded.Change<api::PodGroup>(first, second);
    recorded.Change<api::Pod>(
        nullptr, MakePod("d").Cpu("600m").Label("scheduling.x-k8s.io/pod-group", "training").Share());
    recorded.Change<api::PodGroup>(second, nullptr);
    recorded.Pass(20s);
  }
  ExpectRepeated(4);
  EXPECT_THAT(Lines(), HasSubstr(R"("external":{"min":0,"tasks":["worker",1]})"));
}

TEST_F(InputsTest, QuotasDecideAgain) {
  {
    Recorded recorded(directory_, {}, kQuotas);
    AddNodes(recorded, 2);
    auto quota = std::make_shared<api::ElasticQuota>();
    quota->metadata.name = "team";
    quota->metadata.ns = "default";
    quota->min = quota->max = testing::Amounts({{"cpu", "1"}});
    recorded.Change<api::ElasticQuota>(nullptr, quota);
    for (const char* name : {"a", "b"}) recorded.Change<api::Pod>(nullptr, MakePod(name).Cpu("600m").Share());
    auto larger = std::make_shared<api::ElasticQuota>(*quota);
    larger->min = larger->max = testing::Amounts({{"cpu", "2"}});
    recorded.Change<api::ElasticQuota>(quota, larger);
    recorded.Pass(20s);
  }
  ExpectRepeated(3);
  const std::string lines = Lines();
  EXPECT_THAT(lines, HasSubstr(R"("pod":"default/b","result":"unschedulable")"));
  EXPECT_THAT(lines, HasSubstr(R"("pod":"default/b","result":"scheduled")"));
}

}  // namespace
}  // namespace berth::replay
