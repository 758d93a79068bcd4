// Builders of test objects. A test sets the relevant fields; all others have valid defaults.
//
//   MakePod("web").Cpu("500m").Tolerating("gpu", "Exists")
//   MakeNode("n1").Cpu("4").Memory("8Gi").Label("zone", "a")
//
// Invalid quantities abort the test program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kubernetes/api/objects.hpp"

namespace berth::testing {

// A quantity such as "500m" or "1Gi".
api::Quantity Amount(std::string_view text);
// Amounts({{"cpu", "1"}, {"memory", "1Gi"}})
api::ResourceList Amounts(std::initializer_list<std::pair<std::string, std::string>> amounts);

// Builds a container.
class ContainerBuilder {
 public:
  explicit ContainerBuilder(std::string name) { container_.name = std::move(name); }
  ContainerBuilder& Request(const std::string& resource, std::string_view amount);
  ContainerBuilder& Limit(const std::string& resource, std::string_view amount);
  ContainerBuilder& Cpu(std::string_view amount) { return Request("cpu", amount); }
  ContainerBuilder& Memory(std::string_view amount) { return Request("memory", amount); }
  ContainerBuilder& Image(std::string image);
  ContainerBuilder& HostPort(std::int32_t port, std::string protocol = "TCP", std::string address = "");
  operator api::Container() const { return container_; }  // implicit on purpose

 private:
  api::Container container_;
};
inline ContainerBuilder MakeContainer(std::string name = "c") { return ContainerBuilder(std::move(name)); }

// expressions: {key, operator, {values}}
using Expression = api::NodeSelectorRequirement;
api::NodeSelectorTerm Term(std::vector<Expression> labels, std::vector<Expression> fields = {});

// In namespace "default", for the default scheduler, with one container without requests. The container's
// setters change the container that was added last.
class PodBuilder {
 public:
  explicit PodBuilder(std::string name);
  PodBuilder& Namespace(std::string ns);
  PodBuilder& Uid(std::string uid);
  PodBuilder& Scheduler(std::string name);
  PodBuilder& Priority(std::int32_t priority);
  PodBuilder& Label(std::string key, std::string value);
  PodBuilder& OnNode(std::string node);
  PodBuilder& Nominated(std::string node);
  PodBuilder& Gate(std::string gate);
  PodBuilder& Group(std::string name);  // spec.schedulingGroup
  PodBuilder& Phase(std::string phase);
  PodBuilder& Deleting();

  PodBuilder& Container(const api::Container& container);  // replaces the first one if it has no content yet
  PodBuilder& Init(const api::Container& container);
  PodBuilder& Sidecar(const api::Container& container);
  PodBuilder& Cpu(std::string_view amount) { return Request("cpu", amount); }
  PodBuilder& Memory(std::string_view amount) { return Request("memory", amount); }
  PodBuilder& Request(const std::string& resource, std::string_view amount);
  PodBuilder& Image(std::string image);
  PodBuilder& HostPort(std::int32_t port, std::string protocol = "TCP", std::string address = "");
  PodBuilder& Overhead(const std::string& resource, std::string_view amount);
  PodBuilder& PodLevel(const std::string& resource, std::string_view amount);

  PodBuilder& Tolerating(std::string key, std::string op, std::string value = "", std::string effect = "");
  PodBuilder& Selecting(std::string key, std::string value);  // spec.nodeSelector
  PodBuilder& Requiring(std::vector<api::NodeSelectorTerm> terms);
  PodBuilder& Preferring(std::int32_t weight, api::NodeSelectorTerm term);

  operator api::Pod() const { return pod_; }  // implicit on purpose
  operator api::PodPtr() const { return Share(); }
  api::PodPtr Share() const { return std::make_shared<const api::Pod>(pod_); }
  api::Pod& raw() { return pod_; }

 private:
  api::Pod pod_;
  bool untouched_ = true;
};
// A pod group in the namespace "default" with gang policy; without min_count, with basic policy.
api::PodGroupPtr MakeGroup(const std::string& name, std::optional<std::int32_t> min_count = std::nullopt,
                           std::int32_t priority = 0);
// The same below a composite group.
api::PodGroupPtr MakeChildGroup(const std::string& name, const std::string& parent,
                                std::optional<std::int32_t> min_count = std::nullopt);
// A composite group; `parent` is empty for a root. Without min_group_count with basic policy.
api::CompositePodGroupPtr MakeComposite(const std::string& name, const std::string& parent = "",
                                        std::optional<std::int32_t> min_group_count = std::nullopt,
                                        std::int32_t priority = 0);

inline PodBuilder MakePod(std::string name = "pod") { return PodBuilder(std::move(name)); }

// Allocatable: 110 pods and no other resource.
class NodeBuilder {
 public:
  explicit NodeBuilder(std::string name);
  NodeBuilder& Cpu(std::string_view amount) { return Allocatable("cpu", amount); }
  NodeBuilder& Memory(std::string_view amount) { return Allocatable("memory", amount); }
  NodeBuilder& Pods(std::string_view amount) { return Allocatable("pods", amount); }
  NodeBuilder& Allocatable(const std::string& resource, std::string_view amount);
  NodeBuilder& Label(std::string key, std::string value);
  NodeBuilder& Zone(std::string zone) { return Label("topology.kubernetes.io/zone", std::move(zone)); }
  NodeBuilder& Taint(std::string key, std::string value, std::string effect);
  NodeBuilder& Cordoned();
  NodeBuilder& Image(std::string name, std::int64_t bytes);
  NodeBuilder& Address(std::string type, std::string address);

  operator api::Node() const { return node_; }  // implicit on purpose
  api::NodePtr Share() const { return std::make_shared<const api::Node>(node_); }

 private:
  api::Node node_;
};
inline NodeBuilder MakeNode(std::string name = "node") { return NodeBuilder(std::move(name)); }

}  // namespace berth::testing
