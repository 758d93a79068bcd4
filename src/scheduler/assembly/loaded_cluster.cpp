#include "scheduler/assembly/loaded_cluster.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/yaml.hpp"

namespace berth::assembly {

Expected<void> LoadedCluster::Load(std::string_view text, const std::string& file,
                                   std::vector<std::string>& problems) {
  auto documents = api::SplitDocuments(text);
  if (!documents) return std::unexpected(std::move(documents).error().In(file));
  for (const std::string& error : documents->errors) problems.push_back(fmt::format("{}: {}", file, error));
  for (const api::Document& document : documents->objects) {
    if (const std::string wrong = Add(document); !wrong.empty()) {
      problems.push_back(fmt::format("{}: {}: {}: {}", file, document.location, document.kind, wrong));
    }
  }
  return {};
}

api::PodPtr LoadedCluster::FindPod(const std::string& key) const {
  const auto found = pod_index_.find(key);
  return found == pod_index_.end() ? nullptr : pods_[found->second];
}

std::string LoadedCluster::Add(const api::Document& document) {
  // Other projects have kinds with the same names, such as Node of longhorn.io. They are counted by their
  // whole names: they are not the nodes of the cluster.
  const bool core = document.group.empty();
  const bool pod_or_node = document.kind == "Pod" || document.kind == "Node";
  ++kinds_[pod_or_node && !core ? fmt::format("{}.{}", document.kind, document.group) : document.kind];
  if (pod_or_node && !core) return "";
  if (document.kind == "Pod") {
    auto pod = decoder_.Object<api::Pod>(document.json);
    if (!pod) return pod.error().message;
    if (pod->metadata.name.empty()) return "metadata.name: Required value";
    AddPod(std::move(*pod));
  } else if (document.kind == "Node") {
    auto node = decoder_.Object<api::Node>(document.json);
    if (!node) return node.error().message;
    if (node->metadata.name.empty()) return "metadata.name: Required value";
    api::ApplyDefaults(*node);
    auto shared = std::make_shared<const api::Node>(std::move(*node));
    nodes_.insert_or_assign(shared->metadata.name, shared);
  } else if (document.kind == "PriorityClass" && (core || document.group == "scheduling.k8s.io")) {
    if (std::string wrong = AddPriorityClass(document.json); !wrong.empty()) return wrong;
    if (auto added = others_.Add(document); !added) return added.error().message;
  } else if (auto added = others_.Add(document); !added) {
    return added.error().message;
  }
  return "";
}

void LoadedCluster::AddPod(api::Pod pod) {
  api::ApplyDefaults(pod);
  const std::string key = pod.metadata.Key();
  // A pod that was copied within a file has the UID of its model, and would replace it on its node.
  if (pod.metadata.uid.empty() || uids_.try_emplace(pod.metadata.uid, key).first->second != key)
    pod.metadata.uid = "made-up-for-" + key;
  auto shared = std::make_shared<const api::Pod>(std::move(pod));
  const auto [entry, added] = pod_index_.try_emplace(key, pods_.size());
  if (added) {
    pods_.push_back(std::move(shared));
  } else {
    pods_[entry->second] = std::move(shared);
  }
}

std::string LoadedCluster::AddPriorityClass(std::string_view json) {
  const auto tree = yaml::ParseValue(json);
  if (!tree) return tree.error().message;
  const yaml::Value* metadata = tree->Find("metadata");
  const yaml::Value* name = metadata == nullptr ? nullptr : metadata->Find("name");
  if (name == nullptr || name->text.empty()) return "metadata.name: Required value";
  PriorityClass priority;
  if (const yaml::Value* value = tree->Find("value")) {
    const std::string& text = value->text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority.value);
    if (error != std::errc() || end != text.data() + text.size())
      return fmt::format("value: expected a number of 32 bits, got \"{}\"", text);
  }
  const auto has = [&](std::string_view field, std::string_view text) {
    const yaml::Value* found = tree->Find(field);
    return found != nullptr && found->text == text;
  };
  priority.is_default = has("globalDefault", "true");
  priority.never_preempts = has("preemptionPolicy", "Never");
  priority_classes_.insert_or_assign(name->text, priority);
  return "";
}

}  // namespace berth::assembly
