// Test fixture in which the test plays the other scheduler.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/api/decode.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/builders.hpp"
#include "testing/fakes.hpp"
#include "tools/shadow/shadow.hpp"
#include "tools/shadow/shadow_observer.hpp"

namespace berth::shadow {

using berth::testing::MakeNode;
using berth::testing::MakePod;
using berth::testing::NodeBuilder;
using berth::testing::PodBuilder;

// The test delivers the watch events. At the end nothing may have been written to the API server.
class ShadowTest : public ::testing::Test {
 protected:
  ShadowTest() { Begin({}); }
  ~ShadowTest() override {
    EXPECT_THAT(api.bindings, ::testing::IsEmpty());
    EXPECT_THAT(api.patches, ::testing::IsEmpty());
    EXPECT_THAT(api.deletions, ::testing::IsEmpty());
    EXPECT_THAT(events.events, ::testing::IsEmpty());
  }

  void Begin(ShadowOptions options, std::size_t keep = 8) {
    follower.reset();
    observer.reset();
    shadow.reset();
    report.reset();
    loop.emplace(clock);
    std::vector<std::string> notes;
    engine = std::move(assembly::Engine::Build(config::DefaultSchedulerConfig(), assembly::InTreePlugins(),
                                               {api, events, *loop, services}, notes)
                           .value());
    follower.emplace(engine->symbols(), engine->cache(), engine->pending(), engine->profiles());
    report.emplace(keep, clock, metrics);
    shadow.emplace(options, *engine, clock, *report);
    observer.emplace(*loop, *shadow);
    follower->Observe(*observer);
  }
  void Settle() {
    while (loop->RunOnce(*follower)) {
    }
  }
  void Sync() {
    loop->sink().OnSynced();
    Settle();
  }
  void Wait(Duration time) {
    clock.Advance(time);
    Settle();
  }
  // Advances the clock until no comparison is pending.
  void Complete() { Wait(std::chrono::seconds(2)); }

  void Node(const NodeBuilder& node) {
    api::NodePtr shared = node.Share();
    const std::string name = shared->metadata.name;
    loop->sink().On(ports::Change<api::Node>{nodes.contains(name) ? nodes[name] : nullptr, shared});
    nodes[name] = shared;
    Settle();
  }
  // Updates the pod; creates it if it is new.
  void Pod(api::Pod pod) {
    pod.metadata.resource_version = std::to_string(++version);
    if (pod.metadata.uid.empty()) pod.metadata.uid = "u-" + pod.metadata.name;
    auto shared = std::make_shared<const api::Pod>(std::move(pod));
    const std::string name = shared->metadata.name;
    loop->sink().On(ports::Change<api::Pod>{pods.contains(name) ? pods[name] : nullptr, shared});
    pods[name] = shared;
    Settle();
  }
  void Gone(const std::string& name) {
    loop->sink().On(ports::Change<api::Pod>{pods[name], nullptr});
    pods.erase(name);
    Settle();
  }
  // Adds, replaces or, with an empty text, deletes an object of the group resource.k8s.io.
  template <class T>
  void Put(const std::string& name, const std::string& json) {
    std::shared_ptr<const T>& known =
        std::get<std::map<std::string, std::shared_ptr<const T>>>(objects)[name];
    std::shared_ptr<const T> object;
    if (!json.empty()) {
      auto decoded = api::Decoder().Object<T>(json);
      ASSERT_TRUE(decoded) << decoded.error().message << "\n" << json;
      object = std::make_shared<const T>(*std::move(decoded));
    }
    loop->sink().On(ports::Change<T>{known, object});
    known = object;
    Settle();
  }
  void Binds(const std::string& name, const std::string& node) {
    api::Pod bound = *pods[name];
    bound.spec.node_name = node;
    Pod(bound);
  }
  void Fails(const std::string& name, const std::string& message, const std::string& nominated = "",
             const std::string& reason = "Unschedulable") {
    api::Pod failed = *pods[name];
    api::PodCondition condition;
    condition.type = "PodScheduled";
    condition.status = "False";
    condition.reason = reason;
    condition.message = message;
    failed.status.conditions = {};
    failed.status.conditions.push_back(condition);
    failed.status.nominated_node_name = nominated;
    Pod(failed);
  }

  // The outcomes of all comparisons with their counts, separated by spaces.
  std::string Only() const {
    std::string found;
    for (std::size_t i = 0; i < kOutcomes; ++i) {
      const auto outcome = static_cast<Outcome>(i);
      const auto count = report->Count(outcome);
      if (count > 0) found += (found.empty() ? "" : " ") + std::string(OutcomeName(outcome));
      if (count > 1) found += " x" + std::to_string(count);
    }
    return found;
  }

  ManualClock clock;
  metrics::Registry metrics;
  berth::testing::FakeApiWriter api;
  berth::testing::FakeEventSink events;
  framework::DryRunServices services;
  std::optional<cycle::ClusterLoop> loop;
  std::unique_ptr<assembly::Engine> engine;
  std::optional<cycle::ClusterFollower> follower;
  std::optional<Report> report;
  std::optional<Shadow> shadow;
  std::optional<ShadowObserver> observer;
  std::map<std::string, api::NodePtr> nodes;
  std::map<std::string, api::PodPtr> pods;
  std::tuple<std::map<std::string, std::shared_ptr<const api::DeviceClass>>,
             std::map<std::string, std::shared_ptr<const api::ResourceSlice>>,
             std::map<std::string, std::shared_ptr<const api::ResourceClaim>>>
      objects;
  std::uint64_t version = 100;
};

inline NodeBuilder Roomy(const std::string& name) { return MakeNode(name).Cpu("8").Memory("16Gi"); }
inline PodBuilder Small(const std::string& name) { return MakePod(name).Cpu("1").Memory("1Gi"); }

}  // namespace berth::shadow
