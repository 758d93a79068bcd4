#include "kubernetes/api/decode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/builders.hpp"

namespace berth::api {
namespace {

using berth::testing::MakeContainer;
using berth::testing::MakePod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Expected<Pod> PodOf(std::string_view json) { return Decoder().Object<Pod>(json); }
Expected<Node> NodeOf(std::string_view json) { return Decoder().Object<Node>(json); }

// --- objects ---
TEST(Decoder, DecodesThePartsOfAPodThatSchedulingNeeds) {
  const auto pod = PodOf(R"({
    "apiVersion": "v1", "kind": "Pod", "somethingNew": [1, {"deep": true}],
    "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generation": 3,
                 "labels": {"b": "2", "a": "1"}, "creationTimestamp": "2024-01-01T00:00:00Z"},
    "spec": {"schedulerName": "mine", "priority": 7, "nodeName": "n1", "hostNetwork": true,
             "schedulingGates": [{"name": "g1"}, {"name": "g2"}],
             "nodeSelector": {"disk": "ssd"},
             "affinity": {"nodeAffinity": {
               "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                 {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
                  "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]}]},
               "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": {}}]}},
             "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 3}],
             "containers": [{"name": "c", "image": "img", "resources": {"requests": {"cpu": "100m", "memory": 1024}},
                             "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "UDP", "hostIP": "1.2.3.4"}]}],
             "initContainers": [{"name": "i"}, {"name": "s", "restartPolicy": "Always"}],
             "resources": {"requests": {"cpu": "1"}},
             "overhead": {"memory": "1Mi"},
             "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "image": {"reference": "models"}}]},
    "status": {"phase": "Pending", "nominatedNodeName": "n2", "resources": {},
               "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m"}],
               "containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "3"}}}]}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.Key(), "shop/web");
  EXPECT_EQ(pod->metadata.uid, "u1");
  EXPECT_EQ(pod->metadata.resource_version, "42");
  EXPECT_EQ(pod->metadata.generation, 3);
  EXPECT_EQ(pod->metadata.labels, (Labels{{"a", "1"}, {"b", "2"}}));
  EXPECT_EQ(pod->spec.scheduler_name, "mine");
  EXPECT_EQ(pod->spec.priority, 7);
  EXPECT_EQ(pod->spec.node_name, "n1");
  EXPECT_TRUE(pod->spec.host_network);
  EXPECT_THAT(pod->spec.scheduling_gates, ElementsAre("g1", "g2"));
  EXPECT_EQ(pod->spec.node_selector, (Labels{{"disk", "ssd"}}));
  ASSERT_TRUE(pod->spec.node_affinity && pod->spec.node_affinity->required);
  const NodeSelectorTerm& term = pod->spec.node_affinity->required->terms.at(0);
  EXPECT_EQ(term.match_expressions.at(0).op, "In");
  EXPECT_THAT(term.match_expressions.at(0).values, ElementsAre("a"));
  EXPECT_EQ(term.match_fields.at(0).key, "metadata.name");
  EXPECT_EQ(pod->spec.node_affinity->preferred.at(0).weight, 5);
  EXPECT_EQ(pod->spec.tolerations.at(0).effect, "NoSchedule");
  const Container& container = pod->spec.containers.at(0);
  EXPECT_EQ(container.image, "img");
  EXPECT_EQ(container.resources.requests.at("cpu").MilliValue(), 100);
  EXPECT_EQ(container.resources.requests.at("memory").Value(), 1024);
  EXPECT_EQ(container.ports.at(0).host_port, 8080);
  EXPECT_EQ(container.ports.at(0).host_ip, "1.2.3.4");
  EXPECT_FALSE(pod->spec.init_containers.at(0).restart_always);
  EXPECT_TRUE(pod->spec.init_containers.at(1).restart_always);
  EXPECT_EQ(pod->spec.resources->requests.at("cpu").Value(), 1);
  EXPECT_EQ(pod->spec.overhead.at("memory").Value(), 1 << 20);
  EXPECT_THAT(pod->spec.image_volumes, ElementsAre("models"));
  EXPECT_EQ(pod->status.nominated_node_name, "n2");
  EXPECT_TRUE(pod->status.has_resources);
  EXPECT_EQ(pod->status.conditions.at(0).type, "PodScheduled");
  EXPECT_EQ(pod->status.container_statuses.at(0).allocated_resources->at("cpu").Value(), 2);
  EXPECT_EQ(pod->status.container_statuses.at(0).resource_requests->at("cpu").Value(), 3);
}

TEST(Decoder, TrimsConditionsThatNoPluginReadsOnceAPodHasANode) {
  const auto conditions = [](const std::string& spec) {
    return PodOf(R"({"metadata": {"name": "web"}, "spec": )" + spec + R"(, "status": {"conditions": [
      {"type": "Ready", "status": "False", "reason": "Late", "message": "m", "lastTransitionTime": "t"},
      {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"}]}})")
        ->status.conditions;
  };
  const auto waiting = conditions("{}");
  EXPECT_EQ(waiting.at(0).reason, "Late");
  EXPECT_EQ(waiting.at(0).last_transition_time, "t");
  const auto placed = conditions(R"({"nodeName": "n1"})");
  EXPECT_EQ(placed.at(0).type, "Ready");
  EXPECT_EQ(placed.at(0).status, "False");
  EXPECT_EQ(placed.at(0).reason, "");
  EXPECT_EQ(placed.at(0).last_transition_time, "");
  EXPECT_EQ(placed.at(1), waiting.at(1));
}

TEST(Decoder, KeepsTheTimeAtWhichAPodWasScheduled) {
  const auto scheduled = [](const std::string& status, const std::string& time) {
    return PodOf(R"({"metadata": {"name": "web"}, "spec": {"nodeName": "n1", "priorityClassName": "batch"},
      "status": {"conditions": [{"type": "PodScheduled", "status": ")" +
                 status + R"(", "lastTransitionTime": )" + time + "}]}}");
  };
  const auto pod = scheduled("True", "\"1970-01-02T00:00:01Z\"");
  EXPECT_EQ(pod->spec.priority_class_name, "batch");
  EXPECT_EQ(pod->status.scheduled_time, 86401);
  EXPECT_EQ(pod->status.conditions.at(0).last_transition_time, "") << "the lists of all pods are equal";
  EXPECT_EQ(scheduled("False", "\"1970-01-02T00:00:01Z\"")->status.scheduled_time, 0);
  EXPECT_EQ(scheduled("True", "null")->status.scheduled_time, 0);
}

TEST(Decoder, DecodesThePartsOfANodeThatSchedulingNeeds) {
  const auto node = NodeOf(R"({"metadata": {"name": "n1", "labels": {"zone": "a"}},
    "spec": {"unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
    "status": {"capacity": {"cpu": "8"}, "allocatable": {"cpu": "7500m", "pods": 110},
               "images": [{"names": ["a:1", "a@sha256:0"], "sizeBytes": 1000}],
               "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "x"}]}})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->metadata.Key(), "n1");
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->taints.at(0), (Taint{"k", "v", "NoExecute"}));
  EXPECT_TRUE(node->allocatable_given);
  EXPECT_EQ(node->allocatable.at("cpu").MilliValue(), 7500);
  EXPECT_EQ(node->allocatable.at("pods").Value(), 110);
  EXPECT_EQ(node->capacity.at("cpu").Value(), 8);
  EXPECT_THAT(node->images.at(0).names, ElementsAre("a:1", "a@sha256:0"));
  EXPECT_EQ(node->images.at(0).size_bytes, 1000);
  EXPECT_EQ(node->conditions.at(0).type, "Ready");
}

TEST(Decoder, NullLeavesTheDefault) {
  const auto pod = PodOf(
      R"({"metadata": null, "status": null, "spec": {"priority": null, "nodeName": null, "containers": null,
    "tolerations": [null], "affinity": {"nodeAffinity": null}, "resources": null, "overhead": {"cpu": null}}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->spec.priority, 0);
  EXPECT_THAT(pod->spec.containers, IsEmpty());
  EXPECT_EQ(pod->spec.tolerations.size(), 1U);
  EXPECT_FALSE(pod->spec.node_affinity);
  EXPECT_FALSE(pod->spec.resources);
  EXPECT_EQ(pod->spec.overhead.at("cpu").Value(), 0) << "an amount that is null is there, and zero";
}

TEST(Decoder, ANullInAMapOfTextsIsAnEmptyText) {
  const auto pod = PodOf(R"({"metadata": {"labels": {"a": null, "b": "2"}, "annotations": {
    "volume.kubernetes.io/selected-node": null}}, "spec": {"nodeSelector": {"disk": null}}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->metadata.labels, (Labels{{"a", ""}, {"b", "2"}}));
  EXPECT_EQ(pod->spec.node_selector, (Labels{{"disk", ""}}));
  ASSERT_NE(pod->metadata.Annotation("volume.kubernetes.io/selected-node"), nullptr);
  EXPECT_EQ(*pod->metadata.Annotation("volume.kubernetes.io/selected-node"), "");
}

TEST(Decoder, EmptyMapsOfAStatusAreAbsent) {
  const auto pod = PodOf(
      R"({"status": {"allocatedResources": {}, "containerStatuses": [{"name": "c", "allocatedResources": {},
    "resources": {"requests": {}}}]}})");
  ASSERT_TRUE(pod);
  EXPECT_FALSE(pod->status.allocated_resources);
  EXPECT_FALSE(pod->status.container_statuses.at(0).allocated_resources);
  EXPECT_FALSE(pod->status.container_statuses.at(0).resource_requests);
}

struct InvalidPodCase {
  std::string json;
  std::string error;
};
class AnInvalidPod : public ::testing::TestWithParam<InvalidPodCase> {};
TEST_P(AnInvalidPod, IsRejectedWithThePathOfTheField) {
  const auto pod = PodOf(GetParam().json);
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().message, GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    Table, AnInvalidPod,
    ::testing::Values(
        InvalidPodCase{R"([])", "expected an object, got a list"},
        InvalidPodCase{R"({"metadata": 5})", "metadata: expected an object, got a number"},
        InvalidPodCase{R"({"metadata": {"labels": {"a": 1}}})",
                       "metadata.labels.a: expected a string, got a number"},
        InvalidPodCase{R"({"spec": {"containers": {}}})", "spec.containers: expected a list, got an object"},
        InvalidPodCase{R"({"spec": {"containers": [{}, {"image": false}]}})",
                       "spec.containers[1].image: expected a string, got a boolean"},
        InvalidPodCase{R"({"spec": {"containers": [5]}})",
                       "spec.containers[0]: expected an object, got a number"},
        InvalidPodCase{R"({"spec": {"priority": "high"}})",
                       "spec.priority: expected an integer, got a string"},
        InvalidPodCase{R"({"spec": {"priority": 1.5}})", "spec.priority: expected an integer, got a number"},
        InvalidPodCase{R"({"spec": {"priority": 2147483648}})",
                       "spec.priority: 2147483648 does not fit 32 bits"},
        InvalidPodCase{R"({"spec": {"hostNetwork": "yes"}})",
                       "spec.hostNetwork: expected a boolean, got a string"},
        InvalidPodCase{R"({"spec": {"overhead": {"cpu": []}}})",
                       "spec.overhead.cpu: expected a quantity, got a list"},
        InvalidPodCase{R"({"spec": {"schedulingGates": [{}, {"name": 1}]}})",
                       "spec.schedulingGates[1].name: expected a string, got a number"},
        InvalidPodCase{R"({"spec": {"volumes": [{"image": {"reference": 1}}]}})",
                       "spec.volumes[0].image.reference: expected a string, got a number"},
        InvalidPodCase{
            R"({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                      {"nodeSelectorTerms": [{"matchExpressions": [{"values": "a"}]}]}}}}})",
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]."
            "matchExpressions[0].values: expected a list, got a string"}));

TEST(Decoder, QuantitiesMayBeNumbersOrHaveSurroundingSpace) {
  const auto pod = PodOf(
      R"({"spec": {"overhead": {"a": " 1Ki\n", "b": 5, "c": 0.5, "d": 18446744073709551615, "e": -1}}})");
  ASSERT_TRUE(pod) << pod.error().message;
  EXPECT_EQ(pod->spec.overhead.at("a").Value(), 1024);
  EXPECT_EQ(pod->spec.overhead.at("b").Value(), 5);
  EXPECT_EQ(pod->spec.overhead.at("c").MilliValue(), 500);
  EXPECT_EQ(pod->spec.overhead.at("e").Value(), -1);
  EXPECT_THAT(PodOf(R"({"spec": {"overhead": {"cpu": "lots"}}})").error().message,
              StartsWith("spec.overhead.cpu: \"lots\": quantities must match"));
}

TEST(Decoder, InvalidJsonIsRejectedAndTheDecoderRemainsUsable) {
  Decoder decoder;
  EXPECT_THAT(decoder.Object<Pod>("{\"metadata\": ").error().message, StartsWith("not valid JSON: "));
  EXPECT_TRUE(decoder.Object<Pod>("{}"));
}

// --- lists ---
TEST(Decoder, AnInvalidObjectDoesNotAffectTheRestOfItsList) {
  const auto list =
      Decoder().List<Pod>(R"({"kind": "PodList", "metadata": {"resourceVersion": "7", "continue": "next"},
    "items": [{"metadata": {"name": "a", "namespace": "x"}},
              {"metadata": {"name": "b", "namespace": "x"}, "spec": {"nodeName": 5}},
              {"metadata": {"name": "c", "namespace": "x"}}]})");
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_EQ(list->resource_version, "7");
  EXPECT_EQ(list->continue_token, "next");
  ASSERT_EQ(list->items.size(), 2U);
  EXPECT_EQ(list->items[0]->metadata.name, "a");
  EXPECT_EQ(list->items[1]->metadata.name, "c");
  ASSERT_EQ(list->skipped.size(), 1U);
  EXPECT_EQ(list->skipped[0].key, "x/b");
  EXPECT_EQ(list->skipped[0].error, "spec.nodeName: expected a string, got a number");
}

// JSON that the API server accepts from clients, in parts of objects that it does not interpret, and that a
// strict parser rejects as a whole.
std::vector<std::string> UnparsableValues() {
  return {"123456789012345678901234567890",
          std::string(2000, '[') + std::string(2000, ']'),
          "\"\xff\xfe\"",
          "\"a\tb\"",
          "1e999999",
          "\"unpaired \\ud800\""};
}

TEST(Decoder, AnItemThatTheParserRejectsDoesNotAffectTheRestOfItsList) {
  for (const std::string& value : UnparsableValues()) {
    SCOPED_TRACE(value.substr(0, 40));
    const auto list = Decoder().List<ResourceClaim>(
        R"({"items": [{"metadata": {"name": "a", "namespace": "x", "resourceVersion": "1"}},
                      {"spec": {"p]}": "\\\"{[", "opaque": )" +
        value + R"(}, "metadata": {"namespace": "x", "name": "b", "resourceVersion": "2"}},
                      {"metadata": {"name": "c", "namespace": "x", "resourceVersion": "3"}}],
             "metadata": {"resourceVersion": "7", "continue": "next"}})");
    ASSERT_TRUE(list) << list.error().message;
    EXPECT_EQ(list->resource_version, "7");
    EXPECT_EQ(list->continue_token, "next");
    ASSERT_EQ(list->items.size(), 2U);
    EXPECT_EQ(list->items[1]->metadata.name, "c");
    ASSERT_EQ(list->skipped.size(), 1U);
    EXPECT_EQ(list->skipped[0].key, "x/b");
    EXPECT_THAT(list->skipped[0].error, StartsWith("not valid JSON: "));
  }
}

TEST(Decoder, AListThatIsNotJsonIsAnError) {
  for (const std::string text :
       {R"({"items": [{"metadata": {"name": "a"}}, {"spec": )", R"({"items": [}], "metadata": {}})",
        R"({"items": 123456789012345678901234567890})", R"({"metadata": 1e999999, "items": [{}]})", "", "[",
        R"({"items": [{} {}]})", R"({"items": [k8s]})",
        R"({"items": [123456789012345678901234567890]} trailing)"}) {
    EXPECT_THAT(Decoder().List<ResourceClaim>(text).error().message, StartsWith("not valid JSON: ")) << text;
  }
}

TEST(Decoder, AnObjectThatTheParserRejectsIsSkippedInAWatch) {
  for (const std::string& value : UnparsableValues()) {
    SCOPED_TRACE(value.substr(0, 40));
    const auto event = Decoder().Event<ResourceClaim>(
        R"({"type": "DELETED", "object": {"metadata": {"name": "a", "namespace": "x", "resourceVersion": "9"}, "s": )" +
        value + "}}");
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->type, WatchEventType::kDeleted);
    EXPECT_EQ(event->object, nullptr);
    EXPECT_EQ(event->key, "x/a");
    EXPECT_EQ(event->resource_version, "9");
    EXPECT_THAT(event->skipped, StartsWith("not valid JSON: "));
  }
  EXPECT_FALSE(Decoder().Event<ResourceClaim>(R"({"type": "ADDED", "object": {"s": 1e999999}})"));
  EXPECT_FALSE(Decoder().Event<ResourceClaim>(R"({"type": "ERROR", "object": {"code": 1e999999}})"));
}

TEST(Decoder, AListMayBeEmptyOrNullButMustBeAList) {
  EXPECT_THAT(Decoder().List<Node>(R"({"metadata": {"resourceVersion": "1"}, "items": null})")->items,
              IsEmpty());
  EXPECT_THAT(Decoder().List<Node>(R"({})")->items, IsEmpty());
  EXPECT_EQ(Decoder().List<Node>(R"({"items": {}})").error().message,
            "items: expected a list, got an object");
}

// --- watches ---
TEST(Decoder, ReadsAWatchEvent) {
  const auto event = Decoder().Event<Pod>(
      R"({"type": "MODIFIED", "object": {"metadata": {"name": "a", "namespace": "x", "resourceVersion": "9"}}})");
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->type, WatchEventType::kModified);
  EXPECT_EQ(event->key, "x/a");
  EXPECT_EQ(event->resource_version, "9");
  EXPECT_EQ(event->object->metadata.name, "a");
  EXPECT_EQ(event->skipped, "");
}

TEST(Decoder, AnInvalidObjectInAWatchKeepsItsKeyAndVersion) {
  const auto event = Decoder().Event<Pod>(
      R"({"type": "ADDED", "object": {"spec": 1, "metadata": {"name": "a", "namespace": "x", "resourceVersion": "9"}}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->object, nullptr);
  EXPECT_EQ(event->key, "x/a");
  EXPECT_EQ(event->resource_version, "9");
  EXPECT_EQ(event->skipped, "spec: expected an object, got a number");
}

TEST(Decoder, ABookmarkCanEndTheInitialEvents) {
  const auto plain =
      Decoder().Event<Node>(R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5"}}})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->type, WatchEventType::kBookmark);
  EXPECT_EQ(plain->resource_version, "5");
  EXPECT_FALSE(plain->initial_events_end);
  const auto last = Decoder().Event<Node>(
      R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}}})");
  EXPECT_TRUE(last->initial_events_end);
}

TEST(Decoder, AnErrorEventCarriesAStatus) {
  const auto event = Decoder().Event<Pod>(
      R"({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}})");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->type, WatchEventType::kError);
  EXPECT_EQ(event->status.code, 410);
  EXPECT_EQ(event->status.reason, "Expired");
  EXPECT_EQ(event->status.message, "too old");
}

TEST(Decoder, AMalformedFrameIsRejected) {
  EXPECT_THAT(Decoder().Event<Pod>("{").error().message, StartsWith("not valid JSON"));
  EXPECT_EQ(Decoder().Event<Pod>("{}").error().message, "type: expected a string");
  EXPECT_EQ(Decoder().Event<Pod>(R"({"type": "ADDED"})").error().message, "object: missing");
  EXPECT_EQ(Decoder().Event<Pod>(R"({"type": "GONE", "object": {}})").error().message,
            "type: \"GONE\" is not a watch event type");
}

// --- errors of the server ---
TEST(ErrorStatus, IsDecodedFromTheBody) {
  const Status status = Decoder().ErrorStatus(
      R"({"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "slow down",
    "details": {"retryAfterSeconds": 3, "causes": [{"reason": "ResourceVersionTooLarge"}, {}]}})",
      500);
  EXPECT_EQ(status.code, 429);
  EXPECT_EQ(status.reason, "TooManyRequests");
  EXPECT_EQ(status.message, "slow down");
  EXPECT_EQ(status.retry_after_seconds, 3);
  EXPECT_THAT(status.cause_reasons, ElementsAre("ResourceVersionTooLarge"));
}

TEST(ErrorStatus, IsDerivedFromTheHttpCodeIfTheBodyIsNotAStatus) {
  EXPECT_EQ(Decoder().ErrorStatus("", 503).message, "HTTP 503");
  EXPECT_EQ(Decoder().ErrorStatus("upstream broke", 502).message, "HTTP 502: upstream broke");
  EXPECT_EQ(Decoder().ErrorStatus(R"({"kind": "Pod"})", 500).code, 500);
  EXPECT_LT(Decoder().ErrorStatus(std::string(100000, 'x'), 500).message.size(), 300U);
}

// --- defaults ---
TEST(Defaults, OfAPodMatchTheApiServer) {
  Pod pod =
      MakePod().Container(MakeContainer().Limit("cpu", "2").Limit("memory", "1Gi").Cpu("1").HostPort(80, ""));
  pod.metadata.ns = {};
  pod.spec.scheduler_name = {};
  ApplyDefaults(pod);
  EXPECT_EQ(pod.metadata.ns, "default");
  EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.spec.containers[0].resources.requests.at("cpu").Value(), 1) << "given: it stays";
  EXPECT_EQ(pod.spec.containers[0].resources.requests.at("memory").Value(), 1 << 30)
      << "taken from the limit";
  EXPECT_EQ(pod.spec.containers[0].ports[0].protocol, "TCP");
}

TEST(Defaults, PortsOfAHostNetworkPodAreHostPorts) {
  Pod pod = MakePod();
  pod.spec.containers[0].ports = {{80, 0, "", ""}, {81, 8081, "UDP", ""}};
  Pod on_host = pod;
  on_host.spec.host_network = true;
  ApplyDefaults(pod);
  ApplyDefaults(on_host);
  EXPECT_EQ(pod.spec.containers[0].ports[0].host_port, 0);
  EXPECT_EQ(on_host.spec.containers[0].ports[0].host_port, 80);
  EXPECT_EQ(on_host.spec.containers[0].ports[1].host_port, 8081);
}

TEST(Defaults, AmountsAreRoundedUpToMilli) {
  Pod pod = MakePod().Cpu("100100u");
  ApplyDefaults(pod);
  EXPECT_EQ(pod.spec.containers[0].resources.requests.at("cpu").Compare(berth::testing::Amount("101m")), 0);
}

TEST(Defaults, AtPodLevelComeFromTheContainersThenFromTheLimits) {
  Pod pod = MakePod().Cpu("1").PodLevel("memory", "1Gi");
  pod.spec.resources->limits = berth::testing::Amounts({{"hugepages-2Mi", "4Mi"}});
  ApplyDefaults(pod);
  EXPECT_EQ(pod.spec.resources->requests.at("cpu").Value(), 1);
  EXPECT_EQ(pod.spec.resources->requests.at("memory").Value(), 1 << 30);
  EXPECT_EQ(pod.spec.resources->requests.at("hugepages-2Mi").Value(), 4 << 20);
}

TEST(Defaults, OfANodeUseTheCapacityIfAllocatableIsAbsent) {
  Node node;
  node.capacity = berth::testing::Amounts({{"cpu", "4"}});
  ApplyDefaults(node);
  EXPECT_EQ(node.allocatable.at("cpu").Value(), 4);
  Node given;
  given.capacity = node.capacity;
  given.allocatable_given = true;
  ApplyDefaults(given);
  EXPECT_THAT(given.allocatable, IsEmpty());
}

// --- files ---
std::vector<std::string> Summary(std::string_view text) {
  const auto documents = SplitDocuments(text);
  if (!documents) return {"error: " + documents.error().message};
  std::vector<std::string> out;
  for (const Document& object : documents->objects)
    out.push_back(object.location + ": " + object.kind + " " + object.json);
  for (const std::string& error : documents->errors) out.push_back("error: " + error);
  return out;
}

TEST(Documents, MayBeOneObjectAsJsonOrYaml) {
  EXPECT_THAT(Summary(R"({"kind": "Pod", "metadata": {"name": "a"}})"),
              ElementsAre(R"(document 1: Pod {"kind":"Pod","metadata":{"name":"a"}})"));
  EXPECT_THAT(Summary("kind: Pod\nmetadata:\n  name: a\n"),
              ElementsAre(R"(document 1: Pod {"kind":"Pod","metadata":{"name":"a"}})"));
}

TEST(Documents, ListsAreSplitIntoObjects) {
  EXPECT_THAT(
      Summary(
          R"({"kind": "List", "items": [{"kind": "Pod"}, {"kind": "List", "items": [{"kind": "Node"}]}]})"),
      ElementsAre(R"(document 1, items[0]: Pod {"kind":"Pod"})",
                  R"(document 1, items[1], items[0]: Node {"kind":"Node"})"));
}

TEST(Documents, ItemsOfATypedListGetItsKind) {
  EXPECT_THAT(Summary(R"({"kind": "NodeList", "items": [{"metadata": {"name": "a"}}]})"),
              ElementsAre(R"(document 1, items[0]: Node {"metadata":{"name":"a"}})"));
}

TEST(Documents, OneFileMayContainSeveral) {
  EXPECT_THAT(Summary("---\nkind: Pod\n---\n---\nkind: Node\n"),
              ElementsAre(R"(document 1: Pod {"kind":"Pod"})", R"(document 3: Node {"kind":"Node"})"));
}

TEST(Documents, AnInvalidOneDoesNotAffectTheOthers) {
  EXPECT_THAT(Summary("kind: Pod\n---\njust text\n---\nname: x\n---\nkind: Node\n"),
              ElementsAre(R"(document 1: Pod {"kind":"Pod"})", R"(document 4: Node {"kind":"Node"})",
                          "error: document 2: expected a Kubernetes object",
                          "error: document 3: kind: Required value"));
  EXPECT_THAT(Summary(R"({"kind": "List", "items": [5, {"kind": "Pod"}]})"),
              ElementsAre(R"(document 1, items[1]: Pod {"kind":"Pod"})",
                          "error: document 1, items[0]: expected a Kubernetes object"));
}

TEST(Documents, AnEmptyFileContainsNone) {
  EXPECT_THAT(Summary(""), IsEmpty());
  EXPECT_THAT(Summary(" \n\t"), IsEmpty());
  EXPECT_THAT(Summary("# nothing\n"), IsEmpty());
}

TEST(Documents, TextThatIsNeitherJsonNorYamlIsRejectedWithItsLine) {
  EXPECT_THAT(Summary("kind: Pod\nmetadata: {name: a\n"), ElementsAre(HasSubstr("error: line ")));
}

TEST(Documents, ScalarsAreParsedLikeKubernetesYaml) {
  EXPECT_THAT(
      Summary("kind: X\na: yes\nb: 'yes'\nc: 5\nd: \"5\"\ne: ~\nf: 1.5e3\ng: 100m\nh: off\ni:\nj: 0x10\n"),
      ElementsAre(
          R"(document 1: X {"kind":"X","a":true,"b":"yes","c":5,"d":"5","e":null,"f":1500,"g":"100m","h":false,)"
          R"("i":null,"j":16})"));
}

TEST(Documents, NestingIsLimited) {
  std::string deep = "kind: X\na: ";
  deep += std::string(150, '[') + std::string(150, ']');
  EXPECT_THAT(Summary(deep), ElementsAre("error: document 1: yaml: line 2: nested deeper than 100 levels"));
}

}  // namespace
}  // namespace berth::api
