// Input of `berth explain`: dumps, names of pods, and a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sandbox/cluster/test_cluster.hpp"
#include "testing/builders.hpp"
#include "tools/explain/cluster_input.hpp"
#include "tools/explain/input_check.hpp"
#include "tools/explain/pod_selection.hpp"
#include "tools/explain/read_only_server.hpp"

namespace berth::explain {
namespace {

using berth::testing::MakePod;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PodSelection, AcceptsTheFormsOfKubectlAndOfMessages) {
  struct Case {
    const char* name;
    const char* want;  // empty: an error
  };
  const Case cases[] = {
      {"web", "shop/web"},
      {"pod/web", "shop/web"},
      {"pods/web", "shop/web"},
      {"po/web", "shop/web"},
      {"other/web", "other/web"},
      {"a/b/c", ""},
      {"/web", ""},
      {"shop/", ""},
      {"", ""},
      {"deploy/web", ""},
  };
  for (const Case& c : cases) {
    const auto key = PodKey(c.name, "shop");
    EXPECT_EQ(key.value_or(""), c.want) << c.name;
  }
  EXPECT_THAT(PodKey("deploy/web", "shop").error().message, HasSubstr("expected a pod, got a deploy"));
  EXPECT_TRUE(NamesPod("pod/web"));
  EXPECT_TRUE(NamesPod("deploy/web")) << "so that the error is about pods";
  EXPECT_FALSE(NamesPod("dumps/cluster.json"));
}

TEST(PodSelection, AnUnknownPodNamesTheNearest) {
  EXPECT_EQ(UnknownPod("default/web", {"shop/web"}),
            "there is no pod default/web; there is shop/web (-n shop)");
  EXPECT_EQ(UnknownPod("shop/wbe", {"shop/web"}), "there is no pod shop/wbe; the nearest name is shop/web");
  EXPECT_EQ(UnknownPod("shop/web", {}), "there is no pod shop/web");
}

class RecordingServer final : public migrate::Server {
 public:
  explicit RecordingServer(std::vector<std::string>& sent) : sent_(sent) {}
  client::Reply Send(client::ApiRequest request) override {
    sent_.push_back(request.method + " " + request.path);
    return std::string("{}");
  }

 private:
  std::vector<std::string>& sent_;
};

TEST(ReadOnlyServer, SendsNothingButGet) {
  std::vector<std::string> sent;
  ReadOnlyServer server(std::make_unique<RecordingServer>(sent));
  for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "get"}) {
    const client::Reply reply = server.Send({.method = method, .path = "/api/v1/pods"});
    ASSERT_FALSE(reply.has_value()) << method;
    EXPECT_THAT(reply.error().message, HasSubstr("/api/v1/pods was not sent")) << method;
  }
  EXPECT_FALSE(server.Send({.path = "/api/v1/pods", .body = "{}"}).has_value());
  EXPECT_THAT(sent, IsEmpty());
  EXPECT_TRUE(server.Send({.path = "/api/v1/pods"}).has_value());
  EXPECT_THAT(sent, ElementsAre("GET /api/v1/pods"));
}

TEST(InputCheck, NamesWhatTheInputHasInstead) {
  struct Case {
    KindCounts kinds;
    const char* want;  // empty: no error
  };
  const Case cases[] = {
      {{{"Node", 1}, {"Pod", 1}}, ""},
      {{}, "the input is empty: pass the nodes"},
      {{{"Deployment", 1}}, "the input has no pods and no nodes, only 1 Deployment:"},
      {{{"Pod", 3}}, "the input has no nodes, only 3 Pod:"},
      {{{"Node", 2}}, "the input has no pods, only 2 Node:"},
  };
  for (const Case& c : cases) {
    const auto checked = CheckInput(c.kinds);
    EXPECT_EQ(checked.has_value(), std::string(c.want).empty());
    if (checked) continue;
    EXPECT_THAT(checked.error().message, AllOf(HasSubstr(c.want), HasSubstr("kubectl get nodes,pods")));
  }
}

TEST(InputCheck, WarnsOfKindsThatThePodsNeed) {
  api::Pod claims = MakePod("p");
  api::Volume volume;
  volume.source = api::Volume::Source::kPersistentVolumeClaim;
  volume.id = "data";
  claims.spec.volumes.push_back(volume);
  const auto shared = std::make_shared<const api::Pod>(claims);
  EXPECT_THAT(IncompleteInput({{"Pod", 1}}, {MakePod("plain").Share()}), IsEmpty());
  EXPECT_THAT(
      IncompleteInput({{"PersistentVolumeClaim", 1}, {"PersistentVolume", 1}, {"CSINode", 1}}, {shared}),
      ElementsAre("the input has no StorageClass, but pods use claims. If the cluster has them, add them: "
                  "kubectl get nodes,pods,storageclasses -A -o json > cluster.json"));
  EXPECT_THAT(IncompleteInput({}, {MakePod("high").Priority(5).Share()}),
              ElementsAre(HasSubstr("no PodDisruptionBudget, but pods may preempt others")));
}

// The API server of the sandbox. Requests for `forbidden` get 403.
class SandboxServer final : public migrate::Server {
 public:
  client::Reply Send(client::ApiRequest request) override {
    methods.push_back(request.method);
    if (!forbidden.empty() && request.path.find(forbidden) != std::string::npos)
      return std::unexpected(client::RequestError{
          .code = ErrorCode::kUnauthorized, .message = "user cannot list this", .http_code = 403});
    const sandbox::RecordedResponse response = cluster.Get(request.path);
    if (response.status == 200) return response.text;
    return std::unexpected(client::RequestError{
        .code = ErrorCode::kNotFound, .message = "not found", .http_code = response.status});
  }
  sandbox::TestCluster cluster;
  std::string forbidden;
  std::vector<std::string> methods;
};

const Wanted kEverything = [](const client::Resource& resource) {
  return resource.feature_gate.empty() && !resource.on_request;
};

TEST(ClusterInput, ReadsAllKindsWithGetRequestsInPages) {
  SandboxServer server;
  server.cluster.CreateNode("n1");
  for (int i = 0; i < 501; ++i) server.cluster.CreatePod("p" + std::to_string(i));
  std::map<std::string, int> pages;
  std::vector<std::string> warnings;
  const auto read = ReadCluster(
      server,
      [&](const std::string& body, const std::string& path) -> Expected<void> {
        ++pages[path];
        EXPECT_THAT(body, HasSubstr("\"items\""));
        return {};
      },
      kEverything, warnings);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_THAT(server.methods, ::testing::Each("GET"));
  EXPECT_EQ(pages["/api/v1/pods"], 2);
  EXPECT_EQ(pages["/api/v1/nodes"], 1);
  EXPECT_EQ(pages["/apis/storage.k8s.io/v1/storageclasses"], 1);
}

TEST(ClusterInput, WarnsOfKindsThatMayNotBeListedAndFailsWithoutPods) {
  const LoadPage ignore = [](const std::string&, const std::string&) -> Expected<void> { return {}; };
  SandboxServer server;
  std::vector<std::string> warnings;
  server.forbidden = "csinodes";
  EXPECT_TRUE(ReadCluster(server, ignore, kEverything, warnings));
  EXPECT_THAT(warnings,
              ElementsAre("cannot list csinodes: user cannot list this; the explanation does not consider "
                          "them"));
  server.forbidden = "/pods";
  const auto read = ReadCluster(server, ignore, kEverything, warnings);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "cannot list pods: user cannot list this");
}

}  // namespace
}  // namespace berth::explain
