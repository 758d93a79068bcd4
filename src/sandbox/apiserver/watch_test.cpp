#include <gmock/gmock.h>

#include "sandbox/cluster/test_cluster.hpp"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr const char* kStreaming = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

TEST(Watch, WithoutAVersionBeginsWithTheCurrentState) {
  TestCluster cluster;
  cluster.CreatePod("b");
  cluster.CreatePod("a");
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=true");
  EXPECT_EQ(watch->status, 200);
  EXPECT_EQ(watch->TakeSummary(), "ADDED a, ADDED b");
  cluster.Bind("a", "n1");
  EXPECT_EQ(watch->TakeSummary(), "MODIFIED a");
}

TEST(Watch, FromAVersionSendsOnlyLaterChanges) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto version = At(cluster.Get("/api/v1/pods").Json(), "metadata.resourceVersion");
  cluster.CreatePod("b");
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1&resourceVersion=" + version);
  EXPECT_EQ(watch->TakeSummary(), "ADDED b");
  cluster.CreatePod("c");
  EXPECT_EQ(watch->TakeSummary(), "ADDED c");
}

TEST(Watch, EventsAreOneObjectPerLineWithKindAndVersion) {
  TestCluster cluster;
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1");
  cluster.CreatePod("a");
  EXPECT_TRUE(watch->text.starts_with(
      "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"));
  EXPECT_TRUE(watch->text.ends_with("}\n"));
}

TEST(Watch, AnObjectThatStopsMatchingIsDeletedWithItsOldContentAndTheNewVersion) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D");
  EXPECT_EQ(watch->TakeSummary(), "ADDED a");
  cluster.Bind("a", "n1");
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], "type"), "DELETED");
  EXPECT_EQ(At(events[0], "object.spec.nodeName"), "");
  EXPECT_EQ(At(events[0], "object.metadata.resourceVersion"),
            At(cluster.Pod("a"), "metadata.resourceVersion"));
}

TEST(Watch, AnObjectThatStartsToMatchIsAdded) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3Dn1");
  cluster.Bind("a", "n2");
  cluster.CreatePod("b");
  cluster.Bind("b", "n1");
  EXPECT_EQ(watch->TakeSummary(), "ADDED b");
}

TEST(Watch, AStreamingListEndsWithAnAnnotatedBookmark) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto watch =
      cluster.Open("GET", std::string("/api/v1/pods?watch=1&allowWatchBookmarks=true") + kStreaming);
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(At(events[0], "type"), "ADDED");
  EXPECT_EQ(At(events[1], "type"), "BOOKMARK");
  EXPECT_EQ(
      events[1].at("object").at("metadata").at("annotations").at("k8s.io/initial-events-end").as_string(),
      "true");
  EXPECT_EQ(At(events[1], "object.metadata.resourceVersion"), std::to_string(cluster.store.version()));
  EXPECT_EQ(At(events[1], "object.kind"), "Pod");
}

TEST(Watch, AStreamingListRequiresNotOlderThan) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Get("/api/v1/pods?watch=1&sendInitialEvents=true").status, 422);
  EXPECT_EQ(cluster.Get("/api/v1/pods?watch=1&resourceVersionMatch=NotOlderThan").status, 422);
}

TEST(Watch, AVersionBeyondTheWindowIsExpired) {
  TestCluster cluster(3);
  for (const std::string_view name : {"a", "b", "c", "d", "e"}) cluster.CreatePod(name);
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1&resourceVersion=4");
  EXPECT_EQ(watch->status, 200);
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], "type"), "ERROR");
  EXPECT_EQ(At(events[0], "object.code"), "410");
  EXPECT_EQ(At(events[0], "object.reason"), "Expired");
  EXPECT_EQ(At(events[0], "object.message"), "too old resource version: 4 (8)");
  EXPECT_TRUE(watch->closed);
}

TEST(Watch, AStreamingListMayHaveAVersionBeyondTheWindow) {
  TestCluster cluster(3);
  for (const std::string_view name : {"a", "b", "c", "d", "e"}) cluster.CreatePod(name);
  const auto watch = cluster.Open("GET", std::string("/api/v1/pods?watch=1&resourceVersion=4") + kStreaming);
  EXPECT_EQ(watch->TakeEvents().size(), 5u);
}

TEST(Watch, AStreamingListOfAFutureVersionFailsAfterThreeSeconds) {
  TestCluster cluster;
  const auto watch =
      cluster.Open("GET", std::string("/api/v1/pods?watch=1&resourceVersion=999") + kStreaming);
  cluster.Pass(2s);
  EXPECT_EQ(watch->text, "");
  cluster.Pass(1s);
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], "object.message"), "Timeout: Too large resource version: 999, current: 3");
  EXPECT_TRUE(watch->closed);
}

TEST(Watch, AWatchFromAFutureVersionIsExpired) {
  TestCluster cluster;
  const auto watch = cluster.Open("GET", "/api/v1/pods?watch=1&resourceVersion=999");
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], "object.code"), "410");
  EXPECT_EQ(At(events[0], "object.message"), "too large resource version: 999 (3)");
  EXPECT_TRUE(watch->closed);
}

TEST(Watch, BookmarksAreSentEveryMinuteAndBeforeTheEnd) {
  TestCluster cluster;
  const auto watch = cluster.Open(
      "GET", "/api/v1/pods?watch=1&resourceVersion=1&allowWatchBookmarks=true&timeoutSeconds=100");
  cluster.Pass(59s);
  EXPECT_EQ(watch->TakeSummary(), "");
  cluster.Pass(1s);
  EXPECT_EQ(watch->TakeSummary(), "BOOKMARK");
  cluster.Pass(38s);
  EXPECT_EQ(watch->TakeSummary(), "BOOKMARK");
  EXPECT_FALSE(watch->closed);
  cluster.Pass(2s);
  EXPECT_TRUE(watch->closed);
  EXPECT_EQ(cluster.api.watches().watches(), 0u);
}

TEST(Watch, ATableWatchSendsItsColumnsOnce) {
  TestCluster cluster;
  const auto watch =
      cluster.Open("GET", "/api/v1/pods?watch=1", "", "", "application/json;as=Table;v=v1;g=meta.k8s.io");
  cluster.CreatePod("a");
  cluster.CreatePod("b");
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(events[0].at("object").at("columnDefinitions").is_array());
  EXPECT_TRUE(events[1].at("object").at("columnDefinitions").is_null());
}

TEST(Watch, BothEventGroupsShareTheirEvents) {
  TestCluster cluster;
  const auto watch = cluster.Open("GET", "/apis/events.k8s.io/v1/events?watch=1");
  cluster.Create(
      "/api/v1/namespaces/default/events",
      R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","namespace":"default","name":"a"},"message":"hello","type":"Normal"})");
  const auto events = watch->TakeEvents();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(At(events[0], "object.note"), "hello");
  EXPECT_EQ(At(events[0], "object.regarding.name"), "a");
  EXPECT_EQ(At(events[0], "object.apiVersion"), "events.k8s.io/v1");
}

// --- lists ---

std::vector<std::string> Names(const json::value& list) {
  std::vector<std::string> names;
  for (const auto& item : list.at("items").as_array()) names.push_back(At(item, "metadata.name"));
  return names;
}

TEST(List, ItemsHaveNoKindAndAreOrderedByKey) {
  TestCluster cluster;
  cluster.CreatePod("b");
  cluster.CreatePod("a");
  const auto list = cluster.Get("/api/v1/pods").Json();
  EXPECT_EQ(At(list, "kind"), "PodList");
  EXPECT_THAT(Names(list), ElementsAre("a", "b"));
  EXPECT_FALSE(list.at("items").as_array()[0].as_object().contains("kind"));
  EXPECT_EQ(At(list, "metadata.resourceVersion"), std::to_string(cluster.store.version()));
}

TEST(List, AnEmptyListIsNotNull) {
  TestCluster cluster;
  EXPECT_EQ(At(cluster.Get("/api/v1/namespaces/nowhere/pods").Json(), "items"), "[]");
}

TEST(List, PagesShowOneVersion) {
  TestCluster cluster;
  for (const std::string_view name : {"a", "b", "c", "d"}) cluster.CreatePod(name);
  const auto first = cluster.Get("/api/v1/namespaces/default/pods?limit=2").Json();
  EXPECT_THAT(Names(first), ElementsAre("a", "b"));
  EXPECT_EQ(At(first, "metadata.remainingItemCount"), "2");
  cluster.CreatePod("bb");
  cluster.Do("DELETE", "/api/v1/namespaces/default/pods/d");
  const auto second =
      cluster.Get("/api/v1/namespaces/default/pods?limit=2&continue=" + At(first, "metadata.continue"))
          .Json();
  EXPECT_THAT(Names(second), ElementsAre("c", "d"));
  EXPECT_EQ(At(second, "metadata.continue"), "");
  EXPECT_EQ(At(second, "metadata.resourceVersion"), At(first, "metadata.resourceVersion"));
}

TEST(List, APageOfAnExpiredVersionOffersAnInconsistentContinuation) {
  TestCluster cluster(3);
  for (const std::string_view name : {"a", "b", "c"}) cluster.CreatePod(name);
  const auto first = cluster.Get("/api/v1/pods?limit=1").Json();
  for (const std::string_view name : {"d", "e", "f", "g"}) cluster.CreatePod(name);
  const auto expired = cluster.Get("/api/v1/pods?limit=1&continue=" + At(first, "metadata.continue"));
  EXPECT_EQ(expired.status, 410);
  const auto rest = cluster.Get("/api/v1/pods?continue=" + At(expired.Json(), "metadata.continue")).Json();
  EXPECT_THAT(Names(rest), ElementsAre("b", "c", "d", "e", "f", "g"));
}

TEST(List, ReturnsAnExactPastVersion) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto version = std::to_string(cluster.store.version());
  cluster.CreatePod("b");
  EXPECT_THAT(Names(cluster.Get("/api/v1/pods?resourceVersionMatch=Exact&resourceVersion=" + version).Json()),
              ElementsAre("a"));
  EXPECT_THAT(
      Names(cluster.Get("/api/v1/pods?resourceVersionMatch=NotOlderThan&resourceVersion=" + version).Json()),
      ElementsAre("a", "b"));
}

TEST(List, WaitsThreeSecondsForAFutureVersion) {
  TestCluster cluster;
  const auto next = std::to_string(cluster.store.version() + 1);
  const auto waiting = cluster.Open("GET", "/api/v1/pods?resourceVersion=" + next);
  cluster.Pass(1s);
  EXPECT_FALSE(waiting->answered);
  cluster.CreatePod("a");
  cluster.Pass(100ms);
  EXPECT_EQ(waiting->status, 200);
  const auto never = cluster.Open("GET", "/api/v1/pods?resourceVersion=999");
  cluster.Pass(4s);
  EXPECT_EQ(never->status, 504);
  EXPECT_EQ(At(never->Json().at("details").at("causes").as_array()[0], "reason"), "ResourceVersionTooLarge");
}

TEST(List, ReturnsMetadataOnlyOnRequest) {
  TestCluster cluster;
  cluster.CreatePod("a");
  const auto list = cluster
                        .Open("GET", "/api/v1/pods", "", "",
                              "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
                        ->Json();
  EXPECT_EQ(At(list, "kind"), "PartialObjectMetadataList");
  EXPECT_FALSE(list.at("items").as_array()[0].as_object().contains("spec"));
}

TEST(List, UnknownMediaTypesAreNotAcceptable) {
  TestCluster cluster;
  EXPECT_EQ(cluster.Open("GET", "/api/v1/pods", "", "", "text/html")->status, 406);
  EXPECT_EQ(cluster.Open("GET", "/api/v1/pods", "", "", "application/vnd.kubernetes.protobuf")->status, 200);
}

}  // namespace
}  // namespace berth::sandbox
