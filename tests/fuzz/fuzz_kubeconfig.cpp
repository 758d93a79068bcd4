// kubeconfig: a parsed file can be written and read again; a selected context has its cluster and user.
#include "base/json_text.hpp"
#include "kubernetes/client/exec_plugin.hpp"
#include "kubernetes/client/kubeconfig.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace berth::client;
using berth::JsonObject;
using berth::fuzz::Require;

// A configuration with the same names, servers and tokens, as JSON.
std::string Write(const Kubeconfig& config) {
  std::string out;
  {
    JsonObject root(out);
    root.Add("current-context", config.current_context);
    const auto list = [&](std::string_view key, std::string_view member, const auto& map, auto&& write) {
      std::string& text = root.Key(key);
      text += '[';
      for (const auto& [name, value] : map) {
        if (text.back() != '[') text += ',';
        JsonObject item(text);
        item.Add("name", name);
        JsonObject inner(item.Key(member));
        write(inner, value);
      }
      text += ']';
    };
    list("clusters", "cluster", config.clusters, [](JsonObject& o, const KubeCluster& c) {
      o.Add("server", c.server)
          .Add("tls-server-name", c.tls_server_name)
          .Add("certificate-authority", c.ca_file);
      o.AddRaw("insecure-skip-tls-verify", c.insecure ? "true" : "false");
    });
    list("users", "user", config.users,
         [](JsonObject& o, const KubeUser& u) { o.Add("token", u.token).Add("username", u.username); });
    list("contexts", "context", config.contexts,
         [](JsonObject& o, const KubeContext& c) { o.Add("cluster", c.cluster).Add("user", c.user); });
  }
  return out;
}

void RoundTrip(const Kubeconfig& config) {
  const auto again = ParseKubeconfig(Write(config));
  Require(again.has_value(), "what was read can be written and read again");
  Require(again->current_context == config.current_context, "same context");
  Require(again->clusters.size() == config.clusters.size(), "same clusters");
  for (const auto& [name, cluster] : config.clusters) {
    const auto found = again->clusters.find(name);
    Require(found != again->clusters.end() && found->second.server == cluster.server &&
                found->second.ca_file == cluster.ca_file && found->second.insecure == cluster.insecure,
            "same cluster");
  }
  for (const auto& [name, user] : config.users) {
    const auto found = again->users.find(name);
    Require(found != again->users.end() && found->second.token == user.token, "same user");
  }
}

// Text without control characters, which travel escaped, and which YAML and JSON treat alike.
bool PlainAscii(std::string_view text) {
  for (const char c : text) {
    if ((c < 0x20 && c != '\n') || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = berth::fuzz::Text(data, size);
  constexpr auto kVersion = "client.authentication.k8s.io/v1";
  if (const auto credential = ParseExecCredential(text, kVersion)) {
    Require(!credential->token.empty() || !credential->key_pem.empty(), "a credential has a token or a key");
    Require(credential->certificate_pem.empty() == credential->key_pem.empty(), "a certificate has its key");
  }
  const auto config = ParseKubeconfig(text);
  if (!config) {
    Require(!config.error().message.empty(), "a refusal has a reason");
    return 0;
  }
  if (PlainAscii(text)) RoundTrip(*config);
  for (const char* master : {"", "https://h"}) {
    const auto selected = Select(*config, master);
    if (!selected) {
      Require(selected.error().message.starts_with("invalid configuration: "), "clientcmd's words");
      continue;
    }
    Require(!selected->cluster.server.empty(), "a selection has a server");
    if (*master == '\0') Require(config->clusters.contains(selected->cluster_name), "and it is in the file");
  }
  Kubeconfig merged = *config;
  Merge(merged, *config);
  Require(merged.clusters == config->clusters && merged.users.size() == config->users.size() &&
              merged.current_context == config->current_context,
          "a file merged with itself is itself");
  Kubeconfig moved = *config;
  ResolvePaths(moved, "/d");
  for (const auto& [name, cluster] : moved.clusters) {
    Require(cluster.ca_file.empty() || cluster.ca_file.starts_with('/'), "files are absolute");
  }
  return 0;
}
