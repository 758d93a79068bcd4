#include "sandbox/cluster/sandbox.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>

#include "base/timer_queue.hpp"
#include "http/certificates.hpp"
#include "http/tls.hpp"
#include "sandbox/apiserver/api_server.hpp"
#include "sandbox/cluster/kubeconfig.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/kubelet/devices/device_attachments.hpp"
#include "sandbox/kubelet/devices/device_drivers.hpp"
#include "sandbox/kubelet/node_failure.hpp"
#include "sandbox/store/guard.hpp"

namespace berth::sandbox {

namespace asio = boost::asio;

struct Sandbox::Impl {
  Impl(asio::io_context& io, const Clock& clock, const SandboxOptions& options)
      : options(options),
        clock(clock),
        random(options.seed),
        store(options.window),
        timers(clock),
        verbs(store, clock, random),
        controllers(verbs, timers, random, Adjusted(options)),
        failures(verbs, timers, random),
        api(verbs, timers, random, {.policy = options.policy, .field_ownership = options.field_ownership}),
        timer(io) {}

  // Without heartbeats missing heartbeats must be ignored.
  static ControllersOptions Adjusted(const SandboxOptions& options) {
    ControllersOptions adjusted = options.controllers;
    if (options.kubelet.lease_every == Duration::zero()) adjusted.node_lifecycle.enabled = false;
    return adjusted;
  }
  ApiResult<> CreateBasics();
  ApiResult<> CreateStandardClass();
  Expected<void> Listen(asio::io_context& io);
  void Arm();

  SandboxOptions options;
  const Clock& clock;
  Random random;
  Store store;
  TimerQueue timers;
  Verbs verbs;
  Controllers controllers;
  FailureSchedule failures;
  LoadReport loaded;
  std::unique_ptr<Kubelet> kubelet;
  std::unique_ptr<DeviceDrivers> device_drivers;
  std::unique_ptr<DeviceAttachments> device_attachments;
  ApiServer api;
  asio::steady_timer timer;
  std::unique_ptr<http::Server> server;
  std::optional<http::CertificateAuthority> authority;  // for https
};

Expected<std::unique_ptr<Sandbox>> Sandbox::Start(asio::io_context& io, const Clock& clock,
                                                  const SandboxOptions& options) {
  auto impl = std::make_unique<Impl>(io, clock, options);
  if (auto made = impl->CreateBasics(); !made) return Fail(ErrorCode::kInternal, made.error().message);
  impl->kubelet =
      std::make_unique<Kubelet>(impl->verbs, impl->timers, options.kubelet, &impl->controllers.events());
  impl->device_drivers =
      std::make_unique<DeviceDrivers>(impl->verbs, impl->timers, impl->controllers.events());
  impl->device_attachments = std::make_unique<DeviceAttachments>(impl->verbs, impl->timers);
  if (!options.objects.empty()) {
    BERTH_TRY(impl->loaded, LoadObjects(impl->verbs, options.objects));
  }
  // The provisioner of the standard class is one of the controllers.
  if (options.controllers.workloads && impl->store.All(Kinds().storage_classes).empty()) {
    if (auto made = impl->CreateStandardClass(); !made)
      return Fail(ErrorCode::kInternal, made.error().message);
  }
  if (auto made = CreateNodes(impl->verbs, impl->random, options.nodes, &impl->failures); !made) {
    return Fail(ErrorCode::kInternal, made.error().message);
  }
  BERTH_RETURN_IF_ERROR(impl->Listen(io));
  impl->timers.OnEarlier([impl = impl.get()] { impl->Arm(); });
  impl->Arm();
  return std::unique_ptr<Sandbox>(new Sandbox(std::move(impl)));
}

Expected<void> Sandbox::Impl::Listen(asio::io_context& io) {
  http::ServerOptions listening;
  listening.address = options.address;
  listening.port = options.port;
  listening.refusal = &ApiServer::Refusal;
  if (options.https) {
    BERTH_TRY(authority, http::CertificateAuthority::Make("berth-sandbox"));
    BERTH_TRY(const http::KeyPair pair,
              authority->ForServer({"localhost", "kubernetes.default.svc", "127.0.0.1", options.address}));
    BERTH_TRY(listening.tls, http::MakeServerTlsContext({.certificate_pem = pair.certificate,
                                                         .key_pem = pair.key,
                                                         .client_ca_pem = authority->pem()}));
  }
  BERTH_TRY(server, http::Server::Listen(io, std::move(listening), [this](auto request, auto exchange) {
              api.Handle(std::move(request), std::move(exchange));
            }));
  return {};
}

// Creates the objects that every new cluster has.
ApiResult<> Sandbox::Impl::CreateBasics() {
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    Document document;
    document.root()["metadata"] = json::object{{"name", name}};
    BERTH_RETURN_IF_ERROR(verbs.Create(Known().namespaces, "", std::move(document)));
  }
  const std::pair<std::string_view, std::int64_t> classes[] = {{"system-cluster-critical", 2'000'000'000},
                                                               {"system-node-critical", 2'000'001'000}};
  for (const auto& [name, value] : classes) {
    Document document;
    document.root()["metadata"] = json::object{{"name", name}};
    document.root()["value"] = value;
    BERTH_RETURN_IF_ERROR(verbs.Create(Known().priority_classes, "", std::move(document)));
  }
  return {};
}

ApiResult<> Sandbox::Impl::CreateStandardClass() {
  Document document;
  document.root()["metadata"] =
      json::object{{"name", kStandardClass},
                   {"annotations", json::object{{"storageclass.kubernetes.io/is-default-class", "true"}}}};
  document.root()["provisioner"] = kProvisioner;
  document.root()["volumeBindingMode"] = "WaitForFirstConsumer";
  BERTH_RETURN_IF_ERROR(verbs.Create(Kinds().storage_classes, "", std::move(document)));
  return {};
}

// One timer of the io_context serves the whole timers.
void Sandbox::Impl::Arm() {
  const auto next = timers.Next();
  if (!next) return;
  timer.expires_after(std::max(*next - clock.Now(), Duration::zero()));
  timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // re-armed for an earlier time
    RunTimersGuarded(timers);
    Arm();
  });
}

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Sandbox::~Sandbox() {
  impl_->timers.OnEarlier(nullptr);
  impl_->timer.cancel();
}

std::uint16_t Sandbox::port() const { return impl_->server->port(); }

std::string Sandbox::url() const {
  const std::string& address = impl_->options.address;
  const bool anywhere = address == "0.0.0.0" || address == "::";
  return fmt::format("{}://{}:{}", impl_->options.https ? "https" : "http", anywhere ? "127.0.0.1" : address,
                     port());
}

std::string Sandbox::Kubeconfig() const {
  KubeconfigSource source{.url = url(), .authority = nullptr, .users = {}};
  if (impl_->authority) source.authority = &*impl_->authority;
  source.users.push_back({{"sandbox", {"system:masters"}}, "", impl_->options.https});
  if (impl_->options.policy) {
    for (const auto& known : impl_->options.policy->users()) source.users.push_back(known);
  }
  return WriteKubeconfig(source);
}

Verbs& Sandbox::verbs() { return impl_->verbs; }

const LoadReport& Sandbox::loaded() const { return impl_->loaded; }

std::string Sandbox::Dump(DumpFormat format) const { return DumpObjects(impl_->store, format); }

void Sandbox::Stop(std::function<void()> done) {
  impl_->timers.OnEarlier(nullptr);
  impl_->timer.cancel();
  impl_->api.watches().CloseAll();
  impl_->server->Stop(std::chrono::seconds(1), std::move(done));
}

}  // namespace berth::sandbox
