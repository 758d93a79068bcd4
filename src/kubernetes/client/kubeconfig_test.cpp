#include "kubernetes/client/kubeconfig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/client/field_reader.hpp"

namespace berth::client {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFile = R"(
apiVersion: v1
kind: Config
preferences: {}
current-context: ctx
clusters:
- name: c
  cluster:
    server: https://host:6443/prefix
    certificate-authority: ca.crt
    tls-server-name: kube
    extensions: [{name: x, extension: {a: 1}}]
users:
- name: u
  user:
    client-certificate-data: aGVsbG8=
    client-key: /abs/key
    token: "12345"
    unknown-field: 17
contexts:
- name: ctx
  context: {cluster: c, user: u, namespace: default}
)";

std::string WithUser(std::string_view user) {
  return "clusters: [{name: c, cluster: {server: 'https://h'}}]\ncurrent-context: x\n"
         "contexts: [{name: x, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {" +
         std::string(user) + "}}]";
}
std::string WithCluster(std::string_view cluster) {
  return "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
         "clusters: [{name: c, cluster: {" +
         std::string(cluster) + "}}]";
}

TEST(Kubeconfig, IsReadFromYaml) {
  const auto config = ParseKubeconfig(kFile);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->current_context, "ctx");
  EXPECT_EQ(config->clusters.at("c").server, "https://host:6443/prefix");
  EXPECT_EQ(config->clusters.at("c").tls_server_name, "kube");
  EXPECT_EQ(config->users.at("u").certificate_data, "hello");
  EXPECT_EQ(config->users.at("u").token, "12345");
  EXPECT_EQ(config->contexts.at("ctx").ns, "default");
}

TEST(Kubeconfig, IsReadFromJson) {
  const auto config = ParseKubeconfig(
      R"({"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"http:\/\/h","insecure-skip-tls-verify":true}}]})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->clusters.at("c").server, "http://h");
  EXPECT_TRUE(config->clusters.at("c").insecure);
}

TEST(Kubeconfig, AnEmptyTextIsAnEmptyConfiguration) {
  for (const char* text : {"", "\n# only a comment\n", "{}", "null"}) {
    const auto config = ParseKubeconfig(text);
    ASSERT_TRUE(config) << text;
    EXPECT_TRUE(config->clusters.empty());
  }
}

TEST(Kubeconfig, RelativeFilesAreRelativeToTheKubeconfig) {
  auto config = *ParseKubeconfig(kFile);
  ResolvePaths(config, "/etc/kubernetes");
  EXPECT_EQ(config.clusters.at("c").ca_file, "/etc/kubernetes/ca.crt");
  EXPECT_EQ(config.users.at("u").key_file, "/abs/key");
  EXPECT_EQ(config.users.at("u").token_file, "");
}

struct BadCase {
  std::string name, text, want;
};
class KubeconfigRefuses : public testing::TestWithParam<BadCase> {};
TEST_P(KubeconfigRefuses, WithThePathOfTheInvalidField) {
  const auto config = ParseKubeconfig(GetParam().text);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().want));
}
INSTANTIATE_TEST_SUITE_P(
    Table, KubeconfigRefuses,
    testing::Values(
        BadCase{"ANumberForText", WithUser("token: 12"), "users[0].user.token: expected text, got a number"},
        BadCase{"ABooleanOfYaml11ForText", WithUser("token: y"),
                "users[0].user.token: expected text, got a boolean"},
        BadCase{"TextForABoolean", WithCluster("insecure-skip-tls-verify: 'true'"),
                "clusters[0].cluster.insecure-skip-tls-verify: expected a boolean, got text"},
        BadCase{"AMapForAList", "clusters: {}", "clusters: expected a list, got a map"},
        BadCase{"AListForAMap", "users: [{name: u, user: []}]", "users[0].user: expected a map, got a list"},
        BadCase{"ATextForAnItem", "users: [u]", "users[0]: expected a map, got text"},
        BadCase{"BrokenBase64", WithUser("client-key-data: '###='"),
                "users[0].user.client-key-data: illegal base64"},
        BadCase{"ANameTwice", "users: [{name: u}, {name: u}]", "users[1]: duplicate name \"u\""},
        BadCase{"AnotherKind", "{apiVersion: v1, kind: Pod}",
                "no kind \"Pod\" is registered for version \"v1\""},
        BadCase{"AListAtTheTop", "[1]", "expected a map, got a list"},
        BadCase{"BrokenYaml", "a: [", "yaml: "}),
    [](const auto& row) { return row.param.name; });

TEST(KubeconfigSelection, IsThePartThatTheCurrentContextSelects) {
  const auto selected = Select(*ParseKubeconfig(kFile), "");
  ASSERT_TRUE(selected) << selected.error().message;
  EXPECT_EQ(selected->cluster.server, "https://host:6443/prefix");
  EXPECT_EQ(selected->user.token, "12345");
}

TEST(KubeconfigSelection, AMasterReplacesTheServerAndItsTlsName) {
  const auto selected = Select(*ParseKubeconfig(kFile), "https://other");
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->cluster.server, "https://other");
  EXPECT_EQ(selected->cluster.tls_server_name, "");
  EXPECT_EQ(selected->cluster.ca_file, "ca.crt");
  EXPECT_TRUE(Select({}, "http://localhost:8080")) << "a master alone is enough";
}

TEST(KubeconfigSelection, AMissingUserIsAnonymous) {
  const auto selected = Select(*ParseKubeconfig(WithCluster("server: 'https://h'")), "");
  ASSERT_TRUE(selected);
  EXPECT_EQ(selected->user.token, "");
}

class KubeconfigSelectionRefuses : public testing::TestWithParam<BadCase> {};
TEST_P(KubeconfigSelectionRefuses, WithClientcmdsTexts) {
  const auto config = ParseKubeconfig(GetParam().text);
  ASSERT_TRUE(config) << config.error().message;
  const auto selected = Select(*config, "");
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().message, GetParam().want);
}
constexpr const char* kNothing =
    "invalid configuration: no configuration has been provided, try setting KUBERNETES_MASTER environment "
    "variable";
INSTANTIATE_TEST_SUITE_P(
    Table, KubeconfigSelectionRefuses,
    testing::Values(BadCase{"NothingAtAll", "", kNothing},
                    BadCase{"NoCurrentContext", "clusters: [{name: c, cluster: {server: 'https://h'}}]",
                            kNothing},
                    BadCase{"AClusterThatIsNotThere",
                            "{current-context: x, contexts: [{name: x, context: {cluster: z}}]}", kNothing},
                    BadCase{"AContextThatIsNotThere", "current-context: x",
                            "invalid configuration: [context was not found for specified context: x, cluster "
                            "has no server defined]"},
                    BadCase{"AClusterWithoutServer", WithCluster("insecure-skip-tls-verify: true"),
                            "invalid configuration: no server found for cluster \"c\""},
                    BadCase{"ACertificateWithoutKey", WithUser("client-certificate: a"),
                            "invalid configuration: client-key-data or client-key must be specified for u to "
                            "use the clientCert "
                            "authentication method."},
                    BadCase{"TokenAndPassword", WithUser("token: a, username: b"),
                            "invalid configuration: more than one authentication method found for u; found "
                            "[token basicAuth], "
                            "only one is allowed"},
                    BadCase{"GroupsWithoutUser", WithUser("act-as-groups: [a]"),
                            "invalid configuration: requesting uid, groups or user-extra for u without "
                            "impersonating a user"}),
    [](const auto& row) { return row.param.name; });

TEST(Merge, TheFirstDefinitionOfANameWins) {
  auto first = ParseKubeconfig(
      "clusters: [{name: a, cluster: {server: 'https://one'}}]\nusers: [{name: u, user: {token: x}}]");
  ASSERT_TRUE(first) << first.error().message;
  auto later = ParseKubeconfig(
      "current-context: c\ncontexts: [{name: c, context: {cluster: a, user: u}}]\n"
      "clusters: [{name: a, cluster: {server: 'https://two', tls-server-name: name}}, {name: b, cluster: "
      "{server: 'https://b'}}]");
  ASSERT_TRUE(first && later);
  Merge(*first, *later);
  EXPECT_EQ(first->current_context, "c");
  EXPECT_EQ(first->clusters.at("a").server, "https://one");
  EXPECT_EQ(first->clusters.at("a").tls_server_name, "") << "no field by field";
  EXPECT_EQ(first->clusters.at("b").server, "https://b");
  auto other = ParseKubeconfig("current-context: d");
  Merge(*first, *other);
  EXPECT_EQ(first->current_context, "c") << "the first that is not empty";
}

TEST(Exec, IsReadWithItsCluster) {
  auto config = ParseKubeconfig(R"(
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://h', extensions: [
  {name: other, extension: 1}, {name: client.authentication.k8s.io/exec, extension: {audience: x, list: [1, true, "1", 0x10, .5, -07]}}]}}]
users: [{name: u, user: {exec: {command: bin/p, args: [a], apiVersion: client.authentication.k8s.io/v1beta1,
  env: [{name: A, value: b}], installHint: hint, provideClusterInfo: true}}}])");
  ASSERT_TRUE(config) << config.error().message;
  ResolvePaths(*config, "/k");
  const auto selected = Select(*config, "");
  ASSERT_TRUE(selected) << selected.error().message;
  const ExecConfig& exec = *selected->user.exec;
  EXPECT_EQ(exec.command, "/k/bin/p") << "a path is one beside the file";
  EXPECT_EQ(exec.interactive_mode, "IfAvailable") << "v1beta1's default";
  EXPECT_TRUE(exec.provide_cluster_info);
  EXPECT_EQ(selected->cluster.exec_extension, R"({"audience":"x","list":[1,true,"1",16,0.5,-7]})");
}

TEST(Exec, AnIncompletePluginIsRejectedWithClientcmdsTexts) {
  const auto error = [](std::string_view exec) {
    auto config = ParseKubeconfig(
        "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: "
        "[{name: c, cluster: {server: h}}]\nusers: [{name: u, user: {exec: {" +
        std::string(exec) + "}}}]");
    return Select(*config, "").error().message;
  };
  EXPECT_EQ(
      error("command: p, apiVersion: client.authentication.k8s.io/v1"),
      "invalid configuration: interactiveMode must be specified for u to use exec authentication plugin");
  EXPECT_EQ(error("apiVersion: client.authentication.k8s.io/v1beta1"),
            "invalid configuration: command must be specified for u to use exec authentication plugin");
}

}  // namespace
}  // namespace berth::client
