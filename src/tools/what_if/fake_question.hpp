// For tests: a scenario from the text of a dump.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/scheduler_config.hpp"
#include "kubernetes/api/owners.hpp"
#include "scheduler/assembly/in_tree_plugins.hpp"
#include "testing/temporary_file.hpp"
#include "tools/what_if/questions.hpp"
#include "tools/what_if/scenario.hpp"

namespace berth::what_if {

using berth::testing::TemporaryFile;

// "node: 4 CPUs" and the like, as YAML documents.
inline std::string NodeText(const std::string& name, int cpus, const std::string& more = "") {
  return "---\n{kind: Node, metadata: {name: " + name + ", labels: {kubernetes.io/hostname: " + name +
         "}}, status: {allocatable: {cpu: \"" + std::to_string(cpus) + "\", memory: 64Gi, pods: \"110\"}}" +
         more + "}\n";
}
// `metadata` and `spec`: further members, each after a comma.
inline std::string PodText(const std::string& name, int cpus, const std::string& node = "",
                           const std::string& metadata = "", const std::string& spec = "") {
  return "---\n{kind: Pod, metadata: {name: " + name + ", namespace: shop" + metadata + "}, spec: {" +
         (node.empty() ? "" : "nodeName: " + node + ", ") +
         "containers: [{name: c, image: i, resources: {requests: {cpu: \"" + std::to_string(cpus) + "\"}}}]" +
         spec + "}, status: {phase: " + (node.empty() ? "Pending" : "Running") + "}}\n";
}
// A controller's entry for PodText: ", labels: {...}, ownerReferences: [...]".
inline std::string OwnedBy(const std::string& kind, const std::string& name) {
  return ", labels: {app: " + name + "}, ownerReferences: [{apiVersion: apps/v1, kind: " + kind +
         ", name: " + name + ", uid: u-" + name + ", controller: true}]";
}
inline std::string BudgetText(const std::string& app, int allowed) {
  return "---\n{kind: PodDisruptionBudget, metadata: {name: " + app +
         "-budget, namespace: shop}, spec: {selector: "
         "{matchLabels: {app: " +
         app + "}}}, status: {disruptionsAllowed: " + std::to_string(allowed) + "}}\n";
}

class Question {
 public:
  explicit Question(const std::string& dump, std::uint64_t seed = 1)
      : Question(dump, config::DefaultSchedulerConfig({}, &assembly::InTreePlugins().codecs()), seed) {}
  Question(const std::string& dump, config::SchedulerConfig config, std::uint64_t seed = 1)
      : objects_({.annotations = {std::string(api::kMirrorAnnotation)}}),
        plugins_(assembly::InTreePlugins()),
        config_(std::move(config)) {
    std::vector<std::string> problems, notes;
    EXPECT_TRUE(objects_.Load(dump, "dump", problems).has_value());
    EXPECT_EQ(problems, std::vector<std::string>());
    auto built = Scenario::Build({objects_, config_, plugins_, "shop", seed, files_, stop_}, notes);
    EXPECT_TRUE(built.has_value());
    scenario_ = *std::move(built);
  }
  Scenario& scenario() { return *scenario_; }
  ChangeResult Apply(const Change& change) {
    auto result = scenario_->Apply(change);
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message);
    return result ? *std::move(result) : ChangeResult{.change = ""};
  }
  std::string ErrorOf(const Change& change) {
    const auto result = scenario_->Apply(change);
    return result ? "" : result.error().message;
  }
  // "web-0 on n1" for each followed pod that exists, "web-1 waits"; sorted.
  std::vector<std::string> Outcomes() const {
    std::vector<std::string> texts;
    for (const FollowedPod& pod : scenario_->followed()) {
      if (pod.gone) continue;
      texts.push_back(pod.pod->metadata.name + (pod.node.empty() ? " waits" : " on " + pod.node));
    }
    std::ranges::sort(texts);
    return texts;
  }

 private:
  std::atomic<bool> stop_{false};
  FileTexts files_;
  assembly::LoadedCluster objects_;
  const runtime::Registry plugins_;
  const config::SchedulerConfig config_;
  std::unique_ptr<Scenario> scenario_;
};

}  // namespace berth::what_if
