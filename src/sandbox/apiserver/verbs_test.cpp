// Object operations from a client's view: creation, updates, deletion, binding.
#include <gmock/gmock.h>

#include "sandbox/apiserver/duplicates.hpp"
#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

using testing::StartsWith;

std::string MessageOf(const RecordedResponse& response) { return At(response.Json(), "message"); }

TEST(Create, APodGetsItsDefaults) {
  TestCluster cluster;
  const auto created = cluster.CreatePod("a").Json();
  EXPECT_EQ(At(created, "metadata.generation"), "1");
  EXPECT_THAT(At(created, "metadata.uid"),
              testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_THAT(At(created, "metadata.creationTimestamp"), testing::EndsWith("Z"));
  EXPECT_EQ(At(created, "spec.schedulerName"), "default-scheduler");
  EXPECT_EQ(At(created, "spec.priority"), "0");
  EXPECT_EQ(At(created, "spec.terminationGracePeriodSeconds"), "30");
  EXPECT_EQ(created.at("spec").at("tolerations").as_array().size(), 2u);
  EXPECT_EQ(At(created, "status.phase"), "Pending");
  EXPECT_EQ(At(created, "status.qosClass"), "BestEffort");
}

TEST(Create, ClientsCanSetTheStatusOfANodeButNotOfAPod) {
  TestCluster cluster;
  const auto pod = cluster.Create(
      "/api/v1/namespaces/default/pods",
      R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}})");
  EXPECT_EQ(At(pod.Json(), "status.phase"), "Pending");
  const auto node = cluster.CreateNode("n1").Json();
  EXPECT_EQ(node.at("status").at("capacity").at("cpu").as_string(), "4");  // numbers become strings
  EXPECT_EQ(node.at("status").at("allocatable"), node.at("status").at("capacity"));
}

TEST(Create, RequestsFollowLimits) {
  TestCluster cluster;
  const auto pod = cluster
                       .Create("/api/v1/namespaces/default/pods",
                               R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c",
      "image":"i","resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}}}]}})")
                       .Json();
  const auto& requests = pod.at("spec").at("containers").as_array()[0].at("resources").at("requests");
  EXPECT_EQ(requests, json::parse(R"({"cpu":"500m","memory":"1Gi"})"));
}

TEST(Create, GeneratedNamesEndWithFiveLetters) {
  TestCluster cluster;
  const auto pod =
      cluster
          .Create("/api/v1/namespaces/default/pods",
                  R"({"metadata":{"generateName":"web-"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
          .Json();
  EXPECT_THAT(At(pod, "metadata.name"), testing::MatchesRegex("web-[bcdfghjklmnpqrstvwxz2456789]{5}"));
}

TEST(Create, PriorityComesFromThePriorityClass) {
  TestCluster cluster;
  cluster.Create("/apis/scheduling.k8s.io/v1/priorityclasses",
                 R"({"metadata":{"name":"high"},"value":1000,"preemptionPolicy":"Never"})");
  const auto pod = cluster.CreatePod("a", R"("priorityClassName":"high")").Json();
  EXPECT_EQ(At(pod, "spec.priority"), "1000");
  EXPECT_EQ(At(pod, "spec.preemptionPolicy"), "Never");
  const auto unknown = cluster.CreatePod("b", R"("priorityClassName":"nope")");
  EXPECT_EQ(unknown.status, 403);
  EXPECT_EQ(MessageOf(unknown), "pods \"b\" is forbidden: no PriorityClass with name nope was found");
}

TEST(Create, AGatedPodHasTheConditionSchedulingGated) {
  TestCluster cluster;
  const auto pod = cluster.CreatePod("a", R"("schedulingGates":[{"name":"g"}])").Json();
  EXPECT_EQ(At(pod.at("status").at("conditions").as_array()[0], "reason"), "SchedulingGated");
}

TEST(Create, MatchLabelKeysAreMergedIntoTheSelector) {
  TestCluster cluster;
  const auto pod =
      cluster
          .CreatePod(
              "a",
              R"("topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule",
      "labelSelector":{},"matchLabelKeys":["v"]}])",
              R"("labels":{"v":"1"})")
          .Json();
  EXPECT_EQ(pod.at("spec").at("topologySpreadConstraints").as_array()[0].at("labelSelector"),
            json::parse(R"({"matchExpressions":[{"key":"v","operator":"In","values":["1"]}]})"));
}

TEST(Create, AnElasticQuotaHasAStatusOfItsOwn) {
  TestCluster cluster;
  const std::string quotas = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/elasticquotas";
  const auto created = cluster.Create(quotas, R"({"metadata":{"name":"q"},"spec":{"min":{"cpu":"1500m"},
      "max":{"example.com/gpu":"2"}},"status":{"used":{"cpu":"9"}}})");
  EXPECT_EQ(created.status, 201);
  EXPECT_EQ(created.Json().at("spec"),
            json::parse(R"({"min":{"cpu":"1500m"},"max":{"example.com/gpu":"2"}})"));
  EXPECT_FALSE(created.Json().as_object().contains("status"));
}

TEST(Create, AnObjectThatIsNestedTooDeeplyIsInvalid) {
  TestCluster cluster;
  json::value data = 1;
  for (std::size_t i = 0; i < kMaxNesting; ++i) data = json::array{std::move(data)};
  Document document;
  document.root()["metadata"] = json::object{{"name", "r"}};
  document.root()["data"] = data;
  const auto created = cluster.verbs.Create(*FindResource("apps", "v1", "controllerrevisions"), "default",
                                            std::move(document));
  ASSERT_FALSE(created.has_value());
  EXPECT_EQ(created.error().code, 422);
  EXPECT_EQ(created.error().message,
            "ControllerRevision.apps \"r\" is invalid: data: Forbidden: nested deeper than 256 levels");
}

TEST(Create, ANullElementOfAListBecomesTheZeroValueOfItsType) {
  TestCluster cluster;
  const auto node = cluster
                        .Create("/api/v1/nodes", R"({"metadata":{"name":"n1"},"spec":{"podCIDRs":[null]},
      "status":{"addresses":[null]}})")
                        .Json();
  EXPECT_EQ(At(node, "spec.podCIDRs"), R"([""])");
  EXPECT_TRUE(node.at("status").at("addresses").as_array().at(0).is_object());
}

struct RefusalCase {
  std::string name;
  std::string method, target, body;
  int status;
  std::string message;  // its beginning
};
void PrintTo(const RefusalCase& row, std::ostream* out) { *out << row.name; }
class Errors : public testing::TestWithParam<RefusalCase> {};
TEST_P(Errors, HaveTheCodeAndTextOfKubeApiserver) {
  TestCluster cluster;
  cluster.CreatePod("there");
  const auto& row = GetParam();
  const auto answer = cluster.Do(row.method, row.target, row.body);
  EXPECT_EQ(answer.status, row.status);
  EXPECT_EQ(At(answer.Json(), "kind"), "Status");
  EXPECT_THAT(MessageOf(answer), StartsWith(row.message));
}
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
INSTANTIATE_TEST_SUITE_P(
    Table, Errors,
    testing::Values(
        RefusalCase{"NotJson", "POST", kPods, "{", 400,
                    "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
                    "json parse error"},
        RefusalCase{"NotAnObject", "POST", kPods, "[]", 400, "the object provided is unrecognized"},
        RefusalCase{"NoName", "POST", kPods, R"({"spec":{"containers":[{"name":"c","image":"i"}]}})", 422,
                    "Pod \"\" is invalid: metadata.name: Required value: name or generateName is required"},
        RefusalCase{
            "ABadName", "POST", kPods,
            R"({"metadata":{"name":"A"},"spec":{"containers":[{"name":"c","image":"i"}]}})", 422,
            "Pod \"A\" is invalid: metadata.name: Invalid value: \"A\": a lowercase RFC 1123 subdomain"},
        RefusalCase{"NoContainers", "POST", kPods, R"({"metadata":{"name":"a"},"spec":{}})", 422,
                    "Pod \"a\" is invalid: spec.containers: Required value"},
        RefusalCase{"ContainersOfTheWrongType", "POST", kPods,
                    R"({"metadata":{"name":"a"},"spec":{"containers":"x"}})", 400,
                    "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal string into Go "
                    "struct field PodSpec.spec.containers of type []v1.Container"},
        RefusalCase{
            "ABadQuantity", "POST", kPods,
            R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"1x"}}}]}})",
            400,
            "Pod in version \"v1\" cannot be handled as a Pod: quantities must match the regular expression"},
        RefusalCase{"AnIntegerOfMoreThan32Bits", "POST", kPods,
                    R"({"metadata":{"name":"a"},"spec":{"priority":2147483648}})", 400,
                    "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal number "
                    "2147483648 into Go struct field PodSpec.spec.priority of type int32"},
        RefusalCase{
            "AnIntegerOfMoreThan63Bits", "POST", kPods,
            R"({"metadata":{"name":"a"},"spec":{"activeDeadlineSeconds":9223372036854775808}})", 400,
            "Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal number "
            "9223372036854775808 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64"},
        RefusalCase{"TheThirtiethOfFebruary", "POST", kPods,
                    R"({"metadata":{"name":"a","creationTimestamp":"2026-02-30T08:00:00Z"}})", 400,
                    "Pod in version \"v1\" cannot be handled as a Pod: parsing time "
                    "\"2026-02-30T08:00:00Z\": day out of range"},
        RefusalCase{"AnImpossibleOffset", "POST", kPods,
                    R"({"metadata":{"name":"a","creationTimestamp":"2026-02-20T08:00:00+99:00"}})", 400,
                    "Pod in version \"v1\" cannot be handled as a Pod: parsing time "
                    "\"2026-02-20T08:00:00+99:00\": time zone offset hour out of range"},
        RefusalCase{"AnOffsetOfLetters", "POST", kPods,
                    R"({"metadata":{"name":"a","creationTimestamp":"2026-02-20T08:00:00+aa:bb"}})", 400,
                    "Pod in version \"v1\" cannot be handled as a Pod: parsing time"},
        RefusalCase{"MetadataOfTheWrongType", "POST", kPods, R"({"metadata":7})", 400,
                    "Pod in version \"v1\" cannot be handled as a Pod"},
        RefusalCase{"AnotherKind", "POST", kPods, R"({"kind":"Node","metadata":{"name":"a"}})", 400,
                    "Node in version \"v1\" cannot be handled as a Pod: converting (v1.Node) to (core.Pod): "
                    "unknown conversion"},
        RefusalCase{
            "AnotherGroup", "POST", kPods, R"({"kind":"Pod","apiVersion":"apps/v1","metadata":{"name":"a"}})",
            400,
            "Pod in version \"v1\" cannot be handled as a Pod: no kind \"Pod\" is registered for version "
            "\"apps/v1\" in scheme"},
        RefusalCase{
            "UnknownFieldsWhenStrict", "POST", "/api/v1/namespaces/default/pods?fieldValidation=Strict",
            R"({"metadata":{"name":"a"},"spec":{"foo":1,"containers":[{"name":"c","image":"i"}]}})", 400,
            "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field "
            "\"spec.foo\""},
        RefusalCase{
            "AnotherNamespace", "POST", kPods,
            R"({"metadata":{"name":"a","namespace":"x"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
            400, "the namespace of the provided object does not match the namespace sent on the request"},
        RefusalCase{"NoSuchNamespace", "POST", "/api/v1/namespaces/nope/pods",
                    R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})", 404,
                    "namespaces \"nope\" not found"},
        RefusalCase{"Existing", "POST", kPods,
                    R"({"metadata":{"name":"there"},"spec":{"containers":[{"name":"c","image":"i"}]}})", 409,
                    "pods \"there\" already exists"},
        RefusalCase{
            "AVersionOnCreation", "POST", kPods,
            R"({"metadata":{"name":"a","resourceVersion":"1"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
            500, "resourceVersion should not be set on objects to be created"},
        RefusalCase{"MissingObject", "GET", "/api/v1/namespaces/default/pods/nope", "", 404,
                    "pods \"nope\" not found"},
        RefusalCase{"MissingObjectInAGroup", "GET",
                    "/apis/coordination.k8s.io/v1/namespaces/default/leases/x", "", 404,
                    "leases.coordination.k8s.io \"x\" not found"},
        RefusalCase{"UnknownResource", "GET", "/api/v1/unicorns", "", 404,
                    "the server could not find the requested resource"},
        RefusalCase{"UnknownSubresource", "GET", "/api/v1/namespaces/default/pods/there/frob", "", 404,
                    "the server could not find the requested resource"},
        RefusalCase{"WrongMethod", "POST", "/api/v1/namespaces/default/pods/there", "{}", 405,
                    "the server does not allow this method on the requested resource"},
        RefusalCase{"ABadLabelSelector", "GET", "/api/v1/pods?labelSelector=a%20b", "", 400,
                    "unable to parse requirement"},
        RefusalCase{"AnUnknownField", "GET", "/api/v1/pods?fieldSelector=spec.foo%3Dx", "", 400,
                    "field label not supported: spec.foo"},
        RefusalCase{"ABadLimit", "GET", "/api/v1/pods?limit=x", "", 400,
                    "strconv.ParseInt: parsing \"x\": invalid syntax"},
        RefusalCase{"ABadToken", "GET", "/api/v1/pods?continue=!!", "", 400, "invalid continue token"},
        RefusalCase{"MatchWithoutVersion", "GET", "/api/v1/pods?resourceVersionMatch=Exact", "", 422,
                    "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
                    "resourceVersionMatch is forbidden unless resourceVersion is provided"},
        RefusalCase{"InitialEventsOfAList", "GET", "/api/v1/pods?sendInitialEvents=true", "", 422,
                    "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: "
                    "sendInitialEvents is forbidden for list"},
        RefusalCase{"ABadVersionOfAWatch", "GET", "/api/v1/pods?watch=1&resourceVersion=abc", "", 500,
                    "resourceVersion: Invalid value: \"abc\""},
        RefusalCase{"ALeaseOfZeroSeconds", "POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
                    R"({"metadata":{"name":"x"},"spec":{"leaseDurationSeconds":0}})", 422,
                    "Lease.coordination.k8s.io \"x\" is invalid: spec.leaseDurationSeconds: Invalid value: "
                    "0: must be greater than 0"}),
    [](const auto& row) { return row.param.name; });

TEST(DuplicateFields, AreReportedUpToAHundred) {
  EXPECT_THAT(DuplicateFields(R"({"a":[{"b":1,"b":2,"b":3}],"c":{},"c":1})"),
              testing::ElementsAre("a[0].b", "c"));
  std::string text = "{";
  for (int i = 0; i < 200; ++i) text += fmt::format(R"("k{0}":1,"k{0}":2,)", i);
  text.back() = '}';
  EXPECT_EQ(DuplicateFields(text).size(), 100u);
}

TEST(Create, OtherMediaTypesAreRejected) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Do("POST", kPods, "x", "text/plain").status, 415);
  EXPECT_EQ(cluster.Do("PATCH", "/api/v1/namespaces/default/pods/x", "x", "application/json").status, 415);
}

TEST(Update, AStaleVersionIsAConflict) {
  TestCluster cluster;
  const auto node = cluster.CreateNode("n1").Json();
  EXPECT_EQ(cluster.Patch("/api/v1/nodes/n1", R"({"metadata":{"labels":{"a":"b"}}})").status, 200);
  const auto conflict = cluster.Do("PUT", "/api/v1/nodes/n1", json::serialize(node));
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(MessageOf(conflict),
            "Operation cannot be fulfilled on nodes \"n1\": the object has been modified; please apply your "
            "changes to the latest "
            "version and try again");
}

TEST(Update, AnUpdateWithoutChangesWritesNothing) {
  TestCluster cluster;
  const auto before = cluster.CreateNode("n1").Json();
  EXPECT_EQ(cluster.Do("PUT", "/api/v1/nodes/n1", json::serialize(before)).Json(), before);
  EXPECT_EQ(cluster.Patch("/api/v1/nodes/n1", R"({"metadata":{"labels":null}})").status, 200);
}

TEST(Update, LeasesAreCreatedByPutAndRequireTheirVersion) {
  TestCluster cluster;
  const std::string target = "/apis/coordination.k8s.io/v1/namespaces/default/leases/x";
  EXPECT_EQ(cluster.Do("PUT", target, R"({"metadata":{"name":"x"},"spec":{"holderIdentity":"me"}})").status,
            201);
  const auto blind =
      cluster.Do("PUT", target, R"({"metadata":{"name":"x"},"spec":{"holderIdentity":"you"}})");
  EXPECT_EQ(blind.status, 422);
  EXPECT_EQ(MessageOf(blind),
            "leases.coordination.k8s.io \"x\" is invalid: metadata.resourceVersion: Invalid value: 0: must "
            "be specified for an update");
}

TEST(Update, MainAndStatusAreSeparate) {
  TestCluster cluster;
  cluster.CreateNode("n1");
  const auto main =
      cluster.Patch("/api/v1/nodes/n1", R"({"spec":{"unschedulable":true},"status":{"phase":"x"}})").Json();
  EXPECT_EQ(At(main, "spec.unschedulable"), "true");
  EXPECT_EQ(At(main, "status.phase"), "");
  const auto status =
      cluster.Patch("/api/v1/nodes/n1/status", R"({"spec":{"unschedulable":false},"status":{"phase":"x"}})")
          .Json();
  EXPECT_EQ(At(status, "spec.unschedulable"), "true");
  EXPECT_EQ(At(status, "status.phase"), "x");
}

TEST(Update, TheSpecOfAPodIsImmutable) {
  TestCluster cluster;
  cluster.CreatePod("a");
  EXPECT_EQ(cluster.Patch("/api/v1/namespaces/default/pods/a", R"({"spec":{"nodeName":"n1"}})").status, 422);
  const auto image = cluster.Patch("/api/v1/namespaces/default/pods/a",
                                   R"({"spec":{"containers":[{"name":"c","image":"other"}]}})");
  EXPECT_EQ(image.status, 200);
  EXPECT_EQ(At(image.Json(), "metadata.generation"), "2");
}

TEST(Delete, AnUnboundPodIsRemovedImmediatelyInTwoWrites) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1");
  watch->text.clear();
  EXPECT_EQ(cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a").status, 200);
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[0], "type"), "MODIFIED");
  EXPECT_EQ(At(events[0], "object.metadata.deletionGracePeriodSeconds"), "0");
  EXPECT_EQ(At(events[0], "object.metadata.generation"), "2");
  EXPECT_EQ(At(events[1], "type"), "DELETED");
  EXPECT_GT(std::stoi(At(events[1], "object.metadata.resourceVersion")),
            std::stoi(At(events[0], "object.metadata.resourceVersion")));
}

TEST(Delete, ABoundPodStaysUntilItsKubeletRemovesIt) {
  TestCluster cluster;
  cluster.CreatePod("a");
  cluster.Bind("a", "n1");
  const auto first = cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a").Json();
  EXPECT_EQ(At(first, "metadata.deletionGracePeriodSeconds"), "30");
  const auto longer =
      cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a", R"({"gracePeriodSeconds":60})").Json();
  EXPECT_EQ(At(longer, "metadata.deletionGracePeriodSeconds"), "30");
  const auto shorter =
      cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a", R"({"gracePeriodSeconds":5})").Json();
  EXPECT_EQ(At(shorter, "metadata.deletionGracePeriodSeconds"), "5");
  EXPECT_EQ(At(shorter, "metadata.generation"), "2");
  EXPECT_EQ(cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a", R"({"gracePeriodSeconds":0})").status,
            200);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/pods/a").status, 404);
}

TEST(Delete, AGracePeriodBeyondTheLastTimeEndsThere) {
  TestCluster cluster;
  constexpr std::string_view kCenturies = "9223372036854775807";
  cluster.CreatePod("a", fmt::format(R"("terminationGracePeriodSeconds":{})", kCenturies));
  cluster.CreatePod("b");
  for (const std::string_view name : {"a", "b"}) cluster.Bind(name, "n1");
  const auto own = cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a").Json();
  const auto requested = cluster.Do("DELETE", "/api/v1/namespaces/default/pods/b",
                                    fmt::format(R"({{"gracePeriodSeconds":{}}})", kCenturies));
  for (const auto& pod : {own, requested.Json()}) {
    EXPECT_EQ(At(pod, "metadata.deletionTimestamp"), "2262-04-11T23:47:15Z");
    EXPECT_EQ(At(pod, "metadata.deletionGracePeriodSeconds"), kCenturies);
  }
}

TEST(Delete, PreconditionsAreChecked) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto wrong =
      cluster.Do("DELETE", "/api/v1/namespaces/default/pods/a", R"({"preconditions":{"uid":"other"}})");
  EXPECT_EQ(wrong.status, 409);
  EXPECT_THAT(
      MessageOf(wrong),
      StartsWith(
          "Operation cannot be fulfilled on Pod \"a\": the UID in the precondition (other) does not match"));
}

TEST(Delete, AnObjectStaysUntilItsLastFinalizerIsRemoved) {
  TestCluster cluster;
  cluster.Create("/api/v1/namespaces/default/configmaps",
                 R"({"metadata":{"name":"c","finalizers":["x/y"]}})");
  EXPECT_EQ(cluster.Do("DELETE", "/api/v1/namespaces/default/configmaps/c").status, 200);
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/configmaps/c").status, 200);
  cluster.Patch("/api/v1/namespaces/default/configmaps/c", R"({"metadata":{"finalizers":null}})", "merge");
  EXPECT_EQ(cluster.Get("/api/v1/namespaces/default/configmaps/c").status, 404);
}

TEST(Delete, DeletesACollectionBySelector) {
  TestCluster cluster;
  cluster.CreatePod("a", "", R"("labels":{"x":"1"})");
  cluster.CreatePod("b");
  EXPECT_EQ(cluster.Do("DELETE", "/api/v1/namespaces/default/pods?labelSelector=x")
                .Json()
                .at("items")
                .as_array()
                .size(),
            1u);
  EXPECT_EQ(cluster.Get("/api/v1/pods").Json().at("items").as_array().size(), 1u);
}

TEST(Delete, SystemNamespacesCannotBeDeleted) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Do("DELETE", "/api/v1/namespaces/default").status, 403);
}

TEST(DryRun, ChangesNothing) {
  TestCluster cluster;
  const auto before = cluster.store.version();
  EXPECT_EQ(cluster
                .Create("/api/v1/namespaces/default/pods?dryRun=All",
                        R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}})")
                .status,
            201);
  EXPECT_EQ(cluster.store.version(), before);
}

}  // namespace
}  // namespace berth::sandbox
