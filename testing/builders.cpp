#include "testing/builders.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace berth::testing {

api::Quantity Amount(std::string_view text) {
  auto quantity = api::Quantity::Parse(text);
  if (!quantity)
    throw std::invalid_argument(fmt::format("quantity \"{}\": {}", text, quantity.error().message));
  return *quantity;
}

api::ResourceList Amounts(std::initializer_list<std::pair<std::string, std::string>> amounts) {
  api::ResourceList list;
  for (const auto& [resource, amount] : amounts) list[resource] = Amount(amount);
  return list;
}

api::NodeSelectorTerm Term(std::vector<Expression> labels, std::vector<Expression> fields) {
  return {std::move(labels), std::move(fields)};
}

ContainerBuilder& ContainerBuilder::Request(const std::string& resource, std::string_view amount) {
  container_.resources.requests[resource] = Amount(amount);
  return *this;
}
ContainerBuilder& ContainerBuilder::Limit(const std::string& resource, std::string_view amount) {
  container_.resources.limits[resource] = Amount(amount);
  return *this;
}
ContainerBuilder& ContainerBuilder::Image(std::string image) {
  container_.image = std::move(image);
  return *this;
}
ContainerBuilder& ContainerBuilder::HostPort(std::int32_t port, std::string protocol, std::string address) {
  container_.ports.push_back({port, port, std::move(protocol), std::move(address)});
  return *this;
}

PodBuilder::PodBuilder(std::string name) {
  pod_.metadata.uid = "uid-of-" + name;
  pod_.metadata.name = std::move(name);
  pod_.metadata.ns = "default";
  pod_.spec.scheduler_name = "default-scheduler";
  pod_.spec.containers.push_back(MakeContainer());
}
api::PodGroupPtr MakeGroup(const std::string& name, std::optional<std::int32_t> min_count,
                           std::int32_t priority) {
  auto group = std::make_shared<api::PodGroup>();
  group->metadata.ns = "default";
  group->metadata.name = name;
  group->metadata.uid = "uid-" + name;
  group->priority = priority;
  if (min_count) group->gang = api::PodGroup::Gang{*min_count};
  return group;
}

api::PodGroupPtr MakeChildGroup(const std::string& name, const std::string& parent,
                                std::optional<std::int32_t> min_count) {
  auto group = std::make_shared<api::PodGroup>(*MakeGroup(name, min_count));
  group->parent = parent;
  return group;
}

api::CompositePodGroupPtr MakeComposite(const std::string& name, const std::string& parent,
                                        std::optional<std::int32_t> min_group_count, std::int32_t priority) {
  auto group = std::make_shared<api::CompositePodGroup>();
  static_cast<api::PodGroup&>(*group) = *MakeGroup(name, min_group_count, priority);
  group->composite = true;
  group->parent = parent;
  return group;
}

PodBuilder& PodBuilder::Namespace(std::string ns) {
  pod_.metadata.ns = std::move(ns);
  return *this;
}
PodBuilder& PodBuilder::Uid(std::string uid) {
  pod_.metadata.uid = std::move(uid);
  return *this;
}
PodBuilder& PodBuilder::Scheduler(std::string name) {
  pod_.spec.scheduler_name = std::move(name);
  return *this;
}
PodBuilder& PodBuilder::Priority(std::int32_t priority) {
  pod_.spec.priority = priority;
  return *this;
}
PodBuilder& PodBuilder::Label(std::string key, std::string value) {
  pod_.metadata.labels.Set(std::move(key), std::move(value));
  return *this;
}
PodBuilder& PodBuilder::OnNode(std::string node) {
  pod_.spec.node_name = std::move(node);
  return *this;
}
PodBuilder& PodBuilder::Nominated(std::string node) {
  pod_.status.nominated_node_name = std::move(node);
  return *this;
}
PodBuilder& PodBuilder::Group(std::string name) {
  pod_.spec.pod_group = std::move(name);
  return *this;
}
PodBuilder& PodBuilder::Gate(std::string gate) {
  pod_.spec.scheduling_gates.push_back(std::move(gate));
  return *this;
}
PodBuilder& PodBuilder::Phase(std::string phase) {
  pod_.status.phase = std::move(phase);
  return *this;
}
PodBuilder& PodBuilder::Deleting() {
  pod_.metadata.deletion_timestamp = "2024-01-01T00:00:00Z";
  return *this;
}
PodBuilder& PodBuilder::Container(const api::Container& container) {
  if (std::exchange(untouched_, false)) pod_.spec.containers.clear();
  pod_.spec.containers.push_back(container);
  return *this;
}
PodBuilder& PodBuilder::Init(const api::Container& container) {
  pod_.spec.init_containers.push_back(container);
  return *this;
}
PodBuilder& PodBuilder::Sidecar(const api::Container& container) {
  pod_.spec.init_containers.push_back(container);
  pod_.spec.init_containers.back().restart_always = true;
  return *this;
}
PodBuilder& PodBuilder::Request(const std::string& resource, std::string_view amount) {
  untouched_ = false;
  pod_.spec.containers.back().resources.requests[resource] = Amount(amount);
  return *this;
}
PodBuilder& PodBuilder::Image(std::string image) {
  untouched_ = false;
  pod_.spec.containers.back().image = std::move(image);
  return *this;
}
PodBuilder& PodBuilder::HostPort(std::int32_t port, std::string protocol, std::string address) {
  untouched_ = false;
  pod_.spec.containers.back().ports.push_back({port, port, std::move(protocol), std::move(address)});
  return *this;
}
PodBuilder& PodBuilder::Overhead(const std::string& resource, std::string_view amount) {
  pod_.spec.overhead[resource] = Amount(amount);
  return *this;
}
PodBuilder& PodBuilder::PodLevel(const std::string& resource, std::string_view amount) {
  if (!pod_.spec.resources) pod_.spec.resources.emplace();
  pod_.spec.resources->requests[resource] = Amount(amount);
  return *this;
}
PodBuilder& PodBuilder::Tolerating(std::string key, std::string op, std::string value, std::string effect) {
  pod_.spec.tolerations.push_back({std::move(key), std::move(op), std::move(value), std::move(effect)});
  return *this;
}
PodBuilder& PodBuilder::Selecting(std::string key, std::string value) {
  pod_.spec.node_selector.Set(std::move(key), std::move(value));
  return *this;
}
PodBuilder& PodBuilder::Requiring(std::vector<api::NodeSelectorTerm> terms) {
  if (!pod_.spec.node_affinity) pod_.spec.node_affinity.emplace();
  pod_.spec.node_affinity->required = api::NodeSelector{std::move(terms)};
  return *this;
}
PodBuilder& PodBuilder::Preferring(std::int32_t weight, api::NodeSelectorTerm term) {
  if (!pod_.spec.node_affinity) pod_.spec.node_affinity.emplace();
  pod_.spec.node_affinity->preferred.push_back({weight, std::move(term)});
  return *this;
}

NodeBuilder::NodeBuilder(std::string name) {
  node_.metadata.uid = "uid-of-" + name;
  node_.metadata.name = std::move(name);
  node_.allocatable_given = true;
  Pods("110");
}
NodeBuilder& NodeBuilder::Allocatable(const std::string& resource, std::string_view amount) {
  node_.allocatable[resource] = Amount(amount);
  return *this;
}
NodeBuilder& NodeBuilder::Label(std::string key, std::string value) {
  node_.metadata.labels.Set(std::move(key), std::move(value));
  return *this;
}
NodeBuilder& NodeBuilder::Taint(std::string key, std::string value, std::string effect) {
  node_.taints.push_back({std::move(key), std::move(value), std::move(effect)});
  return *this;
}
NodeBuilder& NodeBuilder::Cordoned() {
  node_.unschedulable = true;
  return *this;
}
NodeBuilder& NodeBuilder::Image(std::string name, std::int64_t bytes) {
  node_.images.push_back({{std::move(name)}, bytes});
  return *this;
}

NodeBuilder& NodeBuilder::Address(std::string type, std::string address) {
  node_.addresses.push_back({std::move(type), std::move(address)});
  return *this;
}

}  // namespace berth::testing
