#include "tools/explain/running_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/migrate/fake_server.hpp"

namespace berth::explain {
namespace {

using ::testing::HasSubstr;

// A leader with these arguments and one mounted volume.
migrate::FakeServer ClusterWith(const std::string& args, const std::string& volume) {
  migrate::FakeServer server;
  server.Put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth",
             std::string(R"({"spec":{"holderIdentity":"berth-0_1"}})"));
  server.Put(
      "/api/v1/namespaces/kube-system/pods/berth-0",
      R"({"metadata":{"namespace":"kube-system","name":"berth-0"},"spec":{"volumes":[{"name":"config",)" +
          volume + R"(}],"containers":[{"image":"berth:1","args":["scheduler")" + args +
          R"(],"volumeMounts":[{"name":"config","mountPath":"/etc/berth"}]}]}})");
  server.Put("/api/v1/namespaces/kube-system/configmaps/settings",
             std::string(R"({"data":{"scheduler.yaml":"kind: KubeSchedulerConfiguration"}})"));
  return server;
}

TEST(RunningConfig, IsThatOfTheLeader) {
  const std::string map = R"("configMap":{"name":"settings"})",
                    host = R"("hostPath":{"path":"/etc/kubernetes"})";
  struct Case {
    const char* name;
    std::string args, volume;
    const char* text;    // of the configuration
    const char* source;  // or a part of the error
  };
  const Case cases[] = {
      {"a ConfigMap", R"(,"--config=/etc/berth/scheduler.yaml")", map, "kind: KubeSchedulerConfiguration",
       "ConfigMap kube-system/settings of pod kube-system/berth-0"},
      {"no file", R"(,"--v=2")", map, "", "the defaults of pod kube-system/berth-0"},
      {"a file on the node", R"(,"--config","/etc/berth/scheduler.yaml")", host, "",
       "is the file /etc/kubernetes/scheduler.yaml on its node"},
      {"a file of the image", R"(,"--config=/opt/scheduler.yaml")", map, "", "is in no ConfigMap"},
      {"a ConfigMap without the key", R"(,"--config=/etc/berth/other.yaml")", map, "", "no key other.yaml"},
  };
  for (const Case& c : cases) {
    migrate::FakeServer server = ClusterWith(c.args, c.volume);
    const auto found = FindRunningConfig(server);
    EXPECT_EQ(found ? found->text : "", c.text) << c.name;
    EXPECT_THAT(found ? found->source : found.error().message, HasSubstr(c.source)) << c.name;
  }
}

TEST(RunningConfig, HasTheFeatureGatesOfTheCommandLine) {
  migrate::FakeServer server = ClusterWith(R"(,"--feature-gates=A=true")", R"("emptyDir":{})");
  EXPECT_EQ(FindRunningConfig(server).value().feature_gates, "A=true");
}

}  // namespace
}  // namespace berth::explain
