#include "simulation/virtual_cluster.hpp"

#include <gtest/gtest.h>

#include "config/scheduler_config.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/builders.hpp"

namespace berth::simulation {
namespace {

using namespace std::chrono_literals;
using berth::testing::MakeNode;
using berth::testing::MakePod;

// Notes what happens, with its time.
class Journal final : public ApiObserver {
 public:
  explicit Journal(const VirtualTime& time) : time_(time) {}
  void OnBound(const api::PodPtr& pod) override { Note("bound", pod); }
  void OnPreempted(const api::PodPtr& pod) override { Note("preempted", pod); }
  void OnPodRemoved(const api::PodPtr& pod) override { Note("removed", pod); }
  void OnEvent(const ports::Event& event) override {
    if (event.reason == "FailedScheduling") Note("failed", event.regarding);
  }
  std::vector<std::string> lines;

 private:
  void Note(std::string_view what, const api::PodPtr& pod) {
    const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(time_.now()).count();
    const std::string node = pod->spec.node_name.str();
    lines.push_back(std::to_string(millis) + "ms " + pod->metadata.name + " " + std::string(what) +
                    (node.empty() ? "" : " " + node));
  }
  const VirtualTime& time_;
};

class VirtualClusterTest : public ::testing::Test {
 protected:
  VirtualClusterTest() {
    const Latencies latencies{.watch = 1ms, .bind = 10ms, .patch = 3ms, .remove = 4ms, .termination = 2s};
    std::vector<std::string> notes;
    const auto registry = assembly::InTreePlugins();
    cluster_ =
        std::move(VirtualCluster::Build(config::DefaultSchedulerConfig({}, &registry.codecs()), registry,
                                        {.latencies = latencies, .decision = 100us, .seed = 1}, notes))
            .value();
    journal_ = std::make_unique<Journal>(cluster_->time());
    cluster_->api().SetObserver(journal_.get());
  }
  void AddNode(const std::string& name, std::string_view cpu) {
    cluster_->api().Put(api::Node(MakeNode(name).Cpu(cpu).Memory("8Gi").Allocatable("pods", "110")));
  }
  static api::Pod Pod(const std::string& name, std::string_view cpu, std::int32_t priority = 0) {
    return MakePod(name).Uid("uid-" + name).Cpu(cpu).Priority(priority);
  }
  void RunFor(Duration time) { cluster_->RunUntil(cluster_->time().now() + time, stop_); }

  std::atomic<bool> stop_{false};
  std::unique_ptr<VirtualCluster> cluster_;
  std::unique_ptr<Journal> journal_;
};

using Lines = std::vector<std::string>;

TEST_F(VirtualClusterTest, APodIsBoundAfterTheLatenciesOfWatchAndBinding) {
  AddNode("n", "4");
  cluster_->Start();
  cluster_->time().At(100ms, [&] { cluster_->api().CreatePod(Pod("a", "1")); });
  RunFor(1s);
  EXPECT_EQ(journal_->lines, Lines{"111ms a bound n"});
  EXPECT_EQ(cluster_->time().now(), 1s + 1ms);
}

TEST_F(VirtualClusterTest, APodWaitsUntilARemovedPodMakesRoom) {
  AddNode("n", "1");
  cluster_->Start();
  cluster_->api().CreatePod(Pod("a", "1"));
  RunFor(100ms);
  cluster_->api().CreatePod(Pod("b", "1"));
  RunFor(10s);
  EXPECT_EQ(journal_->lines, (Lines{"12ms a bound n", "102ms b failed"}));
  cluster_->api().RemovePod("default/a", "uid-a");
  RunFor(10s);
  ASSERT_EQ(journal_->lines.size(), 4u);
  EXPECT_EQ(journal_->lines[3], "10112ms b bound n");
}

TEST_F(VirtualClusterTest, APreemptedPodTerminatesBeforeItsSuccessorIsBound) {
  AddNode("n", "1");
  cluster_->Start();
  cluster_->api().CreatePod(Pod("low", "1"));
  RunFor(1s);
  cluster_->api().CreatePod(Pod("high", "1", 100));
  RunFor(20s);
  ASSERT_EQ(journal_->lines.size(), 5u);
  EXPECT_EQ(journal_->lines[1], "1002ms high failed");
  EXPECT_EQ(journal_->lines[2].substr(journal_->lines[2].find(' ')), " low preempted n");
  EXPECT_EQ(journal_->lines[3].substr(journal_->lines[3].find(' ')), " low removed n");
  EXPECT_EQ(journal_->lines[4].substr(journal_->lines[4].find(' ')), " high bound n");
}

TEST_F(VirtualClusterTest, ABindingOfARemovedPodFailsAndItsResourcesAreFree) {
  AddNode("n", "1");
  cluster_->Start();
  cluster_->api().CreatePod(Pod("a", "1"));
  cluster_->time().After(5ms, [&] { cluster_->api().RemovePod("default/a", "uid-a"); });
  RunFor(1s);
  EXPECT_EQ(journal_->lines, Lines{"6ms a removed"});
  cluster_->api().CreatePod(Pod("b", "1"));
  RunFor(1s);
  EXPECT_EQ(journal_->lines.back().substr(journal_->lines.back().find(' ')), " b bound n");
  EXPECT_EQ(cluster_->api().bindings(), 1u);
}

TEST_F(VirtualClusterTest, AttemptsTakeTimeInWhichTheyCannotOverlap) {
  AddNode("n", "100");
  cluster_->Start();
  for (int i = 0; i < 50; ++i) cluster_->api().CreatePod(Pod("p" + std::to_string(i), "1"));
  RunFor(1s);
  ASSERT_EQ(journal_->lines.size(), 50u);
  EXPECT_EQ(journal_->lines.front(), "12ms p0 bound n");
  EXPECT_EQ(journal_->lines.back(), "16ms p49 bound n");  // 49 attempts later, of 100 microseconds each
}

TEST_F(VirtualClusterTest, StopEndsTheRunBeforeItsTime) {
  AddNode("n", "4");
  cluster_->Start();
  cluster_->time().At(100ms, [&] { stop_ = true; });
  EXPECT_FALSE(cluster_->RunUntil(1h, stop_));
  EXPECT_LT(cluster_->time().now(), 1s);
}

TEST_F(VirtualClusterTest, SettlesWhenNoPodCanBePlacedAnyMore) {
  AddNode("n", "1");
  cluster_->Start();
  cluster_->api().CreatePod(Pod("low", "1"));
  EXPECT_TRUE(cluster_->Settle(1min, stop_));
  cluster_->api().CreatePod(Pod("high", "1", 100));
  cluster_->api().CreatePod(Pod("waits", "1"));
  EXPECT_TRUE(cluster_->Settle(1min, stop_));
  EXPECT_EQ(cluster_->api().Find<api::Pod>("default/high")->spec.node_name, "n") << "after the victim's end";
  EXPECT_EQ(cluster_->api().Find<api::Pod>("default/low"), nullptr);
  EXPECT_EQ(cluster_->api().Find<api::Pod>("default/waits")->spec.node_name, "");
  EXPECT_LT(cluster_->time().now(), 10s);
}

TEST_F(VirtualClusterTest, DoesNotSettleBeforeTheLimitIfAWriteIsOutstanding) {
  AddNode("n", "1");
  cluster_->Start();
  cluster_->api().CreatePod(Pod("low", "1"));
  EXPECT_TRUE(cluster_->Settle(1min, stop_));
  cluster_->api().CreatePod(Pod("high", "1", 100));
  EXPECT_FALSE(cluster_->Settle(1s, stop_)) << "the victim terminates for two seconds";
  stop_ = true;
  EXPECT_FALSE(cluster_->Settle(1min, stop_));
}

TEST(VirtualTime, EventsRunInOrderOfTimeAndThenOfAddition) {
  VirtualTime time;
  Lines order;
  time.At(2s, [&] { order.push_back("c"); });
  time.At(1s, [&] {
    order.push_back("a");
    time.After({}, [&] { order.push_back("d at " + std::to_string(time.now() / 1s)); });
  });
  time.At(1s, [&] { order.push_back("b"); });
  const auto cancelled = time.At(1s, [&] { order.push_back("cancelled"); });
  time.Cancel(cancelled);
  time.AdvanceTo(3s);
  EXPECT_EQ(order, (Lines{"a", "b", "d at 1", "c"}));
  EXPECT_EQ(time.now(), 3s);
}

}  // namespace
}  // namespace berth::simulation
