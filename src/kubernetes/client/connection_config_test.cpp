#include "kubernetes/client/connection_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace berth::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class FakeEnvironment final : public Environment {
 public:
  Expected<std::string> ReadFile(const std::string& path) const override {
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    return Fail(ErrorCode::kNotFound, "open " + path + ": no such file or directory");
  }
  std::optional<std::string> Variable(const std::string& name) const override {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  }
  Expected<ChildResult> Run(const ChildOptions&, const ChildLimits&, std::stop_token) const override {
    return Fail(ErrorCode::kInternal, "no programs here");
  }
  bool StdinIsTerminal() const override { return false; }
  std::map<std::string, std::string> files;
  std::map<std::string, std::string> variables;
};

class ConnectionTest : public testing::Test {
 protected:
  ConnectionConfig Load(std::string_view server, std::string_view user, std::string_view cluster = "") {
    environment_.files["/k/config"] =
        "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: '" +
        std::string(server) + "', " + std::string(cluster) + "}}]\nusers: [{name: u, user: {" +
        std::string(user) + "}}]";
    auto config = LoadConnection({.kubeconfig = "/k/config"}, environment_);
    EXPECT_TRUE(config) << config.error().message;
    return config.value_or(ConnectionConfig{});
  }
  std::string Authorization(const ConnectionConfig& config) {
    const auto credentials = MakeCredentials(config, environment_, clock_).value();
    return credentials ? credentials->Authorization() : "";
  }
  void InPod() {
    environment_.variables = {{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
    environment_.files["/var/run/secrets/kubernetes.io/serviceaccount/token"] = "t1\n";
    environment_.files["/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"] = "PEM";
  }

  FakeEnvironment environment_;
  ManualClock clock_;
};

TEST_F(ConnectionTest, CredentialsAreSentOnlyOverHttps) {
  EXPECT_EQ(Authorization(Load("https://h", "token: abc")), "Bearer abc");
  EXPECT_EQ(Authorization(Load("http://h", "token: abc")), "");
  EXPECT_EQ(Authorization(Load("https://h", "username: Aladdin, password: open sesame")),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}

TEST_F(ConnectionTest, ImpersonationIsSentOverBothSchemes) {
  EXPECT_THAT(Load("http://h", "act-as: alice, act-as-groups: [a, b]").impersonation,
              ElementsAre(Pair("Impersonate-User", "alice"), Pair("Impersonate-Group", "a"),
                          Pair("Impersonate-Group", "b")));
}

TEST_F(ConnectionTest, ATokenFileIsReadAgainWhenItIsOldOrRejected) {
  environment_.files["/k/token"] = "one\n";
  const auto credentials =
      MakeCredentials(Load("https://h", "tokenFile: token"), environment_, clock_).value();
  EXPECT_EQ(credentials->Authorization(), "Bearer one");
  environment_.files["/k/token"] = "two";
  clock_.Advance(50s);
  EXPECT_EQ(credentials->Authorization(), "Bearer one");
  clock_.Advance(1s);
  EXPECT_EQ(credentials->Authorization(), "Bearer two");
  environment_.files["/k/token"] = "three";
  credentials->OnUnauthorized(0);
  EXPECT_EQ(credentials->Authorization(), "Bearer three");
  environment_.files.erase("/k/token");
  credentials->OnUnauthorized(0);
  EXPECT_EQ(credentials->Authorization(), "Bearer three") << "the old token serves while there is no new one";
}

TEST_F(ConnectionTest, TlsFilesAreRead) {
  const auto config = Load("https://h", "client-certificate: c, client-key: k", "certificate-authority: ca");
  EXPECT_THAT(
      ReadTls(config, environment_).error().message,
      "invalid configuration: unable to read certificate-authority /k/ca due to open /k/ca: no such file or "
      "directory");
  environment_.files.insert({{"/k/ca", "A"}, {"/k/c", "C"}, {"/k/k", "K"}});
  EXPECT_EQ(ReadTls(config, environment_)->certificate_pem, "C");
}

TEST_F(ConnectionTest, ACaAndInsecureExcludeEachOther) {
  environment_.files["/k/config"] =
      "{current-context: x, contexts: [{name: x, context: {cluster: c}}], clusters: [{name: c, cluster: "
      "{server: "
      "'https://h', insecure-skip-tls-verify: true, certificate-authority: a}}]}";
  EXPECT_EQ(LoadConnection({.kubeconfig = "/k/config"}, environment_).error().message,
            "specifying a root certificates file with the insecure flag is not allowed");
}

TEST_F(ConnectionTest, AConfiguredKubeconfigMustExist) {
  EXPECT_EQ(LoadConnection({.kubeconfig = "/k/none"}, environment_).error().message,
            "stat /k/none: no such file or directory");
}

TEST_F(ConnectionTest, AnInvalidKubeconfigIsReportedWithItsPath) {
  environment_.files["/k/config"] = "clusters: 7";
  EXPECT_EQ(LoadConnection({.kubeconfig = "/k/config"}, environment_).error().message,
            "error loading config file \"/k/config\": clusters: expected a list, got a number");
}

TEST_F(ConnectionTest, APodUsesItsServiceAccount) {
  InPod();
  const auto config = LoadConnection({}, environment_);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->origin.HostPort(), "10.0.0.1:443");
  EXPECT_TRUE(config->origin.tls);
  EXPECT_EQ(config->ca.file, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
  EXPECT_EQ(Authorization(*config), "Bearer t1");
}

TEST_F(ConnectionTest, AnIpv6ServiceIsBracketed) {
  InPod();
  environment_.variables["KUBERNETES_SERVICE_HOST"] = "fd00::1";
  EXPECT_EQ(LoadConnection({}, environment_)->origin.HostPort(), "[fd00::1]:443");
}

TEST_F(ConnectionTest, AMasterSufficesAndHasNoCredentials) {
  InPod();
  const auto config = LoadConnection({.master = "http://127.0.0.1:8080"}, environment_);
  EXPECT_EQ(config->origin.HostPort(), "127.0.0.1:8080");
  EXPECT_EQ(Authorization(*config), "");
}

TEST_F(ConnectionTest, AnEmptyKubeconfigFallsBackToThePod) {
  InPod();
  environment_.files["/k/config"] = "";
  EXPECT_EQ(LoadConnection({.kubeconfig = "/k/config"}, environment_)->origin.HostPort(), "10.0.0.1:443");
}

TEST_F(ConnectionTest, NoConfigurationIsAnError) {
  testing::internal::CaptureStderr();
  EXPECT_THAT(LoadConnection({}, environment_).error().message,
              HasSubstr("no configuration has been provided"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("Neither --kubeconfig nor --master was specified"),
                    HasSubstr("error creating inClusterConfig")));
}

TEST_F(ConnectionTest, TheProxyComesFromTheClusterOrTheEnvironment) {
  EXPECT_EQ(Load("https://h", "", "proxy-url: 'socks5://p:1'").proxy->HostPort(), "p:1");
  environment_.variables["HTTPS_PROXY"] = "http://env:2";
  EXPECT_EQ(Load("https://h", "").proxy->HostPort(), "env:2");
  EXPECT_EQ(Load("http://h", "").proxy, std::nullopt) << "HTTP_PROXY is another";
  environment_.variables["NO_PROXY"] = "h";
  EXPECT_EQ(Load("https://h", "").proxy, std::nullopt);
}

TEST_F(ConnectionTest, TheVariableAloneSelectsNoCluster) {
  environment_.variables["KUBECONFIG"] = "/k/config";
  environment_.files["/k/config"] =
      "clusters: [{name: c, cluster: {server: 'https://one'}}]\ncurrent-context: x\n"
      "contexts: [{name: x, context: {cluster: c}}]";
  testing::internal::CaptureStderr();
  EXPECT_THAT(LoadConnection({}, environment_).error().message,
              HasSubstr("no configuration has been provided"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("$KUBECONFIG is not used"));
}

TEST_F(ConnectionTest, OutsideOfAPodTheFilesOfKubeconfigAreMerged) {
  environment_.variables["KUBECONFIG"] = "/k/a:/gone:/b";
  environment_.files["/k/a"] =
      "clusters: [{name: c, cluster: {server: 'https://one', certificate-authority: ca}}]";
  environment_.files["/b"] = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]";
  testing::internal::CaptureStderr();
  const auto config = LoadConnection({.use_variable = true}, environment_);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("/gone"), Not(HasSubstr("inClusterConfig"))));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->origin.host, "one");
  EXPECT_EQ(config->ca.file, "/k/ca");
}

TEST_F(ConnectionTest, AUserConnectionIsThatOfKubectl) {
  constexpr auto kConfig =
      "clusters: [{name: a, cluster: {server: 'https://one'}}, {name: b, cluster: {server: 'https://two'}}]\n"
      "contexts: [{name: first, context: {cluster: a}}, {name: second, context: {cluster: b, namespace: "
      "shop}}]\n"
      "current-context: first";
  EXPECT_THAT(LoadUserConnection("", "", environment_).error().message,
              HasSubstr("no cluster is configured"));
  environment_.variables["HOME"] = "/home/me";
  environment_.files["/home/me/.kube/config"] = kConfig;
  auto user = LoadUserConnection("", "", environment_);
  ASSERT_TRUE(user) << user.error().message;
  EXPECT_EQ(user->config.origin.host, "one");
  EXPECT_EQ(user->ns, "default");
  user = LoadUserConnection("", "second", environment_);
  ASSERT_TRUE(user) << user.error().message;
  EXPECT_EQ(user->config.origin.host, "two");
  EXPECT_EQ(user->ns, "shop");
  EXPECT_THAT(LoadUserConnection("", "secnd", environment_).error().message,
              HasSubstr("context \"secnd\" does not exist in the kubeconfig; did you mean \"second\"?"));
  environment_.variables["KUBECONFIG"] = "/k/other";
  environment_.files["/k/other"] =
      "clusters: [{name: c, cluster: {server: 'https://three'}}]\n"
      "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x";
  EXPECT_EQ(LoadUserConnection("", "", environment_)->config.origin.host, "three");
  EXPECT_EQ(LoadUserConnection("/home/me/.kube/config", "", environment_)->config.origin.host, "one");
}

TEST_F(ConnectionTest, APluginIsUsedOnlyWithoutOtherCredentials) {
  constexpr auto kExec = "exec: {command: p, apiVersion: client.authentication.k8s.io/v1beta1}";
  EXPECT_FALSE(HasOwnCredentials(Load("https://h", kExec)));
  EXPECT_TRUE(Load("https://h", kExec).exec.has_value());
  EXPECT_TRUE(HasOwnCredentials(Load("https://h", std::string(kExec) + ", token: t")));
  EXPECT_FALSE(Load("http://h", kExec).exec.has_value()) << "no credentials in the clear";
}

}  // namespace
}  // namespace berth::client
