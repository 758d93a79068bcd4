// The OpenAPI document and the responses have the same fields.
#include "process/scheduler_api_document.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "process/fake_scheduler_api.hpp"
#include "scheduler/explanation/explanation_json.hpp"
#include "scheduler/introspection/node_json.hpp"
#include "scheduler/introspection/report_json.hpp"
#include "scheduler/record/group_record.hpp"

namespace berth::process {
namespace {

namespace json = boost::json;
using berth::testing::MakeNode;
using berth::testing::MakePod;

// Compares values with schemas of the document, and collects the properties that occurred. Knows the keywords
// that the document uses, and fails at others.
class SchemaCheck {
 public:
  explicit SchemaCheck(const json::object& document)
      : schemas_(document.at("components").at("schemas").as_object()) {}

  void Check(const json::value& value, const json::value& schema, const std::string& where) {
    const json::object& object = schema.as_object();
    if (const json::value* reference = object.if_contains("$ref")) {
      const std::string name = NameOf(*reference);
      ASSERT_TRUE(schemas_.contains(name)) << where << ": " << name;
      const json::object& named = schemas_.at(name).as_object();
      return named.contains("properties") ? CheckObject(value, named, name, where)
                                          : Check(value, named, where);
    }
    for (const auto& [keyword, content] : object)
      ASSERT_TRUE(kKeywords.contains(std::string(keyword))) << where << ": " << keyword;
    const json::string& type = object.at("type").as_string();
    if (type == "array") {
      ASSERT_TRUE(value.is_array()) << where;
      for (const json::value& item : value.as_array()) Check(item, object.at("items"), where + "[]");
    } else if (type == "object") {
      EXPECT_TRUE(value.is_object() && object.at("additionalProperties").as_bool()) << where;
    } else if (type == "string") {
      ASSERT_TRUE(value.is_string()) << where;
      CheckText(value, object, where);
    } else if (type == "integer") {
      EXPECT_TRUE(value.is_int64()) << where;
    } else if (type == "number") {
      EXPECT_TRUE(value.is_number()) << where;
    } else {
      EXPECT_TRUE(type == "boolean" && value.is_bool()) << where;
    }
  }

  // The properties of the document that did not occur: "Pod.queue".
  std::set<std::string> Missing() const {
    std::set<std::string> missing;
    for (const auto& [name, schema] : schemas_) {
      const json::value* properties = schema.as_object().if_contains("properties");
      if (properties == nullptr) continue;
      for (const auto& [property, content] : properties->as_object()) {
        std::string key = fmt::format("{}.{}", std::string_view(name), std::string_view(property));
        if (!seen_.contains(key)) missing.insert(std::move(key));
      }
    }
    return missing;
  }
  static std::string NameOf(const json::value& reference) {
    const std::string text(reference.as_string());
    return text.substr(text.rfind('/') + 1);
  }

 private:
  static inline const std::set<std::string> kKeywords{"type", "format", "description",
                                                      "enum", "items",  "additionalProperties"};

  static void CheckText(const json::value& value, const json::object& schema, const std::string& where) {
    if (const json::value* values = schema.if_contains("enum")) {
      const json::array& all = values->as_array();
      EXPECT_NE(std::ranges::find(all, value), all.end()) << where << ": " << value;
    }
    if (schema.contains("format")) {
      EXPECT_EQ(schema.at("format").as_string(), "date-time") << where;
      const std::string text(value.as_string());
      EXPECT_EQ(text.size(), std::string_view("2026-01-02T03:04:05.000000Z").size()) << where << ": " << text;
      EXPECT_TRUE(text.ends_with('Z')) << where << ": " << text;
    }
  }
  void CheckObject(const json::value& value, const json::object& schema, const std::string& name,
                   const std::string& where) {
    ASSERT_TRUE(value.is_object()) << where;
    EXPECT_FALSE(schema.at("additionalProperties").as_bool()) << name;
    const json::object& properties = schema.at("properties").as_object();
    for (const auto& [key, content] : value.as_object()) {
      const std::string property = fmt::format("{}.{}", name, std::string_view(key));
      ASSERT_TRUE(properties.contains(key)) << where << ": " << property << " is not in the document";
      seen_.insert(property);
      Check(content, properties.at(key), where + "." + std::string(key));
    }
    const json::value* required = schema.if_contains("required");
    if (required == nullptr) return;
    for (const json::value& key : required->as_array())
      EXPECT_TRUE(value.as_object().contains(key.as_string())) << where << ": " << key << " is required";
  }

  const json::object& schemas_;
  std::set<std::string> seen_;
};

class SchedulerApiDocumentTest : public ::testing::Test {
 protected:
  // The value itself, or what it refers to: "#/components/responses/NotFound".
  const json::value& Resolve(const json::value& value) const {
    const json::value* reference = value.as_object().if_contains("$ref");
    return reference == nullptr ? value : document_.at_pointer(std::string(reference->as_string()).substr(1));
  }
  // Of the only method of the path.
  static const json::object& Operation(const json::value& path) {
    const json::object& methods = path.as_object();
    EXPECT_EQ(methods.size(), 1u);
    return methods.begin()->value().as_object();
  }
  const json::value& SchemaOf(const std::string& path, const char* status = "200") const {
    const json::value& responses = Operation(document_.at("paths").as_object().at(path)).at("responses");
    return Resolve(responses.at(status)).at("content").at("application/json").at("schema");
  }
  json::value Response(const std::string& path, int status = 200, const char* method = "GET") {
    const http::Response response = fake_.Get(path, {}, method);
    EXPECT_EQ(response.status, status) << path;
    return json::parse(*response.body);
  }
  void CheckText(const std::string& text, const char* schema) {
    check_.Check(json::parse(text), json::object{{"$ref", std::string("#/components/schemas/") + schema}},
                 schema);
  }

  void FillCluster() {
    api::Node small = MakeNode("small").Cpu("1").Memory("8Gi").Taint("gpu", "true", "NoSchedule");
    small.metadata.uid = "uid-of-small";
    small.conditions = {{"Ready", "True"}};
    fake_.Add(std::make_shared<const api::Node>(small));
    fake_.Add(MakeNode("large").Cpu("4").Memory("64Gi").Label("disk", "ssd").Share());
    fake_.Add(MakePod("bound").Cpu("1").Memory("1Gi").OnNode("large").Share());
    fake_.Add(MakePod("web").Cpu("500m").Memory("1Gi").Tolerating("gpu", "Exists").Share());
    auto big = MakePod("big").Cpu("3");
    big.raw().metadata.controller =
        api::OwnerReference{.api_version = "apps/v1", .kind = "StatefulSet", .name = "db", .uid = "u"};
    big.raw().status.nominated_node_name = "large";
    fake_.Add(big.Share());
    fake_.run.Wait(std::chrono::minutes(6));  // a second attempt
    fake_.Add(MakePod("gated").Gate("quota").Share());
    fake_.Add(MakePod("missing").Selecting("disk", "sdd").Share());
  }
  // What a small cluster does not show.
  void CheckRareFields();

  const json::value document_ = json::parse(SchedulerApiDocument());
  SchemaCheck check_{document_.as_object()};
  FakeSchedulerApi fake_;
};

void SchedulerApiDocumentTest::CheckRareFields() {
  CheckText(ReloadJson({.result = ReloadResult::kRefused,
                        .message = "2 of the last 3 decisions would differ",
                        .at = {},
                        .preview = evaluation::PreviewReport{.compared = 3,
                                                             .changed = 1,
                                                             .examples = {{"default/web", "small", "large"}},
                                                             .left_out = {"extender http://e"}}}),
            "Reload");
  CheckText(R"({"file":"f","sha256":"a","since":"2026-01-02T03:04:05.000000Z","formerSha256":"b",)"
            R"("lastReload":{"result":"applied","at":"2026-01-02T03:04:05.000000Z"}})",
            "Configuration");
  auto attempt = std::make_unique<record::DetachedRecord>();
  attempt->record.result = record::Result::kUnschedulable;
  attempt->record.sampled = true;
  attempt->record.post_filter = "preemption: 0/1 nodes are available";
  attempt->record.nomination = record::Nomination{"large", {"default/low"}, {}};
  record::GroupRecord group{.group = "default/ring",
                            .result = record::Result::kUnschedulable,
                            .message = "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining"};
  group.failures = {{"default/q", "0/1 nodes are available"}};
  group.tree = std::make_shared<const record::GroupTreeRecord>(
      record::GroupTreeRecord{.groups = {{.name = "default/root",
                                          .composite = true,
                                          .verdict = record::GroupTreeRecord::Verdict::kFails,
                                          .message = "minCount (1) cannot be satisfied",
                                          .reasons = {{"0/1 nodes are available", 1}}}},
                              .more_groups = 1,
                              .fails_at = "default/ring"});
  attempt->record.group = std::make_shared<const record::GroupRecord>(std::move(group));
  introspection::PodReport pod{
      .ns = "default",
      .name = "p",
      .uid = "u",
      .scheduler_name = "default-scheduler",
      .group = "default/ring",
      .nominated_node = "large",
      .stage = introspection::PodStage::kQueued,
      .queued =
          introspection::QueuedReport{.place = "active",
                                      .since = {},
                                      .first_ready = WallTime{},
                                      .next_retry = WallTime{},
                                      .rejected_by = {"A"},
                                      .waiting_for = {"B"},
                                      .gated_by = "C",
                                      .woken_by = {{"A", {"Node: Add"}}},
                                      .tenant = queue::TenantPlace{.own = {"a", 0.5, "cpu", 1, 1, 0, {}},
                                                                   .before = {{"b", 0, "", 1, 2, 0, {}}},
                                                                   .tenants_before = 1}},
      .attempts = {},
      .more_attempts = 3};
  pod.attempts.push_back({WallTime{}, std::move(attempt)});
  CheckText(PodJson(pod, introspection::PodView::kNodes), "Pod");

  introspection::NodesReport nodes;
  nodes.resources = {"cpu"};
  nodes.measurements = {{"cpu", "fresh", WallTime{}}};
  nodes.nodes = {{MakeNode("n").Share(), 1, {{4, 1}}, {0.5}}};
  CheckText(NodesJson(nodes, {}), "Nodes");
  introspection::PluginsReport plugins;
  plugins.profiles.emplace_back().plugins = {{"A", "Filter", 10, 0.5}};  // the clock of the fake stands still
  CheckText(PluginsJson(plugins), "Plugins");
  introspection::PreemptionsReport preemptions;
  preemptions.preemptions = {{"default/p", WallTime{}, "preemption: ", "n", {"default/low"}, 1}};
  preemptions.more = 1;
  CheckText(PreemptionsJson(preemptions), "Preemptions");

  introspection::NodeReport node;
  node.node = MakeNode("n").Share();
  node.pod_count = introspection::kMostPodsOnNode + 1;
  node.nominated = {"default/p"};
  node.rejections[{"A", "too small"}] = {.pods = {{"default/p", WallTime{}}}, .more_pods = 2, .last = {}};
  CheckText(NodeJson(node, introspection::NodeView::kPods), "Node");

  explanation::Explanation explained{.pod = "default/p", .owner = "StatefulSet default/db", .bound_to = "n"};
  auto record = std::make_shared<record::AttemptRecord>();
  record->result = record::Result::kUnschedulable;
  record->message = "0/1 nodes are available";
  record->nomination = record::Nomination{"large", {"default/low"}, {}};
  explained.record = record;
  explained.pod_reasons = {{"A", "missing claim", {"nearest: b"}}};
  explained.groups.assign(explanation::kMostJsonGroups + 1,
                          {.nodes = {"n"}, .reasons = {{"A", "too small", {"lacks 1"}}}, .shortfall = 0.5});
  explained.preemption = {
      .candidates = {{.node = "large",
                      .victims = {{"default/low", "StatefulSet default/low", 1, /*started=*/60, "budget"}},
                      .victim_count = 1,
                      .violations = 1,
                      .drawback = "more victims"}},
      .not_shown = 1,
      .refusals = {{"Insufficient cpu", 1}}};
  explained.advice.push_back({.steps = {"wait for default/low"},
                              .change = {.leaving = {MakePod("low")}},
                              .nodes = {"n"},
                              .victims = {"default/low"},
                              .victims_node = "n"});
  const std::vector<std::string> left_out{"extender http://e"};
  for (const auto view : {explanation::JsonView::kNodes, explanation::JsonView::kSummary})
    CheckText(ExplanationJson(explained, {{}, {}, true, left_out}, view), "Explanation");
}

TEST_F(SchedulerApiDocumentTest, HasTheFieldsOfAllResponsesAndNoOthers) {
  FillCluster();
  const std::string root(kSchedulerApiRoot);
  const std::string pod = root + "pods/{namespace}/{name}", node = root + "nodes/{name}";
  std::set<std::string> documented, checked;
  for (const auto& [path, content] : document_.at("paths").as_object()) documented.insert(std::string(path));
  for (const auto& [path, target] : std::initializer_list<std::pair<std::string, std::string>>{
           {root + "status", "status"},
           {root + "queue", "queue"},
           {root + "plugins", "plugins"},
           {root + "preemptions", "preemptions"},
           {root + "nodes", "nodes"},
           {root + "config", "config"},
           {node, "nodes/small"},
           {node, "nodes/small?view=pods"},
           {node, "nodes/large?view=pods"},
           {pod, "pods/default/web?view=records"},
           {pod, "pods/default/big"},
           {pod, "pods/default/big?view=nodes"},
           {pod, "pods/default/gated"},
           {pod + "/explanation", "pods/default/big/explanation?view=nodes"},
           {pod + "/explanation", "pods/default/missing/explanation"},
           {pod + "/explanation", "pods/default/web/explanation?view=nodes"}}) {
    check_.Check(Response(target), SchemaOf(path), target);
    checked.insert(path);
  }
  check_.Check(Response("pods/default/big/retry", 200, "POST"), SchemaOf(pod + "/retry"), "a retry");
  check_.Check(Response("pods/default/gated/retry", 409, "POST"), SchemaOf(pod + "/retry", "409"),
               "a refusal");
  checked.insert(pod + "/retry");
  for (const char* path : {"config/reload", "config/rollback"}) {
    check_.Check(Response(path, 200, "POST"), SchemaOf(root + path), path);
    checked.insert(root + path);
  }
  EXPECT_EQ(documented, checked);
  CheckRareFields();
  check_.Check(Response("pods/default/gone", 404), SchemaOf(pod, "404"), "an error");
  EXPECT_EQ(check_.Missing(), std::set<std::string>()) << "in the document, in no response";
}

TEST_F(SchedulerApiDocumentTest, HasTheParametersWithTheirLimits) {
  FillCluster();
  for (const auto& [path, content] : document_.at("paths").as_object()) {
    std::string target = std::string(path).substr(kSchedulerApiRoot.size());
    const bool of_node = target.starts_with("nodes/");
    for (const auto& [name, value] :
         {std::pair{"{namespace}", "default"}, {"{name}", of_node ? "small" : "web"}}) {
      if (const auto at = target.find(name); at != std::string::npos)
        target.replace(at, std::string_view(name).size(), value);
    }
    EXPECT_EQ(target.find('{'), std::string::npos) << target;
    const char* const method = content.as_object().contains("post") ? "POST" : "GET";
    const json::value* parameters = Operation(content).if_contains("parameters");
    if (parameters == nullptr) continue;
    for (const json::value& listed : parameters->as_array()) {
      const json::value& parameter = Resolve(listed);
      if (parameter.at("in").as_string() != "query") continue;
      const std::string query =
          fmt::format("{}?{}=", target, std::string_view(parameter.at("name").as_string()));
      const json::object& schema = parameter.at("schema").as_object();
      if (const json::value* values = schema.if_contains("enum")) {
        for (const json::value& value : values->as_array())
          Response(query + std::string(value.as_string()), 200, method);
        Response(query + "other", 400, method);
      }
      if (const json::value* most = schema.if_contains("maximum")) {
        Response(query + std::to_string(most->as_int64()));
        Response(query + std::to_string(most->as_int64() + 1), 400);
      }
      if (schema.at("type").as_string() == "integer") Response(query + "x", 400);
    }
  }
}

// The parts of OpenAPI 3.0 that the document uses; tests/docs validates all of it where the validator is
// installed.
TEST_F(SchedulerApiDocumentTest, RefersOnlyToWhatExists) {
  std::set<std::string> used;
  const auto visit = [&](const auto& self, const json::value& value) -> void {
    if (const auto* object = value.if_object()) {
      if (const json::value* reference = object->if_contains("$ref")) {
        EXPECT_EQ(object->size(), 1u) << "siblings of $ref are ignored";
        used.insert(std::string(reference->as_string()));
      }
      for (const auto& [key, content] : *object) self(self, content);
    } else if (const auto* list = value.if_array()) {
      for (const json::value& item : *list) self(self, item);
    }
  };
  visit(visit, document_);
  std::set<std::string> defined;
  for (const auto& [kind, components] : document_.at("components").as_object()) {
    if (kind == "securitySchemes") continue;  // referred to by name
    for (const auto& [name, component] : components.as_object())
      defined.insert(fmt::format("#/components/{}/{}", std::string_view(kind), std::string_view(name)));
  }
  EXPECT_EQ(used, defined);
  std::set<std::string> ids;
  for (const auto& [path, content] : document_.at("paths").as_object())
    EXPECT_TRUE(ids.insert(std::string(Operation(content).at("operationId").as_string())).second) << path;
}

}  // namespace
}  // namespace berth::process
