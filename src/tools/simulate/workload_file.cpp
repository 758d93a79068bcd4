#include "tools/simulate/workload_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "base/files.hpp"
#include "base/invisible_characters.hpp"
#include "base/yaml.hpp"
#include "base/yaml_fields.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/selectors.hpp"
#include "tools/simulate/traces.hpp"

namespace berth::simulate {
namespace {

using yaml::FieldErrors;
using yaml::Fields;
using yaml::Value;

class WorkloadReader {
 public:
  explicit WorkloadReader(std::string folder) : folder_(std::move(folder)) {}

  Expected<Workload> Read(const Value& root) {
    Fields file(root, "", errors_);
    ReadHead(file);
    file.ForEach("nodes", [&](const Value& item, const std::string& path) { ReadGroup(item, path); });
    file.ForEach("pods", [&](const Value& item, const std::string& path) { ReadKind(item, path); });
    file.ForEach("outages", [&](const Value& item, const std::string& path) { ReadOutage(item, path); });
    file.ForEach("objects", [&](const Value& item, const std::string& path) { ReadObject(item, path); });
    if (const Value* trace = file.Take("trace")) ReadTrace(*trace, file.PathOf("trace"));
    file.Finish();
    CheckWhole(file);
    if (!errors_.empty()) return std::unexpected(errors_.ToError());
    return std::move(workload_);
  }

 private:
  void ReadHead(Fields& file);
  void ReadGroup(const Value& value, const std::string& path);
  void ReadKind(const Value& value, const std::string& path);
  void ReadArrivals(const Value& value, const std::string& path, PodKind& kind);
  void ReadOutage(const Value& value, const std::string& path);
  void ReadObject(const Value& value, const std::string& path);
  void ReadClaimTemplate(const Value& value, const std::string& path);
  std::optional<api::ResourceSlice> ReadDevices(Fields& group);
  void ReadTrace(const Value& value, const std::string& path);
  void CheckWhole(Fields& file);
  void FindClaims(Fields& file);
  std::optional<Distribution> ReadLifetime(Fields& kind);
  std::optional<GroupShape> ReadGroup(Fields& kind);
  static std::string ReadLabelKey(Fields& fields, const char* name);
  api::Node ReadNodeModel(Fields& group, const std::string& path);
  api::Pod ReadPodModel(Fields& kind, const std::string& path);

  const std::string folder_;
  FieldErrors errors_;
  api::Decoder decoder_;
  Workload workload_;
  std::map<std::string, api::ResourceClaim> claim_templates_;  // by namespace and name
  bool duration_given_ = false;
};

void WorkloadReader::ReadHead(Fields& file) {
  file.Expect("apiVersion", kApiVersion);
  file.Expect("kind", "Workload");
  duration_given_ = file.Has("duration");
  workload_.duration = file.Time("duration", {}, std::chrono::seconds(1));
  workload_.eviction_after = file.Time("evictionAfter", workload_.eviction_after);
  const Value* latencies = file.Take("latencies");
  if (latencies == nullptr) return;
  Fields fields(*latencies, file.PathOf("latencies"), errors_);
  simulation::Latencies& to = workload_.latencies;
  to.watch = fields.Time("watch", to.watch);
  to.bind = fields.Time("bind", to.bind);
  to.patch = fields.Time("patch", to.patch);
  to.remove = fields.Time("delete", to.remove);
  to.termination = fields.Time("termination", to.termination);
  workload_.decision = fields.Time("decision", workload_.decision);
  fields.Finish();
}

// --- nodes ---

// A Node is composed and decoded as if it came from an API server, so that quantities, labels and taints have
// their usual forms and errors.
api::Node WorkloadReader::ReadNodeModel(Fields& group, const std::string& path) {
  Value metadata = Value::Map(), spec = Value::Map(), status = Value::Map(), node = Value::Map();
  metadata.Set("name", Value::Text("node"));
  if (const Value* labels = group.Take("labels")) metadata.Set("labels", *labels);
  if (const Value* taints = group.Take("taints")) spec.Set("taints", *taints);
  Value capacity = Value::Map();
  if (const Value* given = group.Take("capacity")) capacity = *given;
  if (capacity.kind == Value::Kind::kMap) {
    for (const auto* name : {"cpu", "memory"}) {
      if (capacity.Find(name) == nullptr)
        group.Add(fmt::format("capacity.{}", name), "required, for example \"16\"");
    }
    if (capacity.Find("pods") == nullptr) capacity.Set("pods", Value::Text("110"));
  }
  status.Set("capacity", capacity);
  status.Set("allocatable", std::move(capacity));
  node.Set("metadata", std::move(metadata));
  node.Set("spec", std::move(spec));
  node.Set("status", std::move(status));
  std::string json;
  yaml::AppendJson(json, node);
  auto decoded = decoder_.Object<api::Node>(json);
  if (!decoded) {
    errors_.Add(path, decoded.error().message);
    return {};
  }
  api::ApplyDefaults(*decoded);
  return *std::move(decoded);
}

// A ResourceSlice is composed and decoded in the same way. A device with a count stands for several that
// differ only in name.
std::optional<api::ResourceSlice> WorkloadReader::ReadDevices(Fields& group) {
  const Value* given = group.Take("devices");
  if (given == nullptr) return std::nullopt;
  const std::string path = group.PathOf("devices");
  Fields fields(*given, path, errors_);
  const std::string driver = fields.Text("driver");
  if (driver.empty()) fields.Add("driver", "required, for example gpu.example.com");
  Value devices = Value::List();
  fields.ForEach("list", [&](const Value& item, const std::string& at) {
    Fields device(item, at, errors_);
    const std::string name = device.Text("name");
    if (name.empty()) device.Add("name", "required");
    const bool counted = device.Has("count");
    const auto most = static_cast<std::int64_t>(Workload::kMostDevices);
    const std::int64_t count = device.Integer("count", 1, most, 1);
    Value object = Value::Map();
    for (const auto& [key, member] : item.members) {
      if (key == "count") continue;
      device.Take(key);
      object.Set(key, member);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (counted) object.Set("name", Value::Text(fmt::format("{}-{}", name, i)));
      devices.items.push_back(object);
    }
  });
  fields.Finish();
  if (devices.items.empty() || devices.items.size() > Workload::kMostDevices) {
    fields.Add("list", fmt::format("expected 1 to {} devices of a node, got {}", Workload::kMostDevices,
                                   devices.items.size()));
  }
  Value metadata = Value::Map(), pool = Value::Map(), spec = Value::Map(), slice = Value::Map();
  metadata.Set("name", Value::Text("node"));
  pool.Set("name", Value::Text("node"));
  spec.Set("driver", Value::Text(driver));
  spec.Set("nodeName", Value::Text("node"));
  spec.Set("pool", std::move(pool));
  spec.Set("devices", std::move(devices));
  slice.Set("metadata", std::move(metadata));
  slice.Set("spec", std::move(spec));
  std::string json;
  yaml::AppendJson(json, slice);
  auto decoded = decoder_.Object<api::ResourceSlice>(json);
  if (!decoded) {
    errors_.Add(path, decoded.error().message);
    return std::nullopt;
  }
  return *std::move(decoded);
}

// Of an item that needs a name other than those of the others.
template <class Item>
std::string ReadName(Fields& fields, const std::vector<Item>& others) {
  std::string name = fields.Text("name");
  if (name.empty()) fields.Add("name", "required");
  if (std::ranges::find(others, name, &Item::name) != others.end())
    fields.Add("name", fmt::format("\"{}\" occurs twice", name));
  return name;
}

void WorkloadReader::ReadGroup(const Value& value, const std::string& path) {
  Fields fields(value, path, errors_);
  NodeGroup group;
  group.name = ReadName(fields, workload_.groups);
  const auto most = static_cast<std::int64_t>(Workload::kMostNodes);
  group.count = static_cast<std::size_t>(fields.Integer("count", 0, most, 1));
  group.zones = fields.Texts("zones");
  group.model = ReadNodeModel(fields, path);
  group.devices = ReadDevices(fields);
  if (const Value* failures = fields.Take("failures")) {
    Fields of(*failures, fields.PathOf("failures"), errors_);
    group.failures.emplace();
    group.failures->mean_time_between =
        of.Time("meanTimeBetween", std::chrono::hours(720), std::chrono::seconds(1));
    group.failures->repair = of.Time("repair", std::chrono::minutes(15), std::chrono::milliseconds(1));
    of.Finish();
  }
  if (const Value* autoscaling = fields.Take("autoscaling")) {
    Fields of(*autoscaling, fields.PathOf("autoscaling"), errors_);
    NodeAutoscaling& to = group.autoscaling.emplace();
    to.least = static_cast<std::size_t>(of.Integer("min", 0, most, 0));
    to.most = static_cast<std::size_t>(
        of.Integer("max", static_cast<std::int64_t>(to.least), most, static_cast<std::int64_t>(group.count)));
    to.provision = of.Time("provision", to.provision);
    to.idle = of.Time("idle", to.idle, std::chrono::seconds(1));
    of.Finish();
  }
  fields.Finish();
  workload_.groups.push_back(std::move(group));
}

void WorkloadReader::ReadOutage(const Value& value, const std::string& path) {
  Fields fields(value, path, errors_);
  Outage outage;
  const std::string name = fields.Text("group");
  const auto group = std::ranges::find(workload_.groups, name, &NodeGroup::name);
  if (group == workload_.groups.end()) {
    std::string known;
    for (const NodeGroup& other : workload_.groups) known += (known.empty() ? "" : ", ") + other.name;
    fields.Add("group", fmt::format("expected the name of a node group ({}), got \"{}\"", known, name));
  } else {
    outage.group = static_cast<std::size_t>(group - workload_.groups.begin());
  }
  outage.count = static_cast<std::size_t>(
      fields.Integer("count", 1, static_cast<std::int64_t>(Workload::kMostNodes), 1));
  outage.at = fields.Time("at", {});
  outage.lasts = fields.Time("lasts", std::chrono::minutes(15), std::chrono::milliseconds(1));
  fields.Finish();
  workload_.outages.push_back(outage);
}

// --- pods ---

api::Pod WorkloadReader::ReadPodModel(Fields& kind, const std::string& path) {
  const Value* given = kind.Take("template");
  if (given == nullptr) {
    kind.Add("template", "required: metadata and spec of a pod");
    return {};
  }
  Fields fields(*given, kind.PathOf("template"), errors_);
  Value metadata = Value::Map();
  if (const Value* meta = fields.Take("metadata"); meta != nullptr && meta->kind == Value::Kind::kMap)
    metadata = *meta;
  const Value* spec = fields.Take("spec");
  fields.Finish();
  if (spec == nullptr) {
    fields.Add("spec", "required: a pod's spec");
    return {};
  }
  metadata.Set("name", Value::Text("pod"));
  Value pod = Value::Map();
  pod.Set("metadata", std::move(metadata));
  pod.Set("spec", *spec);
  std::string json;
  yaml::AppendJson(json, pod);
  auto decoded = decoder_.Object<api::Pod>(json);
  if (!decoded) {
    errors_.Add(kind.PathOf("template"), decoded.error().message);
    return {};
  }
  api::ApplyDefaults(*decoded);
  for (const api::Volume& volume : std::as_const(decoded->spec.volumes)) {
    if (volume.source == api::Volume::Source::kPersistentVolumeClaim ||
        volume.source == api::Volume::Source::kEphemeral)
      errors_.Add(path + ".template.spec.volumes",
                  fmt::format("volume \"{}\": claims are not simulated; remove the volume", volume.name));
  }
  return *std::move(decoded);
}

std::optional<Distribution> WorkloadReader::ReadLifetime(Fields& kind) {
  const Value* value = kind.Take("lifetime");
  if (value == nullptr) return std::nullopt;
  constexpr Duration kLeast = std::chrono::milliseconds(1);
  Distribution lifetime;
  if (value->kind == Value::Kind::kString) {
    lifetime.value = kind.Time("lifetime", kLeast, kLeast);
    return lifetime;
  }
  Fields fields(*value, kind.PathOf("lifetime"), errors_);
  const std::string name = fields.Choice("distribution", {"exponential", "uniform", "lognormal", "fixed"});
  const auto required = [&](std::string_view field) {
    if (!fields.Has(field)) fields.Add(field, fmt::format("required with distribution {}", name));
    return fields.Time(field, kLeast, kLeast);
  };
  if (name == "exponential") {
    lifetime.kind = Distribution::Kind::kExponential;
    lifetime.value = required("mean");
  } else if (name == "uniform") {
    lifetime.kind = Distribution::Kind::kUniform;
    lifetime.value = required("min");
    lifetime.most = required("max");
    if (lifetime.most < lifetime.value) fields.Add("max", "expected at least min");
  } else if (name == "lognormal") {
    lifetime.kind = Distribution::Kind::kLogNormal;
    lifetime.value = required("median");
    lifetime.sigma = fields.Real("sigma", 0, 10, 1);
  } else {
    lifetime.value = required("value");
  }
  fields.Finish();
  return lifetime;
}

std::optional<GroupShape> WorkloadReader::ReadGroup(Fields& kind) {
  const Value* value = kind.Take("group");
  if (value == nullptr) return std::nullopt;
  GroupShape shape;
  Fields group(*value, kind.PathOf("group"), errors_);
  group.ForEach("sizes", [&](const Value& item, const std::string& path) {
    Fields fields(item, path, errors_);
    GroupSize& size = shape.sizes.emplace_back();
    if (!fields.Has("members")) fields.Add("members", "required: the number of pods");
    const auto most = static_cast<std::int64_t>(Workload::kMostMembers);
    size.members = static_cast<std::uint32_t>(fields.Integer("members", 1, most, 1));
    size.weight = fields.Real("weight", 1e-6, 1e6, 1);
    fields.Finish();
  });
  if (shape.sizes.empty()) group.Add("sizes", "required: a list of members and weight");
  if (const Value* labels = group.Take("labels")) {
    Fields fields(*labels, group.PathOf("labels"), errors_);
    shape.name_label = ReadLabelKey(fields, "name");
    shape.size_label = ReadLabelKey(fields, "size");
    fields.Finish();
  }
  group.Finish();
  return shape;
}

std::string WorkloadReader::ReadLabelKey(Fields& fields, const char* name) {
  std::string key = fields.Text(name);
  if (!fields.Has(name)) return key;
  if (const std::string invalid = api::CheckLabelKey(key); !invalid.empty())
    fields.Add(name, fmt::format("expected the key of a label, got \"{}\": {}", key, invalid));
  return key;
}

void WorkloadReader::ReadArrivals(const Value& value, const std::string& path, PodKind& kind) {
  Fields fields(value, path, errors_);
  Arrivals arrivals;
  arrivals.at = fields.Times("at");
  std::ranges::sort(arrivals.at);
  arrivals.per_second = fields.Rate("rate");
  arrivals.every = fields.Time("every", {}, std::chrono::milliseconds(1));
  arrivals.count =
      static_cast<std::size_t>(fields.Integer("count", 1, static_cast<std::int64_t>(Workload::kMostPods), 1));
  arrivals.from = fields.Time("from", {});
  arrivals.until = fields.Time("until", Duration::max());
  const int forms = int{fields.Has("at")} + int{fields.Has("rate")} + int{fields.Has("every")};
  if (forms != 1) errors_.Add(path, "expected exactly one of at, rate, every");
  if (const Value* times = value.Find("at"); times != nullptr && times->items.empty())
    errors_.Add(path + ".at", "expected at least one time");
  if (fields.Has("at") && (fields.Has("from") || fields.Has("until")))
    errors_.Add(path, "from and until need rate or every");
  if (fields.Has("rate") && fields.Has("count")) errors_.Add(path, "count needs at or every");
  fields.Finish();
  kind.arrivals.push_back(std::move(arrivals));
}

void WorkloadReader::ReadKind(const Value& value, const std::string& path) {
  Fields fields(value, path, errors_);
  PodKind kind;
  kind.name = ReadName(fields, workload_.kinds);
  kind.model = ReadPodModel(fields, path);
  kind.lifetime = ReadLifetime(fields);
  kind.group = ReadGroup(fields);
  if (kind.group && kind.model.spec.pod_group)
    errors_.Add(path + ".template.spec.schedulingGroup", "the simulation sets it; remove the field");
  kind.recreate = fields.Bool("recreate", true);
  kind.recreate_after = fields.Time("recreateAfter", {});
  fields.ForEach("arrivals", [&](const Value& item, const std::string& at) { ReadArrivals(item, at, kind); });
  if (kind.arrivals.empty()) fields.Add("arrivals", "required: a list of at, rate or every");
  fields.Finish();
  workload_.kinds.push_back(std::move(kind));
}

// --- further objects ---

void WorkloadReader::ReadObject(const Value& value, const std::string& path) {
  const Value* kind = value.Find("kind");
  const std::string name = kind == nullptr ? "" : kind->text;
  if (name == "ResourceClaimTemplate") return ReadClaimTemplate(value, path);
  bool known = false;
  api::AllKinds::ForEach([&]<class T>() {
    if (T::kKind != name || std::same_as<T, api::Pod> || std::same_as<T, api::Node>) return;
    known = true;
    std::string json;
    yaml::AppendJson(json, value);
    auto decoded = decoder_.Object<T>(json);
    if (!decoded) return errors_.Add(path, decoded.error().message);
    api::ApplyDefaults(*decoded);
    workload_.objects.emplace_back(ports::Change<T>{nullptr, std::make_shared<const T>(*std::move(decoded))});
  });
  if (!known)
    errors_.Add(
        path + ".kind",
        fmt::format("expected a kind that the scheduler reads, except Node and Pod, got \"{}\"", name));
}

// The scheduler does not read templates: the simulation creates the claims of pods from them.
void WorkloadReader::ReadClaimTemplate(const Value& value, const std::string& path) {
  const Value* spec = value.Find("spec");
  const Value* claim_spec = spec == nullptr ? nullptr : spec->Find("spec");
  if (claim_spec == nullptr) return errors_.Add(path + ".spec.spec", "required: the spec of the claims");
  Value claim = Value::Map();
  if (const Value* metadata = value.Find("metadata")) claim.Set("metadata", *metadata);
  claim.Set("spec", *claim_spec);
  std::string json;
  yaml::AppendJson(json, claim);
  auto decoded = decoder_.Object<api::ResourceClaim>(json);
  if (!decoded) return errors_.Add(path, decoded.error().message);
  api::ApplyDefaults(*decoded);
  const std::string key = decoded->metadata.ns.str() + "/" + decoded->metadata.name;
  if (!claim_templates_.emplace(key, *std::move(decoded)).second)
    errors_.Add(path + ".metadata.name", fmt::format("template \"{}\" occurs twice", key));
}

// --- traces ---

void WorkloadReader::ReadTrace(const Value& value, const std::string& path) {
  Fields fields(value, path, errors_);
  TraceSource source;
  source.format = fields.Choice("format", TraceFormats());
  source.nodes = InFolder(folder_, fields.Text("nodes"));
  source.pods = InFolder(folder_, fields.Text("pods"));
  source.gpus = fields.Choice("gpus", {"whole", "milli", "devices"});
  source.order = fields.Choice("order", {"recorded", "shuffled"});
  source.interval = fields.Time("interval", std::chrono::seconds(1), std::chrono::milliseconds(1));
  source.seed = static_cast<std::uint64_t>(fields.Integer("seed", 0, INT64_MAX, 1));
  source.speed = fields.Real("speed", 0.001, 1e6, 1);
  source.recreate = fields.Bool("recreate", true);
  source.demand = fields.Real("demand", 0.01, 100, 0);
  if (fields.Has("demand") && source.order != "shuffled") fields.Add("demand", "needs order: shuffled");
  for (const auto* name : {"nodes", "pods"}) {
    if (!fields.Has(name)) fields.Add(name, "required: a CSV file");
  }
  fields.Finish();
  if (!errors_.empty()) return;
  if (auto added = AddTrace(source, workload_); !added) errors_.Add(path, added.error().message);
}

void WorkloadReader::CheckWhole(Fields& file) {
  std::size_t nodes = 0;
  for (const NodeGroup& group : workload_.groups)
    nodes += std::max(group.count, group.autoscaling ? group.autoscaling->most : 0);
  if (nodes > Workload::kMostNodes)
    file.Add("nodes", fmt::format("at most {} nodes, got {}", Workload::kMostNodes, nodes));
  if (workload_.groups.empty() && errors_.empty()) file.Add("nodes", "required: at least one node group");
  if (workload_.kinds.empty() && errors_.empty()) file.Add("pods", "required: at least one kind of pods");
  if (workload_.duration == Duration::zero() && errors_.empty())
    file.Add("duration", R"(required, for example "1h")");
  FindClaims(file);
  for (PodKind& kind : workload_.kinds) {
    for (Arrivals& arrivals : kind.arrivals) arrivals.until = std::min(arrivals.until, workload_.duration);
  }
}

// The claims of kinds from the file; those of a trace have theirs.
void WorkloadReader::FindClaims(Fields& file) {
  for (PodKind& kind : workload_.kinds) {
    for (const api::PodResourceClaim& reference : std::as_const(kind.model.spec.resource_claims)) {
      if (!reference.resource_claim_template_name) continue;
      const std::string& name = *reference.resource_claim_template_name;
      if (kind.claims.contains(name)) continue;
      const std::string key = kind.model.metadata.ns.str() + "/" + name;
      const auto found = claim_templates_.find(key);
      if (found == claim_templates_.end()) {
        file.Add("objects", fmt::format("pods \"{}\" need the ResourceClaimTemplate \"{}\"; there is none",
                                        kind.name, key));
      } else {
        kind.claims.emplace(name, found->second);
      }
    }
  }
}

}  // namespace

Expected<Workload> ReadWorkload(const Value& root, const std::string& folder) {
  return WorkloadReader(folder).Read(root);
}

Expected<Workload> ParseWorkload(std::string_view text, const std::string& folder) {
  BERTH_TRY(const Value root, yaml::ParseValue(text));
  return WithInvisibleCharacter(ReadWorkload(root, folder), text);
}

Expected<Workload> LoadWorkload(const std::string& path) {
  BERTH_TRY(const std::string text, ReadWholeFile(path));
  auto workload = ParseWorkload(text, FolderOf(path));
  if (!workload) return std::unexpected(std::move(workload).error().In(path));
  return workload;
}

}  // namespace berth::simulate
