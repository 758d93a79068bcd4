#include "service/secure_server.hpp"

#include <fmt/format.h>

#include <future>
#include <optional>
#include <random>

#include "base/random.hpp"
#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "kubernetes/client/connection.hpp"
#include "observability/log/log.hpp"
#include "service/auth/authenticator.hpp"
#include "service/auth/authorizer.hpp"
#include "service/delegation.hpp"
#include "service/endpoints.hpp"
#include "service/gate.hpp"
#include "service/negotiation.hpp"
#include "service/serving_certificates.hpp"
#include "service/tls_listener.hpp"

namespace berth::service {
namespace {

http::Response Refusal(int status) {
  if (status == 400) return BadRequest();
  if (status == 413) return PlainError(413, "413 Request Entity Too Large");
  if (status == 431) return PlainError(431, "431 Request Header Fields Too Large");
  return PlainError(status, "Internal Server Error");
}

http::ServerOptions OptionsOf(const SecureServingOptions& serving, const ServingLimits& limits) {
  http::ServerOptions options = OptionsWithin(limits);
  options.address = serving.bind_address.empty() ? "0.0.0.0" : serving.bind_address;
  options.port = static_cast<std::uint16_t>(serving.port);
  options.both_families = true;
  options.reuse_port = serving.permit_port_sharing;
  options.refusal = &Refusal;
  return options;
}

}  // namespace

// Members are in dependency order.
struct SecureServer::Impl {
  Impl(Parts parts, const ServingLimits& limits) : parts(parts), limits(limits), meters(parts.metrics) {}

  Expected<> Connect(const AuthenticationOptions& authentication, const AuthorizationOptions& authorization);
  void Assemble(const AuthenticationOptions& authentication, const AuthorizationOptions& authorization,
                AlwaysAllowed always);
  Expected<> Listen(const SecureServingOptions& serving);

  client::Api* authn_api() const { return authn ? &authn->api() : nullptr; }
  client::Api* authz_api() const { return authz ? &authz->api() : nullptr; }

  const Parts parts;
  const ServingLimits limits;
  Random random{std::random_device{}()};
  FilterMetrics meters;
  std::optional<ServingCertificates> certificates;
  std::unique_ptr<client::Connection> authn, authz;
  std::unique_ptr<Trust> trust;
  std::unique_ptr<TokenReviewer> tokens;
  std::unique_ptr<Authenticator> authenticator;
  std::unique_ptr<Authorizer> authorizer;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<TlsListener> listener;
};

Expected<std::unique_ptr<SecureServer>> SecureServer::Start(const SecureServingOptions& serving,
                                                            const AuthenticationOptions& authentication,
                                                            const AuthorizationOptions& authorization,
                                                            Parts parts, const ServingLimits& limits) {
  if (serving.port < 0 || serving.port > 65535) {
    return Invalid(
        fmt::format("--secure-port {} must be between 0 and 65535, inclusive. 0 for turning off secure port",
                    serving.port));
  }
  if (serving.port == 0) return nullptr;
  auto server = std::unique_ptr<SecureServer>(new SecureServer(std::make_unique<Impl>(parts, limits)));
  Impl& impl = *server->impl_;
  BERTH_TRY(impl.certificates, ServingCertificates::Load(serving, parts.environment, parts.clock));
  BERTH_TRY(AlwaysAllowed always, AlwaysAllowed::Parse(authorization.always_allow_paths));
  BERTH_RETURN_IF_ERROR(impl.Connect(authentication, authorization));
  parts.io.Sync([&] { impl.Assemble(authentication, authorization, std::move(always)); });
  BERTH_RETURN_IF_ERROR(impl.trust->ReadFiles());
  if (impl.trust->NeedsCluster()) {
    BERTH_RETURN_IF_ERROR(ReadTrustFromCluster(parts.io, *impl.authn_api(), authentication, *impl.trust));
  }
  Expected<> listening;
  parts.io.Sync([&] { listening = impl.Listen(serving); });
  BERTH_RETURN_IF_ERROR(listening);
  log::Info(fmt::format("Serving securely on {}", server->address()));
  return server;
}

Expected<> SecureServer::Check(const SecureServingOptions& serving,
                               const AuthenticationOptions& authentication,
                               const AuthorizationOptions& authorization,
                               const client::Environment& environment, const Clock& clock) {
  if (serving.port == 0) return {};
  BERTH_RETURN_IF_ERROR(ServingCertificates::Load(serving, environment, clock));
  BERTH_RETURN_IF_ERROR(LoadReviewConnection(authentication.kubeconfig, "authentication", environment));
  BERTH_RETURN_IF_ERROR(Trust::CheckFiles(authentication, environment));
  BERTH_RETURN_IF_ERROR(LoadReviewConnection(authorization.kubeconfig, "authorization", environment));
  BERTH_RETURN_IF_ERROR(AlwaysAllowed::Parse(authorization.always_allow_paths));
  return {};
}

Expected<> SecureServer::Impl::Connect(const AuthenticationOptions& authentication,
                                       const AuthorizationOptions& authorization) {
  BERTH_TRY(authn, ConnectForReviews(parts.io, authentication.kubeconfig, "authentication", parts.environment,
                                     parts.metrics, parts.clock));
  BERTH_TRY(authz, ConnectForReviews(parts.io, authorization.kubeconfig, "authorization", parts.environment,
                                     parts.metrics, parts.clock));
  const auto missing = [&](const char* key, const char* what) {
    log::Warning(
        fmt::format("No authentication-kubeconfig provided in order to lookup {} in "
                    "configmap/extension-apiserver-authentication in kube-system, so {} "
                    "authentication won't work.",
                    key, what));
  };
  if (!authn && !authentication.skip_lookup) {
    if (authentication.client_ca_file.empty()) missing("client-ca-file", "client certificate");
    if (authentication.request_header.client_ca_file.empty()) {
      missing("requestheader-client-ca-file", "request-header client certificate");
    }
  }
  if (!authz) {
    log::Warning(
        "No authorization-kubeconfig provided, so SubjectAccessReview of authorization tokens won't work.");
  }
  return {};
}

void SecureServer::Impl::Assemble(const AuthenticationOptions& authentication,
                                  const AuthorizationOptions& authorization, AlwaysAllowed always) {
  trust = std::make_unique<Trust>(authentication,
                                  Trust::Parts{parts.io, parts.environment, random, authn_api()}, [this] {
                                    if (listener) listener->Update();
                                  });
  if (authn) {
    tokens = std::make_unique<TokenReviewer>(parts.io, authn->api(), random, parts.metrics,
                                             authentication.token_cache_ttl);
  }
  authenticator = std::make_unique<Authenticator>(*trust, tokens.get(), parts.clock, meters);
  authorizer = std::make_unique<Authorizer>(parts.io, authz_api(), random, parts.metrics, std::move(always),
                                            authorization.authorized_ttl, authorization.unauthorized_ttl);
  gate = std::make_unique<Gate>(Gate::Parts{parts.io, *authenticator, *authorizer, parts.endpoints, meters});
}

Expected<> SecureServer::Impl::Listen(const SecureServingOptions& serving) {
  auto listening = TlsListener::Listen(
      parts.io, parts.environment, *std::move(certificates),
      [this](http::ServerTlsOptions& tls) -> Expected<> {
        tls.trust_later = trust->RequestsClientCertificates();
        tls.client_ca_pem = trust->AuthoritiesPem();
        return {};
      },
      OptionsOf(serving, limits),
      [this](http::Request request, std::shared_ptr<http::Exchange> exchange) {
        gate->Handle(std::move(request), std::move(exchange));
      });
  if (!listening) {
    if (listening.error().code == ErrorCode::kConflict)
      listening.error().message +=
          "; is another scheduler on this host? --secure-port=0 or another one lets this one start, too";
    const bool v6 = serving.bind_address.contains(':');
    return std::unexpected(std::move(listening).error().In(
        fmt::format(fmt::runtime(v6 ? "failed to create listener: failed to listen on [{}]:{}"
                                    : "failed to create listener: failed to listen on {}:{}"),
                    serving.bind_address, serving.port)));
  }
  listener = std::move(*listening);
  trust->Start();
  return {};
}

SecureServer::SecureServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

SecureServer::~SecureServer() {
  Impl& impl = *impl_;
  http::IoThread& io = impl.parts.io;
  if (impl.listener) {
    const std::string address = this->address();
    std::promise<void> drained;
    io.Sync([&] { impl.listener->server().Stop(impl.limits.drain, [&] { drained.set_value(); }); });
    log::Info("Stopped listening on " + address);
    log::Info("[graceful-termination] secure server has stopped listening");
    drained.get_future().wait();
    log::Info("[graceful-termination] secure server is exiting");
  }
  io.Sync([&] {
    impl.listener.reset();
    impl.gate.reset();
    impl.authorizer.reset();
    impl.authenticator.reset();
    impl.tokens.reset();
    impl.trust.reset();
  });
}

std::uint16_t SecureServer::port() const { return impl_->listener->server().port(); }
std::string SecureServer::address() const { return impl_->listener->server().address(); }

}  // namespace berth::service
