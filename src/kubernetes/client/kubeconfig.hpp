// kubeconfig files: what client-go 0.37's clientcmd reads, and which server and user it makes of it.
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

// users[].user.exec: a program that says who we are.
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
  bool auth_provider = false;  // has one of the old built-in ones
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

// YAML or JSON; the first document counts, an empty text is an empty configuration, unknown fields are
// ignored. Values are typed as there: an unquoted `yes` or `12` is no text. Errors begin with the field's
// path. Touches nothing but its argument.
Expected<Kubeconfig> ParseKubeconfig(std::string_view text);

// Several files as one, as clientcmd merges them: the first that has a name defines it, whole; the first that
// has a current context says which.
void Merge(Kubeconfig& into, Kubeconfig later);

// Makes relative file names relative to `directory`, the one that contains the kubeconfig.
void ResolvePaths(Kubeconfig& config, std::string_view directory);

// The part of a kubeconfig that its current context selects. A user that is not there is nobody.
struct KubeSelection {
  std::string cluster_name{}, user_name{};
  KubeCluster cluster{};
  KubeUser user{};
};

// Validates what is selected, with the texts of clientcmd: "invalid configuration: ...". A `master` that is
// not empty takes the place of the server and of the TLS server name, as --master does.
Expected<KubeSelection> Select(const Kubeconfig& config, std::string_view master);

}  // namespace berth::client
