#include "tools/migrate/running_scheduler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temporary_file.hpp"
#include "tools/migrate/fake_server.hpp"

namespace berth::migrate {
namespace {

using berth::testing::TemporaryFile;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kKubeadm = R"(apiVersion: v1
kind: Pod
metadata: {name: kube-scheduler, namespace: kube-system, labels: {component: kube-scheduler}}
spec:
  containers:
  - name: kube-scheduler
    image: registry.k8s.io/kube-scheduler:v1.33.2
    command: [kube-scheduler, --kubeconfig=/etc/kubernetes/scheduler.conf, --config=/etc/kubernetes/s/config.yaml]
    volumeMounts:
    - {name: conf, mountPath: /etc/kubernetes/s}
  volumes:
  - {name: conf, hostPath: {path: /srv/scheduler}}
)";

TEST(RunningScheduler, IsReadFromAManifest) {
  const struct {
    const char* manifest;
    std::vector<std::string> args;
  } kCases[] = {
      {kKubeadm, {"--kubeconfig=/etc/kubernetes/scheduler.conf", "--config=/etc/kubernetes/s/config.yaml"}},
      {"spec: {containers: [{name: a, image: x/kube-scheduler:v1, args: [-v=2]}]}\nkind: Pod", {"-v=2"}},
      {"spec: {containers: [{name: a, image: x, command: [/entry], args: [/bin/kube-scheduler, --port=0]}]}\n"
       "kind: Pod",
       {"--port=0"}},
      {"kind: Service\nspec: {ports: []}\n---\nkind: Deployment\nspec: {template: {spec: {containers: "
       "[{image: "
       "kube-scheduler}]}}}",
       {}},
  };
  for (const auto& one : kCases) {
    const TemporaryFile file(one.manifest);
    const auto scheduler = ReadSchedulerManifest(file.path());
    ASSERT_TRUE(scheduler) << one.manifest << scheduler.error().message;
    EXPECT_EQ(scheduler->args, one.args) << one.manifest;
  }
}

TEST(RunningScheduler, AManifestWithoutASchedulerIsAnError) {
  const struct {
    const char* manifest;
    const char* error;
  } kCases[] = {
      {"kind: Pod\nspec: {containers: [{image: nginx, command: [nginx]}]}", "no container of it runs"},
      {"kind: ConfigMap\ndata: {}", "not a pod"},
      {"", "it contains no object"},
      {"kind: Pod\nspec: {containers: [{image: kube-scheduler, command: [sh, -c, exec kube-scheduler]}]}",
       "only a plain command line can be read"},
  };
  for (const auto& one : kCases) {
    const TemporaryFile file(one.manifest);
    const auto scheduler = ReadSchedulerManifest(file.path());
    ASSERT_FALSE(scheduler) << one.manifest;
    EXPECT_THAT(scheduler.error().message, HasSubstr(one.error));
    EXPECT_THAT(scheduler.error().message, HasSubstr(file.path()));
  }
}

TEST(RunningScheduler, FindsTheSourcesOfItsFiles) {
  const TemporaryFile file(kKubeadm);
  const auto scheduler = ReadSchedulerManifest(file.path());
  const auto mounted = scheduler->Find("/etc/kubernetes/s/config.yaml");
  ASSERT_TRUE(mounted);
  EXPECT_EQ(mounted->host_path, "/srv/scheduler/config.yaml");
  EXPECT_FALSE(scheduler->Find("/etc/kubernetes/scheduler.conf"));
}

constexpr const char* kPod =
    R"({"metadata":{"name":"s-1","namespace":"kube-system"},"spec":{"containers":[{"name":"s",
    "image":"kube-scheduler:v1","command":["kube-scheduler","--config=/c/scheduler.yaml"],
    "volumeMounts":[{"name":"c","mountPath":"/c"}]}],
    "volumes":[{"name":"c","configMap":{"name":"cm","items":[{"key":"k","path":"scheduler.yaml"}]}}]}})";

TEST(RunningScheduler, IsFoundInTheClusterWithAConfigurationFromAConfigMap) {
  FakeServer server;
  server.List("/api/v1/namespaces/kube-system/pods", {kPod});
  server.Put("/api/v1/namespaces/kube-system/configmaps/cm", R"({"data":{"k":"kind: X"}})");
  const auto live = FindLiveSchedulers(server);
  ASSERT_TRUE(live && live->first);
  EXPECT_EQ(live->first->where, "pod kube-system/s-1");
  EXPECT_THAT(live->first->args, ElementsAre("--config=/c/scheduler.yaml"));
  const auto file = live->first->Find("/c/scheduler.yaml");
  ASSERT_TRUE(file);
  EXPECT_EQ(ReadFromConfigMap(server, "kube-system", *file).value_or(""), "kind: X");
  EXPECT_THAT(ReadFromConfigMap(server, "kube-system", {"other", "k", ""}).error().message,
              HasSubstr("ConfigMap kube-system/other"));
}

TEST(RunningScheduler, DifferentReplicasAreReported) {
  std::string other = kPod;
  other.replace(other.find("/c/scheduler.yaml"), 3, "/d/");
  FakeServer server;
  server.List("/api/v1/namespaces/kube-system/pods", {kPod, other});
  const auto live = FindLiveSchedulers(server);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->count, 2U);
  EXPECT_TRUE(live->differ);
}

TEST(RunningScheduler, MayBeAbsent) {
  FakeServer server;
  server.List("/api/v1/namespaces/kube-system/pods", {});
  EXPECT_FALSE(FindLiveSchedulers(server)->first);
  server.Forbid("/api/v1/namespaces/kube-system/pods");
  EXPECT_FALSE(FindLiveSchedulers(server));
}

}  // namespace
}  // namespace berth::migrate
