#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "testing/temporary_directory.hpp"
#include "tools/migrate/fake_server.hpp"
#include "tools/scheduler_access/leader.hpp"
#include "tools/scheduler_access/port_forward.hpp"
#include "tools/scheduler_access/scheduler_connection.hpp"

namespace berth::scheduler_access {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/";
constexpr const char* kPods = "/api/v1/namespaces/kube-system/pods";

std::string Lease(const std::string& holder) {
  return fmt::format(R"({{"spec":{{"holderIdentity":"{}"}}}})", holder);
}

// A pod with one container.
std::string Pod(const std::string& name, const std::string& container) {
  return fmt::format(
      R"({{"metadata":{{"namespace":"kube-system","name":"{}"}},"spec":{{"containers":[{}]}}}})", name,
      container);
}

const std::string kKubeScheduler = R"({"command":["kube-scheduler","--secure-port=10300"]})";
const std::string kBerth =
    R"({"image":"registry.example/berth:1","args":["scheduler","--config=/etc/berth/s.yaml"]})";
const std::string kOther = R"({"image":"registry.example/etcd:3","command":["etcd"]})";

TEST(Leader, IsFoundByTheHostNameInTheLease) {
  struct Case {
    const char* name;
    std::string lease, holder;        // of the Lease that exists
    std::vector<std::string> named;   // pods that are requested by name
    std::vector<std::string> listed;  // pods on the node
    const char* want;                 // "namespace/name:port", or a part of the error
  };
  const Case cases[] = {
      {"a pod with its own network",
       "berth",
       "berth-7c-x_1-2",
       {Pod("berth-7c-x", kBerth)},
       {},
       "kube-system/berth-7c-x:10259"},
      {"a static pod in the network of its node",
       "kube-scheduler",
       "master_1-2",
       {},
       {Pod("etcd-master", kOther), Pod("kube-scheduler-master", kKubeScheduler)},
       "kube-system/kube-scheduler-master:10300"},
      {"a pod of that name that is no scheduler",
       "kube-scheduler",
       "master_1-2",
       {Pod("master", kOther)},
       {Pod("kube-scheduler-master", kKubeScheduler)},
       "kube-system/kube-scheduler-master:10300"},
      {"a scheduler outside of pods",
       "kube-scheduler",
       "laptop_1-2",
       {},
       {},
       "Lease kube-system/kube-scheduler: there is no scheduler pod laptop"},
      {"no holder", "kube-scheduler", "", {}, {}, "has a holder"},
      {"the port is disabled",
       "kube-scheduler",
       "a_1",
       {Pod("a", R"({"command":["kube-scheduler","--secure-port","0"]})")},
       {},
       "there is no scheduler pod a"},
  };
  for (const Case& c : cases) {
    migrate::FakeServer server;
    server.Put(kLeases + c.lease, Lease(c.holder));
    for (const std::string& pod : c.named) {
      const auto name = migrate::TextAt(*yaml::ParseValue(pod), {"metadata", "name"});
      server.Put(fmt::format("{}/{}", kPods, name), pod);
    }
    server.List(kPods, c.listed);
    const auto leader = FindLeader(server, "");
    const std::string got =
        leader ? fmt::format("{}/{}:{}", leader->ns, leader->name, leader->port) : leader.error().message;
    EXPECT_THAT(got, HasSubstr(c.want)) << c.name;
  }
}

TEST(Leader, WithoutALeaseIsTheOnlySchedulerPod) {
  migrate::FakeServer server;
  server.Put(kPods, [&](const client::ApiRequest& request) -> client::Reply {
    const bool berth = request.path.contains("berth");
    return migrate::FakeServer::ListOf(berth ? std::vector<std::string>{}
                                             : std::vector{Pod("only", kKubeScheduler)});
  });
  const auto leader = FindLeader(server, "");
  ASSERT_TRUE(leader) << leader.error().message;
  EXPECT_EQ(leader->name, "only");
}

TEST(Leader, OfANamedLeaseFailsWithTheReason) {
  migrate::FakeServer server;
  server.Put(std::string(kLeases) + "free", Lease(""));
  server.Forbid(std::string(kLeases) + "secret");
  EXPECT_THAT(FindLeader(server, "kube-system/none").error().message, "there is no Lease kube-system/none");
  EXPECT_THAT(FindLeader(server, "kube-system/free").error().message, HasSubstr("has no holder"));
  EXPECT_THAT(FindLeader(server, "kube-system/secret").error().message, HasSubstr("user cannot do this"));
  for (const char* wrong : {"free", "/free", "kube-system/", "a/b/c"})
    EXPECT_THAT(FindLeader(server, wrong).error().message,
                HasSubstr("--lease: " + std::string(wrong) + ": expected"));
}

TEST(SettingsForAScheduler, VerifyItsCertificate) {
  const client::SystemEnvironment environment;
  client::ConnectionConfig cluster;
  cluster.origin = *http::ParseOrigin("https://api.example:6443");
  cluster.ca = {.text = "authority of the cluster"};
  cluster.token = "t";
  struct Case {
    const char* name;
    bool forwarded;
    AccessOptions options;
    bool insecure;
    std::string ca_text, ca_file;
  };
  const Case cases[] = {
      {"--server: the authority of the cluster", false, {}, false, "authority of the cluster", ""},
      {"--server with --scheduler-ca", false, {.ca_file = "ca.crt"}, false, "", "ca.crt"},
      {"--server without verification", false, {.insecure = true}, true, "", ""},
      {"a forwarded port is not verified", true, {}, true, "", ""},
      {"a forwarded port with --scheduler-ca", true, {.ca_file = "ca.crt"}, false, "", "ca.crt"},
  };
  for (const Case& c : cases) {
    const auto settings =
        SettingsFor("https://127.0.0.1:10259", c.forwarded, c.options, cluster, environment);
    ASSERT_TRUE(settings) << c.name;
    EXPECT_EQ(settings->insecure, c.insecure) << c.name;
    EXPECT_EQ(settings->ca.text, c.ca_text) << c.name;
    EXPECT_EQ(settings->ca.file, c.ca_file) << c.name;
    EXPECT_EQ(settings->origin.HostPort(), "127.0.0.1:10259") << c.name;
    EXPECT_EQ(settings->token, "t") << c.name;
  }
  EXPECT_THAT(SettingsFor("http://127.0.0.1:10251", false, {}, cluster, environment).error().message,
              HasSubstr("credentials are not sent in clear text"));
  EXPECT_THAT(SettingsFor("https://a", false, {.ca_file = "f", .insecure = true}, cluster, environment)
                  .error()
                  .message,
              HasSubstr("--scheduler-ca excludes"));
}

// A directory in PATH with a program named kubectl.
class PortForwardTest : public ::testing::Test {
 protected:
  PortForwardTest() {
    path_ = std::getenv("PATH");
    ::setenv("PATH", (folder_.string() + ":" + path_).c_str(), 1);
  }
  ~PortForwardTest() override { ::setenv("PATH", path_.c_str(), 1); }
  void Kubectl(const std::string& script) {
    const std::filesystem::path program = folder_ / "kubectl";
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    ::chmod(program.c_str(), 0755);
  }
  Expected<PortForward> Start(Duration timeout = std::chrono::seconds(20)) {
    return PortForward::Start(
        {.kubeconfig = "k", .context = "c", .ns = "kube-system", .pod = "berth-0", .port = 10259}, clock_,
        timeout);
  }

  SystemClock clock_;
  const berth::testing::TemporaryDirectory temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
  std::string path_;
};

TEST_F(PortForwardTest, ReadsThePortThatKubectlChose) {
  Kubectl("echo \"$@\" > " + (folder_ / "arguments").string() +
          "; echo 'Forwarding from 127.0.0.1:4242 -> 10259'; exec sleep 60");
  const auto forward = Start();
  ASSERT_TRUE(forward) << forward.error().message;
  EXPECT_EQ(forward->port(), 4242);
  std::ifstream file(folder_ / "arguments");
  const std::string arguments((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(arguments,
            "--kubeconfig=k --context=c --namespace=kube-system port-forward --address=127.0.0.1 pod/berth-0 "
            ":10259\n");
}

TEST_F(PortForwardTest, FailsWithTheMessageOfKubectl) {
  Kubectl("echo 'error: pod not running' >&2; exit 1");
  EXPECT_EQ(Start().error().message,
            "kubectl port-forward to pod kube-system/berth-0: error: pod not running");
}

TEST_F(PortForwardTest, EndsAtTheDeadline) {
  Kubectl("exec sleep 60");
  const auto forward = Start(std::chrono::milliseconds(50));
  ASSERT_FALSE(forward);
  EXPECT_EQ(forward.error().code, ErrorCode::kTimeout);
}

TEST_F(PortForwardTest, NeedsKubectl) {
  ::setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(Start().error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::scheduler_access
