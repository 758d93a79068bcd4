// The life of resource claims: from template to deletion.
#include "sandbox/controllers/resource_claims/resource_claims.hpp"

#include <gmock/gmock.h>

#include "sandbox/cluster/fake_live_cluster.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::MatchesRegex;

const std::string kGroup = "/apis/resource.k8s.io/v1";
const std::string kClaims = kGroup + "/namespaces/default/resourceclaims";
constexpr std::string_view kSpec =
    R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu.example.com"}}]}})";

struct ClaimLife : testing::Test {
  LiveCluster cluster;

  ClaimLife() {
    cluster.scheduling = false;
    cluster.CreateNodes(2);
  }
  void MakeTemplate(std::string_view metadata = "{}") {
    cluster.Make(
        kGroup, "resourceclaimtemplates",
        fmt::format(R"({{"metadata":{{"name":"t"}},"spec":{{"metadata":{},"spec":{}}}}})", metadata, kSpec));
  }
  void MakeClaim(std::string_view name) {
    cluster.Make(kGroup, "resourceclaims",
                 fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", name, kSpec));
  }
  // A pod with one claim; `source`: "resourceClaimName" or "resourceClaimTemplateName".
  json::value MakePod(std::string_view name, std::string_view source, std::string_view value,
                      std::string_view metadata = "") {
    const auto made = cluster.CreatePod(
        name,
        fmt::format(R"("restartPolicy":"Never","resourceClaims":[{{"name":"gpu","{}":"{}"}}])", source,
                    value),
        metadata);
    EXPECT_EQ(made.status, 201) << made.text;
    cluster.Pass(1ms);
    return cluster.Pod(name);
  }
  json::value MakePodFromTemplate(std::string_view name, std::string_view metadata = "") {
    return MakePod(name, "resourceClaimTemplateName", "t", metadata);
  }
  // What a scheduler writes: the finalizer, then allocation and consumers.
  void Allocate(std::string_view claim, const std::vector<std::string>& pods) {
    std::string consumers;
    for (const auto& pod : pods) {
      consumers += fmt::format(R"({}{{"resource":"pods","name":"{}","uid":"{}"}})",
                               consumers.empty() ? "" : ",", pod, At(cluster.Pod(pod), "metadata.uid"));
    }
    const std::string path = fmt::format("{}/{}", kClaims, claim);
    cluster.Patch(path, fmt::format(R"({{"metadata":{{"finalizers":["{}"]}}}})", kClaimFinalizer), "merge");
    const auto written = cluster.Patch(
        path + "/status",
        fmt::format(
            R"({{"status":{{"allocation":{{"devices":{{"results":[{{"request":"r","driver":"d.example","pool":"n1","device":"gpu-0"}}]}}}},"reservedFor":[{}]}}}})",
            consumers),
        "merge");
    EXPECT_EQ(written.status, 200) << written.text;
    cluster.Pass(1ms);
  }
  // Names of claims with their state: "c allocated=yes for=a,b finalizer=yes".
  std::vector<std::string> Claims() {
    std::vector<std::string> states;
    for (const auto& [_, claim] : cluster.store.All(Kinds().resource_claims)) {
      const Document document = claim->Parse();
      std::string consumers;
      for (const auto& consumer : ArrayOrEmpty(document.root(), "status.reservedFor"))
        consumers += (consumers.empty() ? "" : ",") + At(consumer, "name");
      const bool allocated = FindObject(document.root(), "status.allocation") != nullptr;
      states.push_back(
          fmt::format("{}{}{}{}", claim->name, allocated ? " allocated" : "",
                      consumers.empty() ? "" : fmt::format(" for {}", consumers),
                      FindArray(document.root(), "metadata.finalizers") != nullptr ? " protected" : ""));
    }
    return states;
  }
  std::string ClaimOf(std::string_view pod) {
    const auto claims = ClaimsOf(cluster.Pod(pod).as_object());
    return claims.at(0).claim_name.value_or("none");
  }
  void Delete(std::string_view pod) {
    cluster.Do("DELETE", fmt::format("/api/v1/namespaces/default/pods/{}", pod));
  }
};

// --- creation ---

TEST_F(ClaimLife, AClaimIsMadeFromTheTemplate) {
  MakeTemplate(R"({"labels":{"team":"a"},"annotations":{"x":"y"}})");
  const auto pod = MakePodFromTemplate("p");
  const std::string name = ClaimOf("p");
  EXPECT_THAT(name, MatchesRegex("p-gpu-[a-z0-9]{5}"));
  const auto claim = cluster.Get(kClaims + "/" + name).Json();
  EXPECT_EQ(At(claim, "metadata.generateName"), "p-gpu-");
  EXPECT_EQ(At(claim, "metadata.labels"), R"({"team":"a"})");
  EXPECT_EQ(claim.at("metadata").at("annotations"),
            json::parse(R"({"x":"y","resource.kubernetes.io/pod-claim-name":"gpu"})"));
  EXPECT_EQ(claim.at("metadata").at("ownerReferences"),
            json::parse(
                fmt::format(R"([{{"apiVersion":"v1","kind":"Pod","name":"p","uid":"{}","controller":true}}])",
                            At(pod, "metadata.uid"))));
  EXPECT_EQ(At(pod, "status.resourceClaimStatuses"),
            fmt::format(R"([{{"name":"gpu","resourceClaimName":"{}"}}])", name));
}

TEST_F(ClaimLife, LongNamesAreShortenedInProportion) {
  MakeTemplate();
  const std::string pod(100, 'a');
  MakePodFromTemplate(pod);
  // 57 of 105 characters: 54 of the pod's name and one of the entry's.
  EXPECT_EQ(ClaimOf(pod).substr(0, 56), std::string(54, 'a') + "-g");
}

TEST_F(ClaimLife, AMissingTemplateIsAnEventAndTheClaimFollowsTheTemplate) {
  MakePodFromTemplate("p");
  EXPECT_EQ(ClaimOf("p"), "none");
  EXPECT_THAT(cluster.Events("FailedResourceClaimCreation"),
              ElementsAre("PodResourceClaim gpu: resource claim template \"t\": "
                          "resourceclaimtemplate.resource.k8s.io \"t\" not found"));
  MakeTemplate();
  cluster.Pass(1ms);
  EXPECT_NE(ClaimOf("p"), "none");
}

TEST_F(ClaimLife, ADeletedClaimIsMadeAgain) {
  MakeTemplate();
  MakePodFromTemplate("p");
  const std::string first = ClaimOf("p");
  cluster.Do("DELETE", kClaims + "/" + first);
  cluster.Pass(1ms);
  EXPECT_THAT(ClaimOf("p"), MatchesRegex("p-gpu-.*"));
  EXPECT_NE(ClaimOf("p"), first);
  EXPECT_EQ(Claims().size(), 1U);
}

TEST_F(ClaimLife, AClaimWithoutRecordIsNotMadeTwice) {
  MakeTemplate();
  MakePodFromTemplate("p");
  const std::string name = ClaimOf("p");
  cluster.Patch("/api/v1/namespaces/default/pods/p/status", R"({"status":{"resourceClaimStatuses":null}})",
                "merge");
  cluster.Pass(1ms);
  EXPECT_EQ(ClaimOf("p"), name);
  EXPECT_EQ(Claims().size(), 1U);
}

TEST_F(ClaimLife, ExistingPodsGetClaimsWhenTheControllersStart) {
  TestCluster early;
  early.CreatePod("p", R"("resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}])");
  early.Create(kGroup + "/namespaces/default/resourceclaimtemplates",
               fmt::format(R"({{"metadata":{{"name":"t"}},"spec":{{"spec":{}}}}})", kSpec));
  Controllers controllers(early.verbs, early.timers, early.random, {});
  early.Pass(1ms);
  EXPECT_EQ(early.store.All(Kinds().resource_claims).size(), 1U);
}

// --- reservations ---

TEST_F(ClaimLife, AllocatedClaimsAreReservedForABoundPod) {
  MakeClaim("c");
  MakePod("first", "resourceClaimName", "c");
  Allocate("c", {"first"});
  MakePod("second", "resourceClaimName", "c");
  EXPECT_THAT(Claims(), ElementsAre("c allocated for first protected"));  // the scheduler reserves
  cluster.Bind("second", "n1");
  cluster.Pass(1ms);
  EXPECT_THAT(Claims(), ElementsAre("c allocated for first,second protected"));
}

TEST_F(ClaimLife, AnUnallocatedClaimIsNotReserved) {
  MakeClaim("c");
  MakePod("p", "resourceClaimName", "c");
  cluster.Bind("p", "n1");
  cluster.Pass(1ms);
  EXPECT_THAT(Claims(), ElementsAre("c"));
}

TEST_F(ClaimLife, TheLastConsumerEndsTheAllocation) {
  MakeClaim("c");
  MakePod("a", "resourceClaimName", "c", R"("annotations":{"sandbox.berth.dev/run-for":"10s"})");
  MakePod("b", "resourceClaimName", "c", R"("annotations":{"sandbox.berth.dev/run-for":"20s"})");
  Allocate("c", {"a", "b"});
  cluster.Bind("a", "n1");
  cluster.Bind("b", "n1");
  cluster.Pass(5s);
  EXPECT_THAT(Claims(), ElementsAre("c allocated for a,b protected"));
  cluster.Pass(10s);
  EXPECT_THAT(Claims(), ElementsAre("c allocated for b protected"));
  cluster.Pass(10s);
  EXPECT_THAT(Claims(), ElementsAre("c"));
}

TEST_F(ClaimLife, ADeletedPodEndsItsReservation) {
  MakeClaim("c");
  MakePod("p", "resourceClaimName", "c");
  Allocate("c", {"p"});
  cluster.Bind("p", "n1");
  cluster.Pass(1s);
  Delete("p");
  cluster.Pass(10ms);
  EXPECT_THAT(Claims(), ElementsAre("c allocated for p protected"));  // its containers are stopping
  cluster.Pass(1s);
  EXPECT_THAT(Claims(), ElementsAre("c"));
}

TEST_F(ClaimLife, APodThatIsDeletedBeforeItWasBoundEndsItsReservation) {
  MakeClaim("c");
  MakePod("p", "resourceClaimName", "c", R"("finalizers":["x/y"])");
  Allocate("c", {"p"});
  Delete("p");
  cluster.Pass(1ms);
  EXPECT_EQ(cluster.PodCount(), 1U);
  EXPECT_THAT(Claims(), ElementsAre("c"));
}

TEST_F(ClaimLife, AReplacedPodIsNoConsumer) {
  MakeClaim("c");
  MakePod("p", "resourceClaimName", "c");
  Allocate("c", {"p"});
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/p", R"({"gracePeriodSeconds":0})");
  MakePod("p", "resourceClaimName", "c");
  EXPECT_THAT(Claims(), ElementsAre("c"));
}

TEST_F(ClaimLife, AnAllocationWithoutConsumersStays) {
  MakeClaim("c");
  Allocate("c", {});
  cluster.Pass(60s);
  EXPECT_THAT(Claims(), ElementsAre("c allocated protected"));
}

TEST_F(ClaimLife, OtherConsumersThanPodsStay) {
  MakeClaim("c");
  Allocate("c", {});
  for (const char* kind : {R"("apiGroup":"x.example","resource":"jobs")",
                           R"("apiGroup":"x.example","resource":"pods")", R"("resource":"jobs")"}) {
    cluster.Patch(kClaims + "/c/status",
                  fmt::format(R"({{"status":{{"reservedFor":[{{{},"name":"j","uid":"u"}}]}}}})", kind),
                  "merge");
    cluster.Pass(60s);
    EXPECT_THAT(Claims(), ElementsAre("c allocated for j protected")) << kind;
  }
}

// --- deletion ---

TEST_F(ClaimLife, AClaimInUseIsDeletedWithItsLastPod) {
  MakeClaim("c");
  MakePod("p", "resourceClaimName", "c", R"("annotations":{"sandbox.berth.dev/run-for":"10s"})");
  Allocate("c", {"p"});
  cluster.Bind("p", "n1");
  cluster.Do("DELETE", kClaims + "/c");
  cluster.Pass(5s);
  EXPECT_THAT(Claims(), ElementsAre("c allocated for p protected"));
  cluster.Pass(10s);
  EXPECT_THAT(Claims(), ElementsAre());
}

TEST_F(ClaimLife, ADeletedClaimWithoutConsumersLosesAllocationAndFinalizer) {
  MakeClaim("c");
  Allocate("c", {});
  cluster.Do("DELETE", kClaims + "/c");
  cluster.Pass(1ms);
  EXPECT_THAT(Claims(), ElementsAre());
}

TEST_F(ClaimLife, AClaimFromATemplateEndsWithThePod) {
  MakeTemplate();
  MakePodFromTemplate("p", R"("annotations":{"sandbox.berth.dev/run-for":"10s"})");
  Allocate(ClaimOf("p"), {"p"});
  cluster.Bind("p", "n1");
  cluster.Pass(5s);
  EXPECT_EQ(Claims().size(), 1U);
  cluster.Pass(10s);
  EXPECT_EQ(At(cluster.Pod("p"), "status.phase"), "Succeeded");
  EXPECT_THAT(Claims(), ElementsAre());
}

TEST_F(ClaimLife, AClaimFromATemplateIsDeletedWithThePod) {
  MakeTemplate();
  MakePodFromTemplate("p");
  Allocate(ClaimOf("p"), {"p"});
  cluster.Bind("p", "n1");
  cluster.Pass(1s);
  Delete("p");
  cluster.Pass(5s);
  EXPECT_EQ(cluster.PodCount(), 0U);
  EXPECT_THAT(Claims(), ElementsAre());
}

TEST_F(ClaimLife, TheClaimOfExtendedResourcesEndsWithThePod) {
  const auto pod = cluster.CreatePod("p", R"("restartPolicy":"Never")",
                                     R"("annotations":{"sandbox.berth.dev/run-for":"10s"})");
  const auto owned = cluster.Make(
      kGroup, "resourceclaims",
      fmt::format(
          R"({{"metadata":{{"name":"c","ownerReferences":[{{"apiVersion":"v1","kind":"Pod","name":"p","uid":"{}","controller":true}}]}},"spec":{}}})",
          At(pod.Json(), "metadata.uid"), kSpec));
  ASSERT_EQ(owned.status, 201) << owned.text;
  cluster.Patch(
      "/api/v1/namespaces/default/pods/p/status",
      R"({"status":{"extendedResourceClaimStatus":{"resourceClaimName":"c","requestMappings":[]}}})",
      "merge");
  Allocate("c", {"p"});
  cluster.Bind("p", "n1");
  cluster.Pass(5s);
  EXPECT_THAT(Claims(), ElementsAre("c allocated for p protected"));
  cluster.Pass(10s);
  EXPECT_THAT(Claims(), ElementsAre());
}

}  // namespace
}  // namespace berth::sandbox
