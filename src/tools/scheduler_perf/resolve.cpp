// Fills the parameters of a workload into the operations of its test case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/go_duration.hpp"
#include "base/nearest.hpp"
#include "base/yaml_fields.hpp"
#include "tools/scheduler_perf/test_file.hpp"

namespace berth::scheduler_perf {
namespace {

using yaml::FieldErrors;
using yaml::Fields;
using yaml::Value;

// The value of a workload's parameter for a field such as countParam: "$initPods".
class Parameters {
 public:
  explicit Parameters(const TestWorkload& workload) : workload_(workload) {}

  // Null after an error.
  const Value* Find(Fields& fields, std::string_view field) {
    const std::string reference = fields.Text(field);
    if (!reference.starts_with('$')) {
      fields.Add(field, fmt::format("expected a parameter such as \"$count\", got \"{}\"", reference));
      return nullptr;
    }
    const Value* value = Take(reference.substr(1));
    if (value == nullptr) fields.Add(field, Missing(reference.substr(1)));
    return value;
  }
  // Null: not defined.
  const Value* Take(const std::string& name) {
    const Value* value = workload_.parameters.Find(name);
    if (value != nullptr) used_.insert(name);
    return value;
  }
  std::string Missing(const std::string& name) const {
    const std::string nearest = Nearest(name, Names());
    return fmt::format("workload \"{}\" does not define the parameter \"{}\"{}", workload_.name, name,
                       nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
  }
  std::vector<std::string> Unused() const {
    std::vector<std::string> names = Names();
    std::erase_if(names, [&](const std::string& name) { return used_.contains(name); });
    return names;
  }

 private:
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : workload_.parameters.members) names.push_back(name);
    return names;
  }

  const TestWorkload& workload_;
  std::set<std::string> used_;
};

class TestResolver {
 public:
  TestResolver(const TestCase& test, const TestWorkload& workload, TemplateFiles& templates)
      : case_(test), workload_(workload), parameters_(workload), templates_(templates) {}

  Expected<PerformanceTest> Resolve() {
    test_.name = case_.name + "/" + workload_.name;
    test_.scheduler_config = case_.scheduler_config;
    AddGates();
    for (std::size_t i = 0; i < case_.operations.size() && errors_.empty(); ++i)
      ReadOperation(case_.operations[i], fmt::format("{}.workloadTemplate[{}]", case_.path, i));
    if (errors_.empty()) CheckSize();
    if (!errors_.empty()) return std::unexpected(errors_.ToError());
    if (const auto unused = parameters_.Unused(); !unused.empty())
      test_.notes.push_back(fmt::format("no operation uses the parameter{} {}", unused.size() == 1 ? "" : "s",
                                        fmt::join(unused, ", ")));
    return std::move(test_);
  }

 private:
  using Reader = void (TestResolver::*)(Fields&);
  struct Opcode {
    std::string_view name;
    Reader read;
  };
  static const std::vector<Opcode>& Opcodes();

  // Those of the workload override those of the case.
  void AddGates() {
    std::map<std::string, bool> gates;
    for (const auto& [name, on] : case_.gates) gates[name] = on;
    for (const auto& [name, on] : workload_.gates) gates[name] = on;
    for (const auto& [name, on] : gates) test_.feature_gates.push_back(fmt::format("{}={}", name, on));
  }

  void ReadOperation(const Value& value, const std::string& path) {
    Fields fields(value, path, errors_);
    const std::string name = fields.Text("opcode");
    const auto found = std::ranges::find(Opcodes(), name, &Opcode::name);
    if (found != Opcodes().end()) {
      opcode_ = name;
      (this->*found->read)(fields);
      return fields.Finish();
    }
    std::vector<std::string> known;
    for (const Opcode& opcode : Opcodes()) known.emplace_back(opcode.name);
    const std::string nearest = Nearest(name, known);
    fields.Add("opcode", fmt::format("expected one of {}, got \"{}\"{}", fmt::join(known, ", "), name,
                                     nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
  }
  template <class Action>
  void Add(Action action) {
    test_.operations.push_back({opcode_, std::move(action)});
  }

  // --- fields ---
  std::size_t Count(Fields& fields, std::size_t most, std::size_t otherwise = 0) {
    const bool parameter = fields.Has("countParam");
    const auto given =
        fields.Integer("count", 0, static_cast<std::int64_t>(most), static_cast<std::int64_t>(otherwise));
    fields.Take("countParam");
    if (!parameter) return static_cast<std::size_t>(given);
    return Whole(fields, "countParam", parameters_.Find(fields, "countParam"), most);
  }
  // The value of a parameter.
  static std::size_t Whole(Fields& fields, std::string_view field, const Value* value, std::size_t most) {
    if (value == nullptr) return 0;
    std::int64_t number = -1;
    const char* const end = value->text.data() + value->text.size();
    const auto read = std::from_chars(value->text.data(), end, number);
    if (value->kind == Value::Kind::kNumber && read.ptr == end && number >= 0 &&
        number <= static_cast<std::int64_t>(most))
      return static_cast<std::size_t>(number);
    fields.Add(field, fmt::format("expected the parameter to be a whole number from 0 to {}, got {}", most,
                                  value->text.empty() ? "another value" : value->text.substr(0, 100)));
    return 0;
  }
  Duration Time(Fields& fields) {
    const Duration given = fields.Time("duration", {});
    const bool parameter = fields.Has("durationParam");
    fields.Take("durationParam");
    const Value* value = parameter ? parameters_.Find(fields, "durationParam") : nullptr;
    if (value == nullptr) return CheckTime(fields, given);
    const auto parsed = value->kind == Value::Kind::kString ? ParseGoDuration(value->text) : std::nullopt;
    if (parsed && *parsed >= Duration::zero()) return CheckTime(fields, *parsed);
    fields.Add("durationParam",
               fmt::format("expected the parameter to be a duration such as \"10s\", got \"{}\"",
                           value->text.substr(0, 100)));
    return {};
  }
  static Duration CheckTime(Fields& fields, Duration time) {
    if (time > kLongestOperation) fields.Add("duration", "expected at most 24h");
    return std::min(time, kLongestOperation);
  }
  bool Flag(Fields& fields, std::string_view field, std::string_view param_field) {
    const bool given = fields.Bool(field, false);
    const bool parameter = fields.Has(param_field);
    fields.Take(param_field);
    const Value* value = parameter ? parameters_.Find(fields, param_field) : nullptr;
    if (value == nullptr) return given;
    if (value->kind != Value::Kind::kBool)
      fields.Add(param_field, "expected the parameter to be true or false");
    return value->text == "true";
  }
  std::optional<ObjectTemplate> Template(Fields& fields, std::string_view field) {
    const std::string path = fields.Text(field);
    if (path.empty()) return std::nullopt;
    auto loaded = templates_.Load(path);
    if (loaded) return *std::move(loaded);
    fields.Add(field, loaded.error().message);
    return std::nullopt;
  }
  ObjectTemplate RequiredTemplate(Fields& fields) {
    auto loaded = Template(fields, "templatePath");
    if (!loaded && !fields.Has("templatePath")) fields.Add("templatePath", "required");
    return loaded ? *std::move(loaded) : ObjectTemplate();
  }
  // "$name" is a parameter of the workload, "$name|default" one with a default in YAML.
  Value TemplateParameters(Fields& fields) {
    const Value* given = fields.Take("templateParams");
    Value resolved = Value::Map();
    if (given == nullptr) return resolved;
    if (given->kind != Value::Kind::kMap) fields.Add("templateParams", "expected an object");
    for (const auto& [name, value] : given->members)
      resolved.Set(name, TemplateParameter(fields, name, value));
    return resolved;
  }
  Value TemplateParameter(Fields& fields, const std::string& name, const Value& value) {
    if (value.kind != Value::Kind::kString || !value.text.starts_with('$')) return value;
    const std::size_t bar = value.text.find('|');
    const std::string parameter = value.text.substr(1, bar == std::string::npos ? bar : bar - 1);
    if (const Value* found = parameters_.Take(parameter)) return *found;
    const std::string field = "templateParams." + name;
    if (bar == std::string::npos) {
      fields.Add(field, parameters_.Missing(parameter));
      return {};
    }
    auto otherwise = yaml::ParseValue(value.text.substr(bar + 1));
    if (otherwise) return *std::move(otherwise);
    fields.Add(field, otherwise.error().message);
    return {};
  }
  api::Labels Selector(Fields& fields) {
    api::Labels labels;
    const Value* given = fields.Take("labelSelector");
    if (given == nullptr) return labels;
    Fields members(*given, fields.PathOf("labelSelector"), errors_);
    for (const auto& [name, value] : given->members) labels.Set(name, members.Text(name));
    return labels;
  }
  // Unnamed namespaces have the number of the operation.
  std::string Namespace(Fields& fields) {
    return fields.Text("namespace", fmt::format("namespace-{}", test_.operations.size()));
  }
  std::string RequiredNamespace(Fields& fields) {
    std::string ns = fields.Text("namespace");
    if (ns.empty()) fields.Add("namespace", "required");
    return ns;
  }
  std::size_t PerSecond(Fields& fields, std::string_view field) {
    constexpr std::int64_t kMost = 1'000'000;
    return static_cast<std::size_t>(fields.Integer(field, 0, kMost, 0));
  }

  // --- operations ---
  void ReadCreateNodes(Fields& fields) {
    CreateNodes nodes;
    nodes.count = Count(fields, kMostNodes);
    nodes.model = Template(fields, "nodeTemplatePath");
    Value parameters = TemplateParameters(fields);
    if (nodes.model) nodes.model->parameters = std::move(parameters);
    if (const Value* strategy = fields.Take("nodeAllocatableStrategy")) {
      Fields of(*strategy, fields.PathOf("nodeAllocatableStrategy"), errors_);
      if (const Value* amounts = of.Take("nodeAllocatable")) nodes.allocatable = *amounts;
      const Value* drivers = of.Take("csiNodeAllocatable");
      nodes.csi_allocatable = drivers == nullptr ? Value::Map() : *drivers;
      nodes.migrated_plugins = of.Texts("migratedPlugins");
      of.Finish();
    }
    if (const Value* strategy = fields.Take("labelNodePrepareStrategy")) {
      Fields of(*strategy, fields.PathOf("labelNodePrepareStrategy"), errors_);
      nodes.label_key = of.Text("labelKey");
      nodes.label_values = of.Texts("labelValues");
      if (nodes.label_values.empty()) of.Add("labelValues", "required: at least one value");
      of.Finish();
    }
    if (const Value* strategy = fields.Take("uniqueNodeLabelStrategy")) {
      Fields of(*strategy, fields.PathOf("uniqueNodeLabelStrategy"), errors_);
      nodes.label_key = of.Text("labelKey");
      of.Finish();
    }
    Add(std::move(nodes));
  }
  void ReadCreateNamespaces(Fields& fields) {
    CreateNamespaces namespaces;
    namespaces.count = Count(fields, kMostPods);
    namespaces.prefix = fields.Text("prefix");
    namespaces.model = Template(fields, "namespaceTemplatePath");
    Add(std::move(namespaces));
  }
  CreatePods ReadPods(Fields& fields) {
    CreatePods pods;
    pods.count = Count(fields, kMostPods);
    if (fields.Has("countMultiplierParam")) {
      pods.count *=
          Whole(fields, "countMultiplierParam", parameters_.Find(fields, "countMultiplierParam"), kMostPods);
      if (pods.count > kMostPods)
        fields.Add("countMultiplierParam",
                   fmt::format("expected at most {} pods, got {}", kMostPods, pods.count));
    }
    fields.Take("countMultiplierParam");
    pods.ns = Namespace(fields);
    pods.model = Template(fields, "podTemplatePath");
    if (!pods.model && !fields.Has("podTemplatePath") && !case_.pod_template.empty()) {
      auto loaded = templates_.Load(case_.pod_template);
      if (loaded)
        pods.model = *std::move(loaded);
      else
        errors_.Add(case_.path + ".defaultPodTemplatePath", loaded.error().message);
    }
    Value parameters = TemplateParameters(fields);
    if (pods.model) pods.model->parameters = std::move(parameters);
    pods.volume = Template(fields, "persistentVolumeTemplatePath");
    pods.claim = Template(fields, "persistentVolumeClaimTemplatePath");
    if (pods.claim && !pods.volume)
      fields.Add("persistentVolumeTemplatePath", "required beside persistentVolumeClaimTemplatePath");
    pods.signature_batch = SignatureBatch(fields);
    pods.measured = fields.Bool("collectMetrics", false);
    pods.waits = !fields.Bool("skipWaitToCompletion", false);
    const Duration time = Time(fields);
    if (Flag(fields, "steadyState", "steadyStateParam")) pods.steady = time;
    if (pods.measured && !pods.waits) fields.Add("collectMetrics", "excludes skipWaitToCompletion");
    if (pods.steady && !pods.waits) fields.Add("steadyState", "excludes skipWaitToCompletion");
    if (pods.steady && time == Duration::zero()) fields.Add("duration", "steadyState needs more than 0s");
    return pods;
  }
  std::size_t SignatureBatch(Fields& fields) {
    const auto given = static_cast<std::size_t>(
        fields.Integer("signatureBatchSize", 0, static_cast<std::int64_t>(kMostPods), 0));
    const bool parameter = fields.Has("signatureBatchSizeParam");
    fields.Take("signatureBatchSizeParam");
    const std::size_t size = parameter ? Whole(fields, "signatureBatchSizeParam",
                                               parameters_.Find(fields, "signatureBatchSizeParam"), kMostPods)
                                       : given;
    return std::max<std::size_t>(size, 1);
  }
  void ReadCreatePods(Fields& fields) { Add(ReadPods(fields)); }
  void ReadCreatePodSets(Fields& fields) {
    const std::size_t count = Count(fields, kMostOperations);
    const std::string prefix = fields.Text("namespacePrefix");
    const Value* operation = fields.Take("createPodsOp");
    if (operation == nullptr) return fields.Add("createPodsOp", "required: the fields of createPods");
    Fields of(*operation, fields.PathOf("createPodsOp"), errors_);
    of.Text("opcode");
    CreatePods pods = ReadPods(of);
    of.Finish();
    for (std::size_t i = 0; i < count; ++i) {
      pods.ns = fmt::format("{}-{}", prefix, i);
      Add(pods);
    }
  }
  void ReadCreatePodGroups(Fields& fields) {
    CreatePodGroups groups;
    groups.count = Count(fields, kMostPods);
    groups.ns = RequiredNamespace(fields);
    groups.model = RequiredTemplate(fields);
    groups.model.parameters = TemplateParameters(fields);
    if (groups.count == 0) fields.Add("count", "expected at least 1");
    Add(std::move(groups));
  }
  void ReadCreateAny(Fields& fields) {
    CreateObjects objects;
    objects.count = Count(fields, kMostPods, 1);
    objects.ns = fields.Text("namespace");
    objects.model = RequiredTemplate(fields);
    objects.model.parameters = TemplateParameters(fields);
    Add(std::move(objects));
  }
  void ReadCreateClaims(Fields& fields) {
    CreateObjects objects;
    objects.count = Count(fields, kMostPods);
    objects.ns = RequiredNamespace(fields);
    objects.model = RequiredTemplate(fields);
    Add(std::move(objects));
  }
  void ReadUpdateAny(Fields& fields) {
    UpdateObjects objects;
    objects.count = Count(fields, kMostPods, 1);
    objects.ns = fields.Text("namespace");
    objects.model = RequiredTemplate(fields);
    objects.per_second = PerSecond(fields, "updatePerSecond");
    fields.Texts("subresources");
    Add(std::move(objects));
  }
  void ReadDeletePods(Fields& fields) {
    DeletePods pods;
    pods.ns = RequiredNamespace(fields);
    pods.labels = Selector(fields);
    pods.per_second = PerSecond(fields, "deletePodsPerSecond");
    pods.waits = !fields.Bool("skipWaitToCompletion", false);
    Add(std::move(pods));
  }
  void ReadChurn(Fields& fields) {
    Churn churn;
    churn.recreates = fields.Choice("mode", {"create", "recreate"}) == "recreate";
    churn.number =
        static_cast<std::size_t>(fields.Integer("number", 0, static_cast<std::int64_t>(kMostPods), 0));
    constexpr std::int64_t kDay = 86'400'000;
    churn.interval = std::chrono::milliseconds(fields.Integer("intervalMilliseconds", 1, kDay, 500));
    churn.ns = Namespace(fields);
    for (const std::string& path : fields.Texts("templatePaths")) {
      auto loaded = templates_.Load(path);
      if (loaded)
        churn.models.push_back(*std::move(loaded));
      else
        fields.Add("templatePaths", loaded.error().message);
    }
    if (churn.recreates && churn.number == 0) fields.Add("number", "mode recreate needs at least 1");
    if (!fields.Has("templatePaths")) fields.Add("templatePaths", "required: at least one file");
    Add(std::move(churn));
  }
  void ReadBarrier(Fields& fields) {
    Barrier barrier;
    barrier.namespaces = fields.Texts("namespaces");
    barrier.labels = Selector(fields);
    barrier.attempted = fields.Choice("stageRequirement", {"Scheduled", "Attempted"}) == "Attempted";
    Add(std::move(barrier));
  }
  void ReadSleep(Fields& fields) { Add(Sleep{Time(fields)}); }
  void ReadStart(Fields& fields) {
    StartMeasuring start;
    start.name = fields.Text("name");
    start.namespaces = fields.Texts("namespaces");
    start.labels = Selector(fields);
    if (start.namespaces.empty()) fields.Add("namespaces", "required: at least one namespace");
    Add(std::move(start));
  }
  void ReadStop(Fields&) { Add(StopMeasuring()); }
  void ReadProfile(Fields& fields) {
    fields.Text("type");
    fields.Text("filePath");
    Add(Ignored());
  }
  void ReadAllocateClaims(Fields& fields) { Add(AllocateClaims{fields.Text("namespace")}); }

  // The sums of all operations, which bound the memory of a run.
  void CheckSize() {
    std::size_t nodes = 0, others = 0;
    for (const Operation& operation : test_.operations) {
      if (const auto* create = std::get_if<CreateNodes>(&operation.action)) nodes += create->count;
      if (const auto* create = std::get_if<CreatePods>(&operation.action)) others += create->count;
      if (const auto* create = std::get_if<CreateObjects>(&operation.action)) others += create->count;
      if (const auto* create = std::get_if<CreatePodGroups>(&operation.action)) others += create->count;
      if (const auto* create = std::get_if<CreateNamespaces>(&operation.action)) others += create->count;
    }
    const std::string path = case_.path + ".workloadTemplate";
    if (nodes > kMostNodes)
      errors_.Add(path, fmt::format("expected at most {} nodes, got {}", kMostNodes, nodes));
    if (others > kMostPods)
      errors_.Add(path, fmt::format("expected at most {} pods and objects, got {}", kMostPods, others));
    if (test_.operations.size() > kMostOperations)
      errors_.Add(path, fmt::format("expected at most {} operations with each pod set, got {}",
                                    kMostOperations, test_.operations.size()));
  }

  const TestCase& case_;
  const TestWorkload& workload_;
  Parameters parameters_;
  TemplateFiles& templates_;
  FieldErrors errors_;
  PerformanceTest test_;
  std::string opcode_;
};

const std::vector<TestResolver::Opcode>& TestResolver::Opcodes() {
  static const std::vector<Opcode> kOpcodes{
      {"allocResourceClaims", &TestResolver::ReadAllocateClaims},
      {"barrier", &TestResolver::ReadBarrier},
      {"churn", &TestResolver::ReadChurn},
      {"createAny", &TestResolver::ReadCreateAny},
      {"createNamespaces", &TestResolver::ReadCreateNamespaces},
      {"createNodes", &TestResolver::ReadCreateNodes},
      {"createPods", &TestResolver::ReadCreatePods},
      {"createPodGroups", &TestResolver::ReadCreatePodGroups},
      {"createPodSets", &TestResolver::ReadCreatePodSets},
      {"createResourceClaims", &TestResolver::ReadCreateClaims},
      {"deletePods", &TestResolver::ReadDeletePods},
      {"sleep", &TestResolver::ReadSleep},
      {"startCollectingMetrics", &TestResolver::ReadStart},
      {"startCollectingProfile", &TestResolver::ReadProfile},
      {"stopCollectingMetrics", &TestResolver::ReadStop},
      {"stopCollectingProfile", &TestResolver::ReadProfile},
      {"updateAny", &TestResolver::ReadUpdateAny},
  };
  return kOpcodes;
}

// The nearest name of a test: also of one whose case was given without the workload.
std::string NearestTest(std::string_view name, const std::vector<std::string>& names) {
  const auto begins = std::ranges::find_if(
      names, [&](const std::string& each) { return each.starts_with(std::string(name) + "/"); });
  return begins != names.end() ? *begins : Nearest(name, names);
}

}  // namespace

Expected<PerformanceTest> ResolveTest(const TestFile& file, std::string_view name, TemplateFiles& templates) {
  for (const TestCase& test : file.cases) {
    for (const TestWorkload& workload : test.workloads) {
      if (test.name + "/" + workload.name == name) return TestResolver(test, workload, templates).Resolve();
    }
  }
  const std::vector<std::string> names = file.Names();
  constexpr std::size_t kShown = 50;
  const std::string nearest = NearestTest(name, names);
  std::string text = fmt::format("expected the name of a test, got \"{}\"{}\nTests of the file:", name,
                                 nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += "\n  " + names[i];
  if (names.size() > kShown)
    text += fmt::format("\n  and {} more: --test list prints all", names.size() - kShown);
  return Invalid(std::move(text));
}

}  // namespace berth::scheduler_perf
