// What only some plugins read of a random cluster: prices, NUMA topologies, GPUs and claims for them.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/quantity.hpp"
#include "testing/builders.hpp"
#include "tools/replay/fake_recorded_scheduler.hpp"

namespace berth::replay {

// The objects, and the parts of nodes and pods. With an odd seed there are no devices of slices, so that rows
// alone decide.
class FakePluginObjects {
 public:
  FakePluginObjects(Recorded& recorded, std::uint64_t seed)
      : recorded_(recorded), random_(seed), has_slices_(seed % 2 == 0) {
    Create<api::DeviceClass>(R"({"metadata": {"name": "gpu"}, "spec": {"selectors": [
      {"cel": {"expression": "device.driver == 'd'"}}]}})");
  }

  // Of a node that is not created yet.
  void Complete(testing::NodeBuilder& node) {
    if (random_() % 5 != 0) node.Label("price", fmt::format("0.{}", 1 + random_() % 9));
    node.Allocatable(kGpu, "4");
  }
  // Of a pod without GPUs; every second one is guaranteed.
  void Complete(api::Pod& pod) {
    api::ResourceRequirements& resources = pod.spec.containers.back().resources;
    if (random_() % 3 == 0)
      resources.requests[kGpu] = api::Quantity::FromInteger(1 + static_cast<std::int64_t>(random_() % 2));
    if (random_() % 2 == 0) resources.limits = resources.requests;
  }
  void AddFor(const std::string& node) {
    if (random_() % 4 != 0) PutTopology(node);
    if (has_slices_) AddSlice(node);
  }
  // Objects of a node are deleted after it.
  void RemoveFor(const std::string& node) {
    Delete<api::NodeResourceTopology>(topologies_, node);
    Delete<api::ResourceSlice>(slices_, node);
  }
  void Change(const std::vector<std::string>& nodes) {
    if (random_() % 3 == 0) PutTopology(nodes[random_() % nodes.size()]);
    if (random_() % 16 == 0 && !claims_.empty()) Delete<api::ResourceClaim>(claims_, claims_.begin()->first);
  }
  // Makes the pod use a claim, which exists before or after it, or never.
  void Claim(api::Pod& pod, const std::function<void()>& create_pod) {
    const std::string name = "claim-of-" + pod.metadata.name;
    pod.spec.resource_claims = {{"c", name, std::nullopt}};
    const auto order = random_() % 8;
    if (order < 4) AddClaim(name);
    create_pod();
    if (4 <= order && order < 7) AddClaim(name);
  }

 private:
  static constexpr const char* kGpu = "nvidia.com/gpu";
  template <class T>
  using ByName = std::map<std::string, std::shared_ptr<const T>>;

  template <class T>
  std::shared_ptr<const T> Create(const std::string& json) {
    auto object = std::make_shared<const T>(Value(api::Decoder().Object<T>(json)));
    recorded_.Change<T>(nullptr, object);
    return object;
  }
  template <class T>
  void Delete(ByName<T>& objects, const std::string& name) {
    const auto found = objects.find(name);
    if (found == objects.end()) return;
    recorded_.Change<T>(found->second, nullptr);
    objects.erase(found);
  }

  // Two zones with some of the node's cores.
  void PutTopology(const std::string& node) {
    auto topology = std::make_shared<api::NodeResourceTopology>();
    topology->metadata.name = node;
    topology->attributes = {
        {"topologyManagerPolicy", random_() % 3 == 0 ? "best-effort" : "single-numa-node"},
        {"topologyManagerScope", random_() % 2 == 0 ? "pod" : "container"}};
    for (const char* const zone : {"node-0", "node-1"}) {
      api::NodeResourceTopology::Zone& added = topology->zones.emplace_back();
      added.name = zone;
      added.type = "Node";
      const auto cores = static_cast<std::int64_t>(1 + random_() % 3);
      // Names first appear in another order than that of the alphabet.
      if (random_() % 2 == 0) added.resources.push_back({kGpu, api::Quantity::FromInteger(2)});
      added.resources.push_back({"memory", api::Quantity::FromInteger(std::int64_t{4} << 30)});
      added.resources.push_back({"cpu", api::Quantity::FromInteger(cores)});
    }
    std::shared_ptr<const api::NodeResourceTopology>& known = topologies_[node];
    const std::shared_ptr<const api::NodeResourceTopology> after = topology;
    recorded_.Change<api::NodeResourceTopology>(std::exchange(known, after), after);
  }
  // Two GPUs that can be shared, of one of three models.
  void AddSlice(const std::string& node) {
    const auto gpu = [&](int number) {
      return fmt::format(R"({{"name": "g{0}", "allowMultipleAllocations": true,
        "attributes": {{"model": {{"string": "m{1}"}}, "serial": {{"string": "s{0}"}}}}, "capacity": {{"milli":
        {{"value": "1000", "requestPolicy": {{"default": "1000", "validRange": {{"min": "1"}}}}}}}}}})",
                         number, random_() % 3);
    };
    slices_[node] = Create<api::ResourceSlice>(fmt::format(
        R"({{"metadata": {{"name": "{0}"}}, "spec": {{"driver": "d", "nodeName": "{0}",
        "pool": {{"name": "{0}", "resourceSliceCount": 1}}, "devices": [{1}, {2}]}}}})",
        node, gpu(0), gpu(1)));
  }
  // For a part of a GPU, or for whole ones of a model.
  void AddClaim(const std::string& name) {
    const std::string wanted =
        random_() % 2 == 0
            ? fmt::format(R"("capacity": {{"requests": {{"milli": "{}"}}}})", 100 * (1 + random_() % 4))
            : fmt::format(
                  R"("selectors": [{{"cel": {{"expression": "device.attributes['d'].model == 'm{}'"}}}}])",
                  random_() % 3);
    claims_[name] = Create<api::ResourceClaim>(fmt::format(
        R"({{"metadata": {{"namespace": "default", "name": "{0}", "uid": "uid-of-{0}"}}, "spec": {{"devices":
        {{"requests": [{{"name": "r", "exactly": {{"deviceClassName": "gpu", {1}}}}}]}}}}}})",
        name, wanted));
  }

  Recorded& recorded_;
  std::mt19937_64 random_;
  const bool has_slices_;
  ByName<api::NodeResourceTopology> topologies_;
  ByName<api::ResourceSlice> slices_;
  ByName<api::ResourceClaim> claims_;
};

}  // namespace berth::replay
