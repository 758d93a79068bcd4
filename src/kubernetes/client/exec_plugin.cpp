#include "kubernetes/client/exec_plugin.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <limits>
#include <thread>

#include "base/json_text.hpp"
#include "http/base64.hpp"
#include "http/loop.hpp"
#include "kubernetes/api/timestamp.hpp"
#include "kubernetes/client/environment.hpp"
#include "kubernetes/client/field_reader.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

constexpr double kRotationBuckets[] = {600,     1800,    3600,     14400,    86400,    604800,
                                       2592000, 7776000, 15552000, 31104000, 124416000};

metrics::Histogram& RotationAge(metrics::Registry& registry) {
  return registry.Histogram(
      "rest_client_exec_plugin_certificate_rotation_age",
      "[ALPHA] Histogram of the number of seconds the last auth exec plugin client certificate lived "
      "before being rotated. If auth exec plugin client certificates are unused, histogram will "
      "contain no data.",
      kRotationBuckets);
}

void AddTimeToLive(metrics::Registry& registry, metrics::Registry::Read read) {
  registry.CallbackGauge(
      "rest_client_exec_plugin_ttl_seconds",
      "[ALPHA] Gauge of the shortest TTL (time-to-live) of the client certificate(s) managed by the auth "
      "exec plugin. The value is in seconds until certificate expiry (negative if already expired). If auth "
      "exec plugins are unused or manage no TLS certificates, the value will be +INF.",
      {}, std::move(read));
}

constexpr ChildLimits kPluginLimits{.timeout = std::chrono::seconds(60), .output_bytes = 1U << 20};

// The result of a program that exited by itself; otherwise an error.
Expected<ChildResult> EndOf(Expected<ChildResult> result, const std::string& program) {
  if (!result) return result;
  switch (result->end) {
    case ChildResult::End::kExited:
      return result;
    case ChildResult::End::kStopped:
      return Fail(ErrorCode::kCancelled, "cancelled");
    case ChildResult::End::kOutputLimit:
      return Invalid(program + " printed more than 1 MiB");
    case ChildResult::End::kTimeout:
      break;
  }
  return Fail(ErrorCode::kTimeout, program + " took longer than 60 seconds");
}

// Nanoseconds cover the years 1677 to 2262; other times are clamped.
WallTime TimeOf(std::int64_t unix_seconds) {
  constexpr std::int64_t kFarthest = 9'000'000'000;
  return WallTime(std::chrono::seconds(std::clamp(unix_seconds, -kFarthest, kFarthest)));
}

struct Validity {
  WallTime from, to;
};

std::optional<Validity> ValidityOf(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free);
  if (certificate == nullptr) return std::nullopt;
  const auto time = [](const ASN1_TIME* asn1) {
    std::tm parts{};
    ASN1_TIME_to_tm(asn1, &parts);
    return TimeOf(::timegm(&parts));
  };
  return Validity{time(X509_get0_notBefore(certificate.get())), time(X509_get0_notAfter(certificate.get()))};
}

}  // namespace

void AddExecPluginMetrics(metrics::Registry& registry) {
  AddTimeToLive(registry, [] { return std::numeric_limits<double>::infinity(); });
  RotationAge(registry);
}

std::string ExecInfo(const ExecConfig& config, bool interactive, const KubeCluster* cluster) {
  std::string out;
  {
    JsonObject root(out);
    root.Add("kind", "ExecCredential").Add("apiVersion", config.api_version);
    JsonObject spec(root.Key("spec"));
    if (cluster != nullptr) {
      JsonObject about(spec.Key("cluster"));
      about.Add("server", cluster->server);
      if (!cluster->tls_server_name.empty()) about.Add("tls-server-name", cluster->tls_server_name);
      if (cluster->insecure) about.AddRaw("insecure-skip-tls-verify", "true");
      if (!cluster->ca_data.empty())
        about.Add("certificate-authority-data", http::EncodeBase64(cluster->ca_data));
      if (!cluster->proxy_url.empty()) about.Add("proxy-url", cluster->proxy_url);
      about.AddRaw("config", cluster->exec_extension.empty() ? "null" : cluster->exec_extension);
    }
    spec.AddRaw("interactive", interactive ? "true" : "false");
  }
  return out;
}

Expected<ExecCredential> ParseExecCredential(std::string_view output, std::string_view api_version) {
  ExecCredential credential;
  std::string kind, version, expires;
  bool has_status = false;
  const auto error = ReadDocument(output, [&](const FieldReader& root) {
    root.Text("kind", kind);
    root.Text("apiVersion", version);
    const auto status = root.Map("status");
    has_status = status.has_value();
    if (!has_status) return;
    status->Text("token", credential.token);
    status->Text("clientCertificateData", credential.certificate_pem);
    status->Text("clientKeyData", credential.key_pem);
    status->Text("expirationTimestamp", expires);
  });
  if (error) return Invalid("decoding stdout: " + *error);
  if (kind != "ExecCredential") {
    return Invalid(
        fmt::format("decoding stdout: no kind \"{}\" is registered for version \"{}\"", kind, version));
  }
  if (version != api_version) {
    return Invalid(fmt::format("exec plugin is configured to use API version {}, plugin returned version {}",
                               api_version, version));
  }
  if (!has_status) return Invalid("exec plugin didn't return a status field");
  if (credential.token.empty() && credential.certificate_pem.empty() && credential.key_pem.empty()) {
    return Invalid("exec plugin didn't return a token or cert/key pair");
  }
  if (credential.certificate_pem.empty() != credential.key_pem.empty()) {
    return Invalid("exec plugin returned only certificate or key, not both");
  }
  if (expires.empty()) return credential;
  const auto seconds = api::ParseTimestamp(expires);
  if (!seconds) return Invalid(fmt::format("decoding stdout: \"{}\" is not a time", expires));
  credential.expires = TimeOf(*seconds);
  return credential;
}

// Shared with tasks posted to the loop, which may outlive the plugin.
struct ExecPlugin::Impl : std::enable_shared_from_this<Impl> {
  http::Loop& loop;
  const Environment& environment;
  const Clock& clock;
  metrics::Registry& registry;
  const ExecConfig config;
  const KubeCluster cluster;
  const UseCertificate use_certificate;

  std::optional<ExecCredential> current{};
  std::uint64_t serial = 0;  // of `current`
  bool rejected = false;     // the server rejected it
  bool hinted = false;
  bool closed = false;
  std::vector<std::move_only_function<void(Expected<>)>> waiting{};
  std::jthread thread{};  // runs iff a request waits or the credential is rejected
  bool running = false;
  std::atomic<double> expires_at{
      std::numeric_limits<double>::infinity()};  // expiry of the certificate, Unix seconds

  Impl(http::Loop& loop, const Environment& environment, const Clock& clock, metrics::Registry& registry,
       ExecConfig config, KubeCluster cluster, UseCertificate use_certificate)
      : loop(loop),
        environment(environment),
        clock(clock),
        registry(registry),
        config(std::move(config)),
        cluster(std::move(cluster)),
        use_certificate(std::move(use_certificate)) {}

  bool Fresh() const {
    return current && !rejected && (!current->expires || clock.WallNow() < *current->expires);
  }
  void Start();
  void OnOutput(Expected<ChildResult> output);
  Expected<> Take(const Expected<ChildResult>& output);
  Expected<> TakeCertificate(const ExecCredential& fresh);
  std::string Describe(const Error& error);
  void CountCall(int code, const char* status);
};

void ExecPlugin::Impl::Start() {
  bool interactive = config.interactive_mode != "Never" && environment.StdinIsTerminal();
  running = true;
  if (config.interactive_mode == "Always" && !interactive) {
    return loop.Post([self = shared_from_this()] {
      if (self->closed) return;
      self->OnOutput(
          Invalid("exec plugin cannot support interactive mode: standard input is not a terminal"));
    });
  }
  ChildOptions program{.arguments = {config.command}, .environment = config.env, .interactive = interactive};
  program.arguments.insert(program.arguments.end(), config.args.begin(), config.args.end());
  program.environment.emplace_back(
      "KUBERNETES_EXEC_INFO",
      ExecInfo(config, interactive, config.provide_cluster_info ? &cluster : nullptr));
  thread = std::jthread([self = weak_from_this(), &loop = loop, &environment = environment,
                         program = std::move(program)](std::stop_token stop) {
    auto output = EndOf(environment.Run(program, kPluginLimits, stop), program.arguments.front());
    loop.Post([self, output = std::move(output)]() mutable {
      if (const auto impl = self.lock(); impl != nullptr && !impl->closed) impl->OnOutput(std::move(output));
    });
  });
}

void ExecPlugin::Impl::OnOutput(Expected<ChildResult> output) {
  running = false;
  const auto taken = Take(output);
  if (!taken)
    log::Error("Getting credentials failed", {{"plugin", config.command}, {"err", taken.error().message}});
  for (auto& then : std::exchange(waiting, {})) {
    then(taken ? Expected<>{}
               : Expected<>(Fail(ErrorCode::kUnavailable, "getting credentials: " + taken.error().message)));
  }
}

Expected<> ExecPlugin::Impl::Take(const Expected<ChildResult>& output) {
  if (!output) return Invalid(Describe(output.error()));
  if (const int code = output->status.ShellCode(); code != 0) {
    CountCall(code, "plugin_execution_error");
    return Invalid(fmt::format("exec: executable {} failed with exit code {}", config.command, code));
  }
  CountCall(0, "no_error");
  BERTH_TRY(ExecCredential fresh, ParseExecCredential(output->output, config.api_version));
  if (!current || current->certificate_pem != fresh.certificate_pem || current->key_pem != fresh.key_pem) {
    BERTH_RETURN_IF_ERROR(TakeCertificate(fresh));
  }
  current = std::move(fresh);
  ++serial;
  rejected = false;
  return {};
}

Expected<> ExecPlugin::Impl::TakeCertificate(const ExecCredential& fresh) {
  if (fresh.certificate_pem.empty() && !current) return {};
  BERTH_RETURN_IF_ERROR(use_certificate(fresh.certificate_pem, fresh.key_pem));
  const auto valid = ValidityOf(fresh.certificate_pem);
  expires_at = valid ? std::chrono::duration<double>(valid->to.time_since_epoch()).count()
                     : std::numeric_limits<double>::infinity();
  if (!current) return {};
  if (const auto old = ValidityOf(current->certificate_pem)) {
    RotationAge(registry).Observe(std::chrono::duration<double>(clock.WallNow() - old->from).count());
  }
  return {};
}

std::string ExecPlugin::Impl::Describe(const Error& error) {
  if (error.code != ErrorCode::kNotFound) {
    CountCall(1, "client_internal_error");
    return error.message.starts_with("exec plugin") ? error.message : "exec: " + error.message;
  }
  CountCall(1, "plugin_not_found_error");
  std::string text = fmt::format("exec: executable {} not found", config.command);
  if (!std::exchange(hinted, true)) {
    text +=
        "\n\nIt looks like you are trying to use a client-go credential plugin that is not installed.\n\n"
        "To learn more about this feature, consult the documentation available at:\n"
        "      "
        "https://kubernetes.io/docs/reference/access-authn-authz/authentication/"
        "#client-go-credential-plugins";
    if (!config.install_hint.empty()) text += "\n\n" + config.install_hint;
  }
  return text;
}

void ExecPlugin::Impl::CountCall(int code, const char* status) {
  registry
      .Counter("rest_client_exec_plugin_call_total",
               "[ALPHA] Number of calls to an exec plugin, partitioned by the type of event encountered "
               "(no_error, "
               "plugin_execution_error, plugin_not_found_error, client_internal_error) and an optional exit "
               "code. The "
               "exit code will be set to 0 if and only if the plugin call was successful.",
               {{"code", std::to_string(code)}, {"call_status", status}})
      .Add();
}

ExecPlugin::ExecPlugin(http::Loop& loop, const Environment& environment, const Clock& clock,
                       metrics::Registry& registry, ExecConfig config, KubeCluster cluster,
                       UseCertificate use_certificate)
    : impl_(std::make_shared<Impl>(loop, environment, clock, registry, std::move(config), std::move(cluster),
                                   std::move(use_certificate))) {
  AddTimeToLive(registry, [weak = std::weak_ptr(impl_)] {
    const auto impl = weak.lock();
    if (impl == nullptr) return std::numeric_limits<double>::infinity();
    return impl->expires_at - std::chrono::duration<double>(impl->clock.WallNow().time_since_epoch()).count();
  });
}

ExecPlugin::~ExecPlugin() {
  impl_->loop.Sync([this] { impl_->closed = true; });
  impl_->thread = {};  // requests a stop and joins
}

void ExecPlugin::WhenReady(std::move_only_function<void(Expected<>)> then) {
  if (impl_->Fresh()) return then({});
  impl_->waiting.push_back(std::move(then));
  if (!impl_->running) impl_->Start();
}

std::string ExecPlugin::Authorization() {
  return impl_->current && !impl_->current->token.empty() ? "Bearer " + impl_->current->token : "";
}

std::uint64_t ExecPlugin::Serial() const { return impl_->serial; }

// The rejected request is not repeated; the next ones wait for the plugin. Of many concurrent requests with
// one invalid credential only the first triggers a run.
void ExecPlugin::OnUnauthorized(std::uint64_t serial) {
  if (serial == impl_->serial) impl_->rejected = true;
}

}  // namespace berth::client
