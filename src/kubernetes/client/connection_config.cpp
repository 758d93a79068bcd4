#include "kubernetes/client/connection_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files.hpp"
#include "base/nearest.hpp"
#include "base/trim.hpp"
#include "http/base64.hpp"
#include "observability/log/log.hpp"

namespace berth::client {
namespace {

constexpr std::string_view kServiceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

http::HeaderList Impersonation(const KubeUser& user) {
  http::HeaderList headers;
  if (user.impersonate.empty()) return headers;
  headers.emplace_back("Impersonate-User", user.impersonate);
  if (!user.impersonate_uid.empty()) headers.emplace_back("Impersonate-Uid", user.impersonate_uid);
  for (const auto& group : user.impersonate_groups) headers.emplace_back("Impersonate-Group", group);
  for (const auto& [key, values] : user.impersonate_extra) {
    for (const auto& value : values)
      headers.emplace_back("Impersonate-Extra-" + http::EncodeQuery(key), value);
  }
  return headers;
}

Expected<ConnectionConfig> FromSelection(const KubeSelection& selected, const Environment& environment) {
  const auto& [cluster_name, user_name, cluster, user] = selected;
  if (user.auth_provider) {
    return Invalid(
        fmt::format("user \"{}\": auth-provider was removed from Kubernetes; expected exec", user_name));
  }
  ConnectionConfig config;
  const bool has_scheme = cluster.server.find("://") != std::string::npos;
  BERTH_TRY(config.origin, http::ParseOrigin(has_scheme ? cluster.server : "http://" + cluster.server));
  config.impersonation = Impersonation(user);
  if (cluster.proxy_url.empty()) {
    BERTH_TRY(config.proxy, ProxyFromEnvironment(config.origin, environment));
  } else {
    BERTH_TRY(config.proxy, http::ParseProxy(cluster.proxy_url));
  }
  if (!config.origin.tls) return config;
  config.exec = user.exec;
  config.cluster = cluster;
  config.ca = {cluster.ca_data, cluster.ca_file};
  config.server_name = cluster.tls_server_name;
  config.insecure = cluster.insecure;
  if (config.insecure && !config.ca.empty()) {
    return Invalid("specifying a root certificates file with the insecure flag is not allowed");
  }
  config.certificate = {user.certificate_data, user.certificate_file};
  config.key = {user.key_data, user.key_file};
  config.token = user.token;
  config.token_file = user.token_file;
  config.username = user.username;
  config.password = user.password;
  if ((!config.token.empty() || !config.token_file.empty()) && !config.username.empty()) {
    return Invalid("username/password or bearer token may be set, but not both");
  }
  return config;
}

Expected<Kubeconfig> ReadKubeconfig(const std::string& path, const Environment& environment) {
  if (path.empty()) return Kubeconfig{};
  auto text = environment.ReadFile(path);
  if (!text) {
    // clientcmd calls stat before it reads, and its message contains that.
    std::string message = text.error().message;
    if (text.error().code == ErrorCode::kNotFound && message.starts_with("open "))
      message.replace(0, 4, "stat");
    return Fail(text.error().code, std::move(message));
  }
  auto config = ParseKubeconfig(*text);
  if (!config)
    return std::unexpected(
        std::move(config).error().In(fmt::format("error loading config file \"{}\"", path)));
  ResolvePaths(*config, FolderOf(path));
  return config;
}

// Merges the files of a path list; nullopt if none exists.
Expected<std::optional<Kubeconfig>> ReadKubeconfigs(const std::string& list, const Environment& environment) {
  std::optional<Kubeconfig> merged;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    const std::string path = list.substr(begin, end - begin);
    begin = end + 1;
    if (path.empty()) continue;
    auto config = ReadKubeconfig(path, environment);
    if (!config && config.error().code == ErrorCode::kNotFound) {
      log::Warning("Config not found", {{"file", path}});
      continue;
    }
    if (!config) return std::unexpected(std::move(config).error());
    if (!merged) merged.emplace();
    Merge(*merged, std::move(*config));
  }
  return merged;
}

Expected<std::string> ReadPem(const Pem& pem, const Environment& environment) {
  if (!pem.text.empty() || pem.file.empty()) return pem.text;
  return environment.ReadFile(pem.file);
}

class FixedCredentials final : public Credentials {
 public:
  explicit FixedCredentials(std::string header) : header_(std::move(header)) {}
  std::string Authorization() override { return header_; }
  void OnUnauthorized(std::uint64_t) override {}

 private:
  const std::string header_;
};

class TokenFile final : public Credentials {
 public:
  TokenFile(std::string path, std::string token, const Environment& environment, const Clock& clock)
      : path_(std::move(path)), environment_(environment), clock_(clock), token_(std::move(token)) {}

  std::string Authorization() override {
    if (!read_at_ || clock_.Now() - *read_at_ > kFresh) Read();
    return token_.empty() ? "" : "Bearer " + token_;
  }
  void OnUnauthorized(std::uint64_t) override { read_at_.reset(); }

 private:
  // client-go: a minute less ten seconds, so that a token is replaced before it expires.
  static constexpr std::chrono::seconds kFresh{50};

  void Read() {
    read_at_ = clock_.Now();
    auto text = environment_.ReadFile(path_);
    if (!text) return log::Error("Unable to rotate token", {{"file", path_}, {"err", text.error().message}});
    if (std::string token(Trimmed(*text)); !token.empty()) {
      token_ = std::move(token);
    } else {
      log::Error("Unable to rotate token", {{"file", path_}, {"err", "read empty token from file"}});
    }
  }

  const std::string path_;
  const Environment& environment_;
  const Clock& clock_;
  std::string token_;
  std::optional<MonoTime> read_at_;
};

}  // namespace

Expected<std::optional<http::Proxy>> ProxyFromEnvironment(const http::Origin& origin,
                                                          const Environment& environment) {
  return http::ProxyFromVariables(origin,
                                  [&](const std::string& name) { return environment.Variable(name); });
}

Expected<ConnectionConfig> InClusterConnection(const Environment& environment) {
  const auto host = environment.Variable("KUBERNETES_SERVICE_HOST");
  const auto port = environment.Variable("KUBERNETES_SERVICE_PORT");
  if (!host || host->empty() || !port || port->empty()) {
    return Fail(ErrorCode::kNotFound,
                "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and "
                "KUBERNETES_SERVICE_PORT must be "
                "defined");
  }
  ConnectionConfig config;
  config.token_file = std::string(kServiceAccount) + "token";
  BERTH_TRY(config.token, environment.ReadFile(config.token_file));
  config.token = std::string(Trimmed(config.token));
  const bool ipv6 = host->find(':') != std::string::npos;
  BERTH_TRY(config.origin,
            http::ParseOrigin(fmt::format("https://{}:{}", ipv6 ? "[" + *host + "]" : *host, *port)));
  BERTH_TRY(config.proxy, ProxyFromEnvironment(config.origin, environment));
  const std::string ca = std::string(kServiceAccount) + "ca.crt";
  if (const auto text = environment.ReadFile(ca)) {
    config.ca.file = ca;
  } else {
    log::Error("Expected to load root CA config", {{"file", ca}, {"err", text.error().message}});
  }
  return config;
}

Expected<ConnectionConfig> LoadConnection(const ConnectionFlags& flags, const Environment& environment) {
  if (flags.kubeconfig.empty() && flags.master.empty()) {
    auto in_cluster = InClusterConnection(environment);
    if (!in_cluster && flags.use_variable) {
      BERTH_TRY(const auto merged,
                ReadKubeconfigs(environment.Variable("KUBECONFIG").value_or(""), environment));
      if (merged) {
        BERTH_TRY(const KubeSelection selected, Select(*merged, ""));
        return FromSelection(selected, environment);
      }
    }
    log::Warning(
        "Neither --kubeconfig nor --master was specified. Using the inClusterConfig. This might not work.");
    if (in_cluster) return in_cluster;
    if (environment.Variable("KUBECONFIG")) {
      log::Warning(
          "$KUBECONFIG is not used. Set --kubeconfig, or --berth-use-kubeconfig-variable to use its files.");
    }
    log::Warning("error creating inClusterConfig, falling back to default config",
                 {{"err", in_cluster.error().message}});
  }
  BERTH_TRY(const Kubeconfig kubeconfig, ReadKubeconfig(flags.kubeconfig, environment));
  const auto selected = Select(kubeconfig, flags.master);
  if (selected) return FromSelection(*selected, environment);
  if (selected.error().message.find("no configuration has been provided") != std::string::npos) {
    if (auto in_cluster = InClusterConnection(environment)) return in_cluster;
  }
  return std::unexpected(selected.error());
}

namespace {

// nullopt: there is no kubeconfig.
Expected<std::optional<Kubeconfig>> ReadUserKubeconfig(const std::string& file,
                                                       const Environment& environment) {
  if (!file.empty()) {
    BERTH_TRY(Kubeconfig config, ReadKubeconfig(file, environment));
    return config;
  }
  std::string files = environment.Variable("KUBECONFIG").value_or("");
  const std::string home = environment.Variable("HOME").value_or("");
  if (files.empty() && !home.empty()) {
    const std::string usual = home + "/.kube/config";
    if (environment.ReadFile(usual)) files = usual;
  }
  return ReadKubeconfigs(files, environment);
}

Expected<void> UseContext(Kubeconfig& config, const std::string& context) {
  if (context.empty()) return {};
  config.current_context = context;
  if (config.contexts.contains(context)) return {};
  std::vector<std::string> names;
  for (const auto& [name, unused] : config.contexts) names.push_back(name);
  const std::string nearest = Nearest(context, names);
  return Fail(ErrorCode::kNotFound,
              fmt::format("context \"{}\" does not exist in the kubeconfig{}", context,
                          nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
}

}  // namespace

Expected<UserConnection> LoadUserConnection(const std::string& file, const std::string& context,
                                            const Environment& environment) {
  BERTH_TRY(auto kubeconfig, ReadUserKubeconfig(file, environment));
  UserConnection connection;
  if (!kubeconfig) {
    auto in_cluster = InClusterConnection(environment);
    if (!in_cluster)
      return Fail(ErrorCode::kNotFound,
                  "no cluster is configured: expected --kubeconfig FILE, $KUBECONFIG or ~/.kube/config");
    connection.config = std::move(*in_cluster);
    return connection;
  }
  BERTH_RETURN_IF_ERROR(UseContext(*kubeconfig, context));
  if (const auto found = kubeconfig->contexts.find(kubeconfig->current_context);
      found != kubeconfig->contexts.end() && !found->second.ns.empty()) {
    connection.ns = found->second.ns;
  }
  BERTH_TRY(const KubeSelection selected, Select(*kubeconfig, ""));
  BERTH_TRY(connection.config, FromSelection(selected, environment));
  return connection;
}

Expected<http::TlsOptions> ReadTls(const ConnectionConfig& config, const Environment& environment) {
  http::TlsOptions tls;
  const auto read = [&](const Pem& pem, std::string_view what, std::string& out) -> Expected<> {
    auto text = ReadPem(pem, environment);
    if (!text) {
      return Invalid(fmt::format("invalid configuration: unable to read {} {} due to {}", what, pem.file,
                                 text.error().message));
    }
    out = std::move(*text);
    return {};
  };
  BERTH_RETURN_IF_ERROR(read(config.ca, "certificate-authority", tls.ca_pem));
  BERTH_RETURN_IF_ERROR(read(config.certificate, "client-cert", tls.certificate_pem));
  BERTH_RETURN_IF_ERROR(read(config.key, "client-key", tls.key_pem));
  tls.server_name = config.server_name;
  tls.insecure = config.insecure;
  return tls;
}

bool HasOwnCredentials(const ConnectionConfig& config) {
  return !config.token.empty() || !config.token_file.empty() || !config.username.empty() ||
         !config.password.empty() || !config.certificate.empty();
}

Expected<std::shared_ptr<Credentials>> MakeCredentials(const ConnectionConfig& config,
                                                       const Environment& environment, const Clock& clock) {
  if (!config.token_file.empty()) {
    if (config.token.empty()) {
      // A missing file is an error at startup; later it is a rotation in progress.
      BERTH_RETURN_IF_ERROR(environment.ReadFile(config.token_file));
    }
    return std::make_shared<TokenFile>(config.token_file, config.token, environment, clock);
  }
  if (!config.token.empty()) return std::make_shared<FixedCredentials>("Bearer " + config.token);
  if (!config.username.empty() || !config.password.empty()) {
    return std::make_shared<FixedCredentials>("Basic " +
                                              http::EncodeBase64(config.username + ":" + config.password));
  }
  return std::shared_ptr<Credentials>();
}

}  // namespace berth::client
