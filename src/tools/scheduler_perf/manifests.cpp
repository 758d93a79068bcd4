#include "tools/scheduler_perf/manifests.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.hpp"

namespace berth::scheduler_perf {
namespace {

using yaml::Value;

Value ParsedObject(std::string_view text) {
  auto parsed = yaml::ParseValue(text);
  BERTH_CHECK(parsed.has_value(), text);
  return *std::move(parsed);
}

// The objects of operations without a template.
const Value& DefaultNode() {
  static const Value kNode = ParsedObject(
      R"({kind: Node, status: {capacity: {pods: "110", cpu: "4", memory: 32Gi}, conditions: [{type: Ready, status: "True"}]}})");
  return kNode;
}
const Value& DefaultPod() {
  static const Value kPod = ParsedObject(
      R"({kind: Pod, metadata: {generateName: pod-}, spec: {containers: [{name: pause, ports: [{containerPort: 80}],
         resources: {limits: {cpu: 100m, memory: 500Mi}, requests: {cpu: 100m, memory: 500Mi}}}]}})");
  return kPod;
}

Value& Part(Value& object, std::string_view name) {
  Value* member = object.Find(name);
  return member != nullptr && member->kind == Value::Kind::kMap ? *member : object.Set(name, Value::Map());
}

std::string ClaimName(std::size_t index) { return fmt::format("pvc-{}", index); }

}  // namespace

Expected<Value> NodeManifest(const CreateNodes& operation, std::size_t index, std::uint64_t number) {
  Value node = DefaultNode();
  if (operation.model) {
    BERTH_TRY(node, operation.model->Object(index, operation.count));
  }
  Value& metadata = Part(node, "metadata");
  if (metadata.Find("name") == nullptr) {
    const Value* prefix = metadata.Find("generateName");
    metadata.Set("name", Value::Text((prefix == nullptr ? "node-" : prefix->text) + std::to_string(number)));
  }
  const std::string name = metadata.Find("name")->text;
  Value& labels = Part(metadata, "labels");
  labels.Set("kubernetes.io/hostname", Value::Text(name));
  const auto& values = operation.label_values;
  if (!operation.label_key.empty())
    labels.Set(operation.label_key,
               Value::Text(values.empty() ? "unique-" + name : values[index % values.size()]));
  return node;
}

Value CsiNodeManifest(const CreateNodes& operation, const Value& node) {
  const Value& name = *node.Find("metadata")->Find("name");
  Value drivers = Value::List();
  for (const auto& [driver, amount] : operation.csi_allocatable->members) {
    Value item = Value::Map();
    item.Set("name", Value::Text(driver));
    item.Set("nodeID", name);
    item.Set("allocatable", amount);
    drivers.items.push_back(std::move(item));
  }
  Value csi_node = Value::Map();
  csi_node.Set("kind", Value::Text("CSINode"));
  Value& metadata = Part(csi_node, "metadata");
  metadata.Set("name", name);
  Part(metadata, "annotations")
      .Set("storage.alpha.kubernetes.io/migrated-plugins",
           Value::Text(fmt::format("{}", fmt::join(operation.migrated_plugins, ","))));
  Part(csi_node, "spec").Set("drivers", std::move(drivers));
  return csi_node;
}

Expected<Value> NamespaceManifest(const CreateNamespaces& operation, const std::string& name) {
  Value ns = Value::Map();
  if (operation.model) {
    BERTH_TRY(ns, operation.model->Object(0, 1));
  }
  ns.Set("kind", Value::Text("Namespace"));
  Part(ns, "metadata").Set("name", Value::Text(name));
  return ns;
}

// scheduler_perf labels only pods of templates.
Expected<Value> PodManifest(const CreatePods& operation, std::size_t index, std::size_t count) {
  if (!operation.model) return DefaultPod();
  BERTH_TRY(Value pod, operation.model->Object(index, count));
  Part(Part(pod, "metadata"), "labels")
      .Set("signature", Value::Text(fmt::format("signature-label-{}", index / operation.signature_batch)));
  return pod;
}

Expected<VolumeManifests> ManifestsOfVolume(const CreatePods& operation, std::size_t index) {
  BERTH_TRY(Value volume, operation.volume->Object(index, operation.count));
  BERTH_TRY(Value claim, operation.claim->Object(index, operation.count));
  const std::string volume_name = fmt::format("{}-vol-{}", operation.ns, index);
  Part(volume, "metadata").Set("name", Value::Text(volume_name));
  Value& spec = Part(volume, "spec");
  if (spec.Find("csi") != nullptr) Part(spec, "csi").Set("volumeHandle", Value::Text(volume_name));
  if (spec.Find("awsElasticBlockStore") != nullptr)
    Part(spec, "awsElasticBlockStore").Set("volumeID", Value::Text(fmt::format("vol-{}", index)));
  Value& reference = Part(spec, "claimRef");
  reference.Set("namespace", Value::Text(operation.ns));
  reference.Set("name", Value::Text(ClaimName(index)));
  Part(volume, "status").Set("phase", Value::Text("Bound"));
  Part(claim, "metadata").Set("name", Value::Text(ClaimName(index)));
  Part(claim, "spec").Set("volumeName", Value::Text(volume_name));
  Part(claim, "status").Set("phase", Value::Text("Bound"));
  return VolumeManifests{.volume = std::move(volume), .claim = std::move(claim)};
}

void UseClaim(Value& pod, std::size_t index) {
  Value volume = Value::Map();
  volume.Set("name", Value::Text("vol"));
  Part(volume, "persistentVolumeClaim").Set("claimName", Value::Text(ClaimName(index)));
  Part(pod, "spec").Set("volumes", Value::List()).items.push_back(std::move(volume));
}

Value AllocatingPodManifest(const std::string& scheduler, const std::string& claim,
                            const api::Labels& labels) {
  Value pod =
      ParsedObject("{kind: Pod, metadata: {generateName: allocate-}, spec: {containers: [{name: c}]}}");
  Value& marks = Part(Part(pod, "metadata"), "labels");
  for (const auto& [key, value] : labels) marks.Set(key, Value::Text(value));
  Value reference = Value::Map();
  reference.Set("name", Value::Text("claim"));
  reference.Set("resourceClaimName", Value::Text(claim));
  Value& spec = Part(pod, "spec");
  spec.Set("schedulerName", Value::Text(scheduler));
  spec.Set("resourceClaims", Value::List()).items.push_back(std::move(reference));
  return pod;
}

}  // namespace berth::scheduler_perf
