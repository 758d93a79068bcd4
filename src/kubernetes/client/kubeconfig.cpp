#include "kubernetes/client/kubeconfig.hpp"

#include <fmt/format.h>

#include "kubernetes/client/field_reader.hpp"

namespace berth::client {
namespace {

void ReadCluster(const FieldReader& in, KubeCluster& out) {
  in.Text("server", out.server);
  in.Text("tls-server-name", out.tls_server_name);
  in.Text("certificate-authority", out.ca_file);
  in.Base64("certificate-authority-data", out.ca_data);
  in.Text("proxy-url", out.proxy_url);
  in.Boolean("insecure-skip-tls-verify", out.insecure);
  in.EachItem("extensions", [&](const FieldReader& item) {
    std::string name;
    item.Text("name", name);
    if (name == "client.authentication.k8s.io/exec") out.exec_extension = item.Json("extension");
  });
}

ExecConfig ReadExec(const FieldReader& in) {
  ExecConfig out;
  in.Text("command", out.command);
  in.Texts("args", out.args);
  in.Text("apiVersion", out.api_version);
  in.Text("installHint", out.install_hint);
  in.Text("interactiveMode", out.interactive_mode);
  in.Boolean("provideClusterInfo", out.provide_cluster_info);
  in.EachItem("env", [&](const FieldReader& item) {
    auto& [name, value] = out.env.emplace_back();
    item.Text("name", name);
    item.Text("value", value);
  });
  // Required in v1; v1beta1 has a default.
  if (out.interactive_mode.empty() && out.api_version == "client.authentication.k8s.io/v1beta1") {
    out.interactive_mode = "IfAvailable";
  }
  return out;
}

void ReadUser(const FieldReader& in, KubeUser& out) {
  in.Text("client-certificate", out.certificate_file);
  in.Base64("client-certificate-data", out.certificate_data);
  in.Text("client-key", out.key_file);
  in.Base64("client-key-data", out.key_data);
  in.Text("token", out.token);
  in.Text("tokenFile", out.token_file);
  in.Text("username", out.username);
  in.Text("password", out.password);
  in.Text("act-as", out.impersonate);
  in.Text("act-as-uid", out.impersonate_uid);
  in.Texts("act-as-groups", out.impersonate_groups);
  if (const auto extra = in.Map("act-as-user-extra")) {
    extra->EachKey([&](const std::string& key) { extra->Texts(key, out.impersonate_extra[key]); });
  }
  if (const auto exec = in.Map("exec")) out.exec = ReadExec(*exec);
  out.auth_provider = in.Map("auth-provider").has_value();
}

void ReadContext(const FieldReader& in, KubeContext& out) {
  in.Text("cluster", out.cluster);
  in.Text("user", out.user);
  in.Text("namespace", out.ns);
}

// Lists of {name, <member>} that represent maps.
template <class T>
void ReadNamed(const FieldReader& root, const std::string& list, std::string_view member,
               std::map<std::string, T>& out, void (*read)(const FieldReader&, T&)) {
  root.EachItem(list, [&](const FieldReader& item) {
    std::string name;
    item.Text("name", name);
    T value;
    if (const auto inner = item.Map(member)) read(*inner, value);
    if (!out.emplace(name, std::move(value)).second) item.Fail(fmt::format("duplicate name \"{}\"", name));
  });
}

void Rebase(std::string& path, std::string_view directory) {
  if (path.empty() || path.front() == '/' || directory.empty()) return;
  path = fmt::format("{}/{}", directory, path);
}

std::vector<std::string> ProblemsOf(const std::string& name, const KubeCluster& cluster) {
  std::vector<std::string> problems;
  if (cluster == KubeCluster{}) return {"cluster has no server defined"};
  if (cluster.server.empty()) {
    problems.push_back(name.empty() ? "default cluster has no server defined"
                                    : fmt::format("no server found for cluster \"{}\"", name));
  }
  if (!cluster.ca_file.empty() && !cluster.ca_data.empty()) {
    problems.push_back(
        fmt::format("certificate-authority-data and certificate-authority are both specified for {}. "
                    "certificate-authority-data will override.",
                    name));
  }
  return problems;
}

std::vector<std::string> ProblemsOf(const std::string& name, const ExecConfig& exec) {
  std::vector<std::string> problems;
  const auto must = [&](std::string_view what) {
    problems.push_back(
        fmt::format("{} must be specified for {} to use exec authentication plugin", what, name));
  };
  if (exec.command.empty()) must("command");
  if (exec.api_version.empty()) must("apiVersion");
  for (const auto& [variable, value] : exec.env) {
    if (variable.empty()) must("env variable name");
  }
  const std::string& mode = exec.interactive_mode;
  if (mode.empty()) {
    must("interactiveMode");
  } else if (mode != "Never" && mode != "IfAvailable" && mode != "Always") {
    problems.push_back(fmt::format("invalid interactiveMode for {}: \"{}\"", name, mode));
  }
  return problems;
}

std::vector<std::string> ProblemsOf(const std::string& name, const KubeUser& user) {
  std::vector<std::string> problems;
  if (!user.certificate_file.empty() || !user.certificate_data.empty()) {
    if (!user.certificate_file.empty() && !user.certificate_data.empty()) {
      problems.push_back(fmt::format(
          "client-cert-data and client-cert are both specified for {}. client-cert-data will override.",
          name));
    }
    if (!user.key_file.empty() && !user.key_data.empty()) {
      problems.push_back(fmt::format(
          "client-key-data and client-key are both specified for {}; client-key-data will override", name));
    }
    if (user.key_file.empty() && user.key_data.empty()) {
      problems.push_back(
          fmt::format("client-key-data or client-key must be specified for {} to use the clientCert "
                      "authentication method.",
                      name));
    }
  }
  if (user.exec && user.auth_provider) {
    problems.push_back(
        fmt::format("authProvider cannot be provided in combination with an exec plugin for {}", name));
  }
  if (user.exec) {
    for (auto& problem : ProblemsOf(name, *user.exec)) problems.push_back(std::move(problem));
  }
  if (!user.token.empty() && (!user.username.empty() || !user.password.empty())) {
    problems.push_back(fmt::format(
        "more than one authentication method found for {}; found [token basicAuth], only one is allowed",
        name));
  }
  const bool details =
      !user.impersonate_uid.empty() || !user.impersonate_groups.empty() || !user.impersonate_extra.empty();
  if (details && user.impersonate.empty()) {
    problems.push_back(
        fmt::format("requesting uid, groups or user-extra for {} without impersonating a user", name));
  }
  return problems;
}

Error InvalidConfiguration(const std::vector<std::string>& problems) {
  const std::string text =
      problems.size() == 1 ? problems[0] : fmt::format("[{}]", fmt::join(problems, ", "));
  return {ErrorCode::kInvalid, "invalid configuration: " + text};
}

}  // namespace

Expected<Kubeconfig> ParseKubeconfig(std::string_view text) {
  Kubeconfig config;
  const auto error = ReadDocument(text, [&](const FieldReader& root) {
    std::string kind, version;
    root.Text("kind", kind);
    root.Text("apiVersion", version);
    if ((!kind.empty() && kind != "Config") || (!version.empty() && version != "v1")) {
      return root.Fail(fmt::format("no kind \"{}\" is registered for version \"{}\"; expected Config of v1",
                                   kind.empty() ? "Config" : kind, version.empty() ? "v1" : version));
    }
    root.Text("current-context", config.current_context);
    ReadNamed(root, "clusters", "cluster", config.clusters, ReadCluster);
    ReadNamed(root, "users", "user", config.users, ReadUser);
    ReadNamed(root, "contexts", "context", config.contexts, ReadContext);
  });
  if (error) return Invalid(*error);
  return config;
}

void Merge(Kubeconfig& into, Kubeconfig later) {
  if (into.current_context.empty()) into.current_context = std::move(later.current_context);
  into.clusters.merge(later.clusters);
  into.users.merge(later.users);
  into.contexts.merge(later.contexts);
}

void ResolvePaths(Kubeconfig& config, std::string_view directory) {
  for (auto& [name, cluster] : config.clusters) Rebase(cluster.ca_file, directory);
  for (auto& [name, user] : config.users) {
    Rebase(user.certificate_file, directory);
    Rebase(user.key_file, directory);
    Rebase(user.token_file, directory);
    // A command without a slash is searched in PATH; others are paths.
    if (user.exec && user.exec->command.find('/') != std::string::npos) Rebase(user.exec->command, directory);
  }
}

Expected<KubeSelection> Select(const Kubeconfig& config, std::string_view master) {
  std::vector<std::string> problems;
  KubeSelection selection;
  if (!config.current_context.empty()) {
    const auto context = config.contexts.find(config.current_context);
    if (context == config.contexts.end()) {
      problems.push_back("context was not found for specified context: " + config.current_context);
    } else {
      selection.cluster_name = context->second.cluster;
      selection.user_name = context->second.user;
    }
  }
  // clientcmd also looks these up under the empty name if no context is selected.
  if (const auto user = config.users.find(selection.user_name); user != config.users.end()) {
    selection.user = user->second;
  }
  if (const auto cluster = config.clusters.find(selection.cluster_name); cluster != config.clusters.end()) {
    selection.cluster = cluster->second;
  }
  if (!master.empty()) {
    selection.cluster.server = master;
    selection.cluster.tls_server_name.clear();
  }
  for (auto& problem : ProblemsOf(selection.user_name, selection.user))
    problems.push_back(std::move(problem));
  for (auto& problem : ProblemsOf(selection.cluster_name, selection.cluster))
    problems.push_back(std::move(problem));
  if (problems.empty()) return selection;
  if (problems.size() == 1 && problems[0] == "cluster has no server defined") {
    problems[0] = "no configuration has been provided, try setting KUBERNETES_MASTER environment variable";
  }
  return std::unexpected(InvalidConfiguration(problems));
}

}  // namespace berth::client
