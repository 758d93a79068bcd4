// Malformed input: the server answers every request and continues to work.
#include <gtest/gtest.h>

#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

constexpr std::string_view kSeeds[] = {
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"app":"x"},"annotations":{"sandbox.berth.dev/run-for":"1s"},
        "ownerReferences":[{"uid":"u","name":"o","kind":"K","apiVersion":"v1"}],"finalizers":["x/y"]},
        "spec":{"nodeName":"n1","schedulingGates":[{"name":"g"}],"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],
        "resources":{"requests":{"cpu":"1","memory":2},"limits":{"cpu":"2"}}}],"initContainers":[{"name":"d","image":"i"}],
        "tolerations":[{"key":"k","operator":"Exists"}],"topologySpreadConstraints":[{"maxSkew":1,"matchLabelKeys":["app"],"labelSelector":{}}],
        "affinity":{"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","matchLabelKeys":["app"],
        "labelSelector":{"matchLabels":{"a":"b"}}}],"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"podAffinityTerm":{}}]}}},
        "status":{"phase":"Running","conditions":[{"type":"PodScheduled","status":"False"}],"containerStatuses":[{"name":"c","ready":true}]}})",
    R"({"metadata":{"name":"n1","labels":{"a":"b"}},"spec":{"unschedulable":true,"taints":[{"key":"a","effect":"NoSchedule"}],"podCIDR":"x"},
        "status":{"capacity":{"cpu":4},"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"1"}],
        "images":[{"names":["x"],"sizeBytes":1}]}})",
    R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"a","namespace":"default"},"series":{"count":2},"source":{"component":"x"},
        "eventTime":"2026-11-21T08:00:00.000000Z","type":"Normal","reason":"r","message":"m","count":1,"reportingComponent":"c","action":"a",
        "regarding":{"kind":"Pod"},"note":"n","reportingInstance":"i","reportingController":"c"})",
    R"({"metadata":{"name":"a","uid":"u"},"target":{"kind":"Node","name":"n1"},"deleteOptions":{"gracePeriodSeconds":1,"preconditions":{"uid":"x"}}})",
    R"({"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{"containers":[]}}},"metadata":{"name":"d"}})",
    R"({"gracePeriodSeconds":1,"preconditions":{"uid":"x"},"propagationPolicy":"Foreground","dryRun":["All"]})",
    R"({"status":{"$setElementOrder/conditions":[{"type":"A"}],"conditions":[{"type":"A","$patch":"delete"}],"$retainKeys":["phase"]},
        "metadata":{"$deleteFromPrimitiveList/finalizers":["x/y"],"labels":{"$patch":"replace"}}})",
    R"([{"op":"add","path":"/metadata/labels/x","value":"1"},{"op":"move","from":"/spec","path":"/x"},{"op":"remove","path":"/status"}])",
    R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"x"},"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]}},
        "status":{"disruptionsAllowed":1},"value":5,"globalDefault":true,"preemptionPolicy":"Never"})",
};

// Replaces a random value of the tree by another one.
void Mutate(json::value& value, Random& random) {
  if (random.Below(4) != 0) {
    if (auto* object = value.if_object(); object != nullptr && !object->empty()) {
      return Mutate((object->begin() + static_cast<std::ptrdiff_t>(random.Below(object->size())))->value(),
                    random);
    }
    if (auto* array = value.if_array(); array != nullptr && !array->empty())
      return Mutate((*array)[random.Below(array->size())], random);
  }
  static const json::array kOthers{nullptr,
                                   true,
                                   -1,
                                   1e300,
                                   "",
                                   "x",
                                   json::array(),
                                   json::array{1},
                                   json::object(),
                                   json::object{{"a", 1}},
                                   json::array{json::array{nullptr}},
                                   json::array{nullptr},
                                   9223372036854775807,
                                   "\xc3\xa9",
                                   "0"};
  value = kOthers[random.Below(kOthers.size())];
}

constexpr std::string_view kTargets[] = {
    "/api/v1/namespaces/default/pods",
    "/api/v1/namespaces/default/pods/a",
    "/api/v1/namespaces/default/pods/a/status",
    "/api/v1/namespaces/default/pods/a/binding",
    "/api/v1/namespaces/default/pods/a/eviction",
    "/api/v1/nodes",
    "/api/v1/nodes/n1",
    "/api/v1/nodes/n1/status",
    "/api/v1/namespaces/default/events",
    "/apis/events.k8s.io/v1/namespaces/default/events",
    "/apis/events.k8s.io/v1/namespaces/default/events/e",
    "/apis/apps/v1/namespaces/default/deployments",
    "/apis/apps/v1/namespaces/default/deployments/d",
    "/apis/apps/v1/namespaces/default/deployments/d/scale",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "/apis/policy/v1/namespaces/default/poddisruptionbudgets/b",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/api/v1/namespaces/x",
    "/api/v1/namespaces",
    "/api/v1/namespaces/x/finalize",
    "/apis/coordination.k8s.io/v1/namespaces/default/leases/a",
    "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/api/v1/bindings",
    "/apis/x/y/z",
    "/api",
    "/apis",
    "/a%zz",
    "//",
    "/api/v1/pods/a/b/c/d",
    "/api/v1/namespaces/default/pods?continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIifQ",
    "/api/v1/pods?limit=-1&resourceVersion=0",
};
constexpr std::string_view kMethods[] = {"POST", "PUT", "PATCH", "DELETE", "GET", "FROB"};
constexpr std::string_view kTypes[] = {"application/json",
                                       "application/json",
                                       "application/merge-patch+json",
                                       "application/json-patch+json",
                                       "application/strategic-merge-patch+json",
                                       "application/apply-patch+yaml",
                                       "application/vnd.kubernetes.protobuf"};

TEST(MalformedInput, IsAnsweredAndChangesNothingElse) {
  TestCluster cluster;
  Kubelet kubelet(cluster.verbs, cluster.timers, {});
  NodeTaints taints(cluster.verbs, cluster.timers);
  Housekeeping housekeeping(cluster.verbs, cluster.timers);
  Random random(11);
  std::map<int, int> codes;
  for (int round = 0; round < 20000; ++round) {
    json::value body = json::parse(kSeeds[random.Below(std::size(kSeeds))]);
    for (auto times = random.Below(4); times > 0; --times) Mutate(body, random);
    std::string text = json::serialize(body);
    if (random.Below(20) == 0) text.resize(random.Below(text.size() + 1));
    const std::string target(kTargets[random.Below(std::size(kTargets))]);
    const auto response = cluster.Open(std::string(kMethods[random.Below(std::size(kMethods))]), target, text,
                                       std::string(kTypes[random.Below(std::size(kTypes))]));
    ASSERT_TRUE(response->answered) << target << " " << text;
    ++codes[response->status];
    if (round % 100 == 0) cluster.Pass(std::chrono::seconds(2));
    if (round % 500 != 0) continue;
    for (const auto& type : Resources()) {
      const std::string list = (type.group.empty() ? "/api/" : "/apis/") + std::string(type.group_version()) +
                               "/" + std::string(type.plural);
      ASSERT_EQ(cluster.Open("GET", list, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io")->status,
                200)
          << list;
      ASSERT_TRUE(ParseJson(cluster.Get(list).text).has_value()) << list;
    }
  }
  EXPECT_GT(codes[201], 20);  // a part of the requests was valid
  EXPECT_GT(codes[200], 100);
  EXPECT_GT(codes[400], 100);
}

}  // namespace
}  // namespace berth::sandbox
