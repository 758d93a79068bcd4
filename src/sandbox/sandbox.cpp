#include "sandbox/sandbox.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sandbox/agenda.hpp"
#include "sandbox/api_server/api_server.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/nodes/node_failure.hpp"

namespace berth::sandbox {

namespace asio = boost::asio;

struct Sandbox::Impl {
  Impl(asio::io_context& io, const Clock& clock, const SandboxOptions& options)
      : options(options),
        clock(clock),
        random(options.seed),
        store(options.window),
        agenda(clock),
        verbs(store, clock, random),
        controllers(verbs, agenda, random, Adjusted(options)),
        failures(verbs, agenda, random),
        api(verbs, agenda, random),
        timer(io) {}

  // Without heartbeats silence means nothing.
  static ControllersOptions Adjusted(const SandboxOptions& options) {
    ControllersOptions adjusted = options.controllers;
    if (options.kubelet.lease_every == Duration::zero()) adjusted.node_lifecycle.enabled = false;
    return adjusted;
  }
  ApiResult<> CreateBasics();
  ApiResult<> CreateStandardClass();
  void Arm();

  SandboxOptions options;
  const Clock& clock;
  Random random;
  Store store;
  Agenda agenda;
  Verbs verbs;
  Controllers controllers;
  FailureSchedule failures;
  LoadReport loaded;
  std::unique_ptr<Kubelet> kubelet;
  ApiServer api;
  asio::steady_timer timer;
  std::unique_ptr<http::Server> server;
};

Expected<std::unique_ptr<Sandbox>> Sandbox::Start(asio::io_context& io, const Clock& clock,
                                                  const SandboxOptions& options) {
  auto impl = std::make_unique<Impl>(io, clock, options);
  if (auto made = impl->CreateBasics(); !made) return Fail(ErrorCode::kInternal, made.error().message);
  impl->kubelet =
      std::make_unique<Kubelet>(impl->verbs, impl->agenda, options.kubelet, &impl->controllers.events());
  if (!options.objects.empty()) {
    BERTH_TRY(impl->loaded, LoadObjects(impl->verbs, options.objects));
  }
  if (impl->store.All(Kinds().storage_classes).empty()) {
    if (auto made = impl->CreateStandardClass(); !made)
      return Fail(ErrorCode::kInternal, made.error().message);
  }
  if (auto made = CreateNodes(impl->verbs, impl->random, options.nodes, &impl->failures); !made) {
    return Fail(ErrorCode::kInternal, made.error().message);
  }
  http::ServerOptions server;
  server.address = options.address;
  server.port = options.port;
  server.refusal = &ApiServer::Refusal;
  BERTH_TRY(impl->server,
            http::Server::Listen(io, std::move(server), [api = &impl->api](auto request, auto exchange) {
              api->Handle(std::move(request), std::move(exchange));
            }));
  impl->agenda.OnEarlier([impl = impl.get()] { impl->Arm(); });
  impl->Arm();
  return std::unique_ptr<Sandbox>(new Sandbox(std::move(impl)));
}

// What every cluster has before anybody does anything.
ApiResult<> Sandbox::Impl::CreateBasics() {
  for (const std::string_view name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
    Document document;
    document.root()["metadata"] = json::object{{"name", name}};
    BERTH_CHECKED(verbs.Create(Known().namespaces, "", std::move(document)));
  }
  const std::pair<std::string_view, std::int64_t> classes[] = {{"system-cluster-critical", 2'000'000'000},
                                                               {"system-node-critical", 2'000'001'000}};
  for (const auto& [name, value] : classes) {
    Document document;
    document.root()["metadata"] = json::object{{"name", name}};
    document.root()["value"] = value;
    BERTH_CHECKED(verbs.Create(Known().priority_classes, "", std::move(document)));
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
  BERTH_CHECKED(verbs.Create(Kinds().storage_classes, "", std::move(document)));
  return {};
}

// One timer of the io_context stands for the whole agenda.
void Sandbox::Impl::Arm() {
  const auto next = agenda.Next();
  if (!next) return;
  timer.expires_after(std::max(*next - clock.Now(), Duration::zero()));
  timer.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // re-armed for something earlier
    agenda.RunDue();
    Arm();
  });
}

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Sandbox::~Sandbox() {
  impl_->agenda.OnEarlier(nullptr);
  impl_->timer.cancel();
}

std::uint16_t Sandbox::port() const { return impl_->server->port(); }

std::string Sandbox::url() const { return fmt::format("http://{}:{}", impl_->options.address, port()); }

Verbs& Sandbox::verbs() { return impl_->verbs; }

const LoadReport& Sandbox::loaded() const { return impl_->loaded; }

std::string Sandbox::Dump(DumpFormat format) const { return DumpObjects(impl_->store, format); }

void Sandbox::Stop(std::function<void()> done) {
  impl_->agenda.OnEarlier(nullptr);
  impl_->timer.cancel();
  impl_->api.watches().CloseAll();
  impl_->server->Stop(std::chrono::seconds(1), std::move(done));
}

std::string KubeconfigFor(std::string_view url) {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: berth-sandbox
clusters:
- name: berth-sandbox
  cluster:
    server: {}
users:
- name: sandbox
  user: {{}}
contexts:
- name: berth-sandbox
  context:
    cluster: berth-sandbox
    user: sandbox
    namespace: default
)",
                     url);
}

}  // namespace berth::sandbox
