#include "sandbox/sandbox.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "sandbox/agenda.hpp"
#include "sandbox/api_server/api_server.hpp"
#include "sandbox/controllers/housekeeping.hpp"
#include "sandbox/controllers/node_taints.hpp"

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
        housekeeping(verbs, agenda),
        node_taints(verbs, agenda),
        api(verbs, agenda, random),
        timer(io) {}

  ApiResult<> CreateBasics();
  void Arm();

  SandboxOptions options;
  const Clock& clock;
  Random random;
  Store store;
  Agenda agenda;
  Verbs verbs;
  Housekeeping housekeeping;
  NodeTaints node_taints;
  std::unique_ptr<Kubelet> kubelet;
  ApiServer api;
  asio::steady_timer timer;
  std::unique_ptr<http::Server> server;
};

Expected<std::unique_ptr<Sandbox>> Sandbox::Start(asio::io_context& io, const Clock& clock,
                                                  const SandboxOptions& options) {
  auto impl = std::make_unique<Impl>(io, clock, options);
  if (auto made = impl->CreateBasics(); !made) return Fail(ErrorCode::kInternal, made.error().message);
  impl->kubelet = std::make_unique<Kubelet>(impl->verbs, impl->agenda, options.kubelet);
  if (auto made = CreateNodes(impl->verbs, impl->random, options.nodes); !made) {
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
