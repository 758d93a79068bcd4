// kubeconfig files, parsed and resolved as in client-go 0.37's clientcmd.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace berth::client {

struct KubeCluster {
  std::string server{};
  std::string tls_server_name{};
  std::string ca_file{};
  std::string ca_data{};  // decoded: PEM
  std::string proxy_url{};
  bool insecure = false;
  std::string exec_extension{};  // JSON: the extension client.authentication.k8s.io/exec, for plugins
  friend bool operator==(const KubeCluster&, const KubeCluster&) = default;
};

// users[].user.exec: a program that returns credentials.
struct ExecConfig {
  std::string command{};
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::string api_version{};
  std::string install_hint{};
  std::string interactive_mode{};  // Never, IfAvailable, Always
  bool provide_cluster_info = false;
};

struct KubeUser {
  std::string certificate_file{};
  std::string certificate_data{};  // decoded: PEM
  std::string key_file{};
  std::string key_data{};
  std::string token{};
  std::string token_file{};
  std::string username{};
  std::string password{};
  std::string impersonate{};
  std::string impersonate_uid{};
  std::vector<std::string> impersonate_groups{};
  std::map<std::string, std::vector<std::string>> impersonate_extra{};
  std::optional<ExecConfig> exec{};
  bool auth_provider = false;  // uses one of the removed built-in auth providers
};

struct KubeContext {
  std::string cluster{};
  std::string user{};
  std::string ns{};
};

struct Kubeconfig {
  std::string current_context{};
  std::map<std::string, KubeCluster> clusters{};
  std::map<std::string, KubeUser> users{};
  std::map<std::string, KubeContext> contexts{};
};

// Parses YAML or JSON. Only the first document is used, an empty text is an empty configuration, unknown
// fields are ignored. Value types are those of clientcmd: an unquoted `yes` or `12` is not a string. Errors
// begin with the field's path. No side effects.
Expected<Kubeconfig> ParseKubeconfig(std::string_view text);

// Merges files as clientcmd does: the first definition of a name wins as a whole; the first current context
// wins.
void Merge(Kubeconfig& into, Kubeconfig later);

// Resolves relative file names against `directory`, the directory of the kubeconfig.
void ResolvePaths(Kubeconfig& config, std::string_view directory);

// The part of a kubeconfig that its current context selects. A user that does not exist is anonymous.
struct KubeSelection {
  std::string cluster_name{}, user_name{};
  KubeCluster cluster{};
  KubeUser user{};
};

// Validates the selected part with clientcmd's texts: "invalid configuration: ...". A non-empty `master`
// replaces the server and the TLS server name, as --master does.
Expected<KubeSelection> Select(const Kubeconfig& config, std::string_view master);

}  // namespace berth::client
