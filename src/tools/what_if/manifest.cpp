#include "tools/what_if/manifest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <concepts>

#include "base/nearest.hpp"
#include "base/yaml.hpp"
#include "kubernetes/api/decode.hpp"

namespace berth::what_if {
namespace {

using yaml::Value;

constexpr std::size_t kMostReplicas = 200'000;

const Value* At(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* at = &value;
  for (const std::string_view name : path) {
    at = at->Find(name);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string TextAt(const Value& value, std::initializer_list<std::string_view> path) {
  const Value* found = At(value, path);
  return found == nullptr ? "" : found->text;
}

struct WorkloadKind {
  std::string_view kind;
  std::string_view count;        // the field with the number of pods
  std::string_view api_version;  // of owner references
};
constexpr WorkloadKind kWorkloads[] = {{"Deployment", "replicas", "apps/v1"},
                                       {"ReplicaSet", "replicas", "apps/v1"},
                                       {"StatefulSet", "replicas", "apps/v1"},
                                       {"ReplicationController", "replicas", "v1"},
                                       {"Job", "parallelism", "batch/v1"}};

class ManifestReader {
 public:
  explicit ManifestReader(const ManifestContext& context) : context_(context), decoder_(context.retained) {}

  Expected<void> Add(const api::Document& document) {
    BERTH_TRY(const Value tree, yaml::ParseValue(document.json));
    if (document.kind == "Pod") return AddPod(tree);
    const auto* workload = std::ranges::find(kWorkloads, document.kind, &WorkloadKind::kind);
    if (workload != std::end(kWorkloads)) return AddWorkload(*workload, tree, document);
    if (document.kind == "DaemonSet")
      return Invalid(
          "kind: a DaemonSet has one pod per node; expected a Pod, a Deployment, a StatefulSet, a "
          "ReplicaSet or a Job");
    return AddObject(document);
  }
  Manifest Take() { return std::move(manifest_); }

 private:
  Expected<void> AddPod(const Value& tree) {
    PodSource source{.kind = "Pod", .name = TextAt(tree, {"metadata", "name"}), .model = {}};
    if (source.name.empty()) return Invalid("metadata.name: Required value");
    BERTH_TRY(source.model, PodOf(tree));
    manifest_.pods.push_back(std::move(source));
    return {};
  }

  Expected<void> AddWorkload(const WorkloadKind& workload, const Value& tree, const api::Document& document) {
    PodSource source{
        .kind = std::string(workload.kind), .name = TextAt(tree, {"metadata", "name"}), .model = {}};
    if (source.name.empty()) return Invalid("metadata.name: Required value");
    BERTH_TRY(source.count, CountOf(tree, workload.count, 1));
    if (workload.kind == "Job") {
      BERTH_TRY(const std::size_t completions, CountOf(tree, "completions", source.count));
      source.count = TextAt(tree, {"spec", "suspend"}) == "true" ? 0 : std::min(source.count, completions);
    }
    const Value* given = At(tree, {"spec", "template"});
    if (given == nullptr || given->kind != Value::Kind::kMap) return Invalid("spec.template: Required value");
    if (At(tree, {"spec", "volumeClaimTemplates"}) != nullptr)
      return Invalid(
          "spec.volumeClaimTemplates: claims are not created on a copy of the cluster; expected a "
          "workload without them");
    Value pod = *given;
    Value metadata = Value::Map();
    if (const Value* meta = given->Find("metadata"); meta != nullptr && meta->kind == Value::Kind::kMap)
      metadata = *meta;
    metadata.Set("name", Value::Text(source.name));
    metadata.Set("namespace", Value::Text(NamespaceOf(tree)));
    pod.Set("metadata", std::move(metadata));
    auto model = PodOf(pod);
    if (!model) return std::unexpected(std::move(model).error().In("spec.template"));
    source.model = *std::move(model);
    BERTH_RETURN_IF_ERROR(AddController(workload, source, document));
    source.model.metadata.name.clear();
    manifest_.pods.push_back(std::move(source));
    return {};
  }

  // Default spreading reads the selectors of controllers, so the objects of these kinds exist, too.
  Expected<void> AddController(const WorkloadKind& workload, PodSource& source,
                               const api::Document& document) {
    api::OwnerReference owner{.api_version = std::string(workload.api_version),
                              .kind = source.kind,
                              .name = source.name,
                              .uid = "what-if-" + source.name};
    if (source.kind == "Deployment") {
      const std::string hash = "whatif";
      source.model.metadata.labels.Set("pod-template-hash", hash);
      owner.kind = "ReplicaSet";
      owner.name = source.name + "-" + hash;
      api::ReplicaSet set;
      BERTH_TRY(set, decoder_.Object<api::ReplicaSet>(document.json));
      set.metadata = {};
      set.metadata.name = owner.name;
      set.metadata.ns = source.model.metadata.ns;
      set.metadata.uid = owner.uid;
      if (set.selector) {
        api::LabelSelector selector = *set.selector;
        selector.match_labels.Set("pod-template-hash", hash);
        set.selector = std::move(selector);
      }
      Put(std::move(set));
    } else {
      const std::string kind = source.kind;
      BERTH_RETURN_IF_ERROR(AddIfRead<api::ReplicaSet>(kind, document));
      BERTH_RETURN_IF_ERROR(AddIfRead<api::StatefulSet>(kind, document));
      BERTH_RETURN_IF_ERROR(AddIfRead<api::ReplicationController>(kind, document));
    }
    source.model.metadata.controller = std::move(owner);
    return {};
  }

  template <class T>
  Expected<void> AddIfRead(const std::string& kind, const api::Document& document) {
    if (kind != T::kKind) return {};
    BERTH_TRY(T object, decoder_.Object<T>(document.json));
    if (object.metadata.ns.empty()) object.metadata.ns = context_.ns;
    Put(std::move(object));
    return {};
  }

  template <class T>
  void Put(T object) {
    manifest_.objects.emplace_back(ports::Change<T>{nullptr, std::make_shared<const T>(std::move(object))});
  }

  // A kind that the scheduler reads besides pods.
  Expected<void> AddObject(const api::Document& document) {
    Expected<void> added;
    bool known = false;
    std::vector<std::string> kinds = {"Pod", "Deployment", "StatefulSet", "ReplicaSet", "Job"};
    api::AllKinds::ForEach([&]<class T>() {
      if constexpr (!std::same_as<T, api::Pod> && !std::same_as<T, api::Node>) {
        kinds.emplace_back(T::kKind);
        if (document.kind != T::kKind) return;
        known = true;
        auto object = decoder_.Object<T>(document.json);
        if (!object) {
          added = std::unexpected(object.error());
          return;
        }
        if (T::kNamespaced && object->metadata.ns.empty()) object->metadata.ns = context_.ns;
        api::ApplyDefaults(*object);
        Put(*std::move(object));
      }
    });
    if (known) return added;
    const std::string nearest = Nearest(document.kind, kinds);
    return Invalid(
        fmt::format("kind: \"{}\": expected a Pod, a Deployment, a StatefulSet, a ReplicaSet, a Job, or "
                    "a kind that the scheduler reads{}",
                    document.kind, nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }

  static Expected<std::size_t> CountOf(const Value& tree, std::string_view field, std::size_t otherwise) {
    const Value* value = At(tree, {"spec", field});
    if (value == nullptr || value->kind == Value::Kind::kNull) return otherwise;
    std::size_t count = 0;
    const std::string& text = value->text;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size() || count > kMostReplicas)
      return Invalid(
          fmt::format("spec.{}: \"{}\": expected a number from 0 to {}", field, text, kMostReplicas));
    return count;
  }

  std::string NamespaceOf(const Value& tree) const {
    std::string ns = TextAt(tree, {"metadata", "namespace"});
    return ns.empty() ? context_.ns : ns;
  }

  // A pod without a node, with the defaults and the priority that it would have in the cluster.
  Expected<api::Pod> PodOf(const Value& tree) {
    std::string json;
    yaml::AppendJson(json, tree);
    BERTH_TRY(api::Pod pod, decoder_.Object<api::Pod>(json));
    if (pod.metadata.ns.empty()) pod.metadata.ns = context_.ns;
    api::ApplyDefaults(pod);
    BERTH_RETURN_IF_ERROR(SetPriorityOf(pod, TextAt(tree, {"spec", "priorityClassName"})));
    pod.metadata.uid.clear();
    pod.spec.node_name = "";
    pod.status = {};
    return pod;
  }

  Expected<void> SetPriorityOf(api::Pod& pod, const std::string& name) const {
    if (name == "system-node-critical" || name == "system-cluster-critical") {
      pod.spec.priority = name == "system-node-critical" ? 2'000'001'000 : 2'000'000'000;
      return {};
    }
    const auto& classes = context_.priority_classes;
    auto found = classes.find(name);
    if (name.empty()) {
      if (pod.spec.priority != 0) return {};
      found = std::ranges::find_if(classes, [](const auto& one) { return one.second.is_default; });
      if (found == classes.end()) return {};
    } else if (found == classes.end()) {
      std::vector<std::string> known = {"system-node-critical", "system-cluster-critical"};
      for (const auto& [other, priority] : classes) known.push_back(other);
      const std::string nearest = Nearest(name, known);
      return Invalid(fmt::format("spec.priorityClassName: \"{}\": the input has no such PriorityClass{}",
                                 name,
                                 nearest.empty() ? "; add it to the dump, or set spec.priority"
                                                 : "; did you mean " + nearest + "?"));
    }
    pod.spec.priority = found->second.value;
    pod.spec.never_preempts = pod.spec.never_preempts || found->second.never_preempts;
    return {};
  }

  const ManifestContext& context_;
  api::Decoder decoder_;
  Manifest manifest_;
};

Expected<api::Documents> Documents(std::string_view text, const std::string& file) {
  auto documents = api::SplitDocuments(text);
  if (!documents) return std::unexpected(std::move(documents).error().In(file));
  if (!documents->errors.empty()) return Invalid(file + ": " + documents->errors.front());
  return documents;
}

}  // namespace

Expected<Manifest> ReadManifest(std::string_view text, const std::string& file,
                                const ManifestContext& context) {
  BERTH_TRY(const api::Documents documents, Documents(text, file));
  ManifestReader reader(context);
  for (const api::Document& document : documents.objects) {
    if (auto added = reader.Add(document); !added)
      return std::unexpected(
          std::move(added).error().In(fmt::format("{}: {}: {}", file, document.location, document.kind)));
  }
  Manifest manifest = reader.Take();
  if (manifest.pods.empty())
    return Invalid(file + ": expected a Pod, a Deployment, a StatefulSet, a ReplicaSet or a Job, got none");
  return manifest;
}

Expected<api::Node> ReadNode(std::string_view text, const std::string& file) {
  BERTH_TRY(const api::Documents documents, Documents(text, file));
  const auto found = std::ranges::find(documents.objects, "Node", &api::Document::kind);
  if (found == documents.objects.end()) return Invalid(file + ": expected a Node, got none");
  api::Decoder decoder;
  auto node = decoder.Object<api::Node>(found->json);
  if (!node) return std::unexpected(std::move(node).error().In(file + ": " + found->location));
  api::ApplyDefaults(*node);
  return node;
}

}  // namespace berth::what_if
