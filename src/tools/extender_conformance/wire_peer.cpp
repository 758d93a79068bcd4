#include "tools/extender_conformance/wire_peer.hpp"

#include <fmt/format.h>

#include <future>

#include "http/client.hpp"
#include "http/proxy.hpp"
#include "process/extender_world.hpp"

namespace berth::extender_conformance {
namespace {

class WirePeer final : public Peer {
 public:
  WirePeer(std::string url, Duration timeout, std::unique_ptr<extenders::Transport> transport,
           std::unique_ptr<http::Client> client)
      : url_(std::move(url)),
        timeout_(timeout),
        transport_(std::move(transport)),
        client_(std::move(client)) {}

  std::vector<Answer> Ask(const std::string& verb, const std::vector<std::string>& bodies) override {
    std::vector<std::promise<Answer>> answers(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      transport_->Ask({.url = fmt::format("{}/{}", url_, verb), .body = bodies[i], .timeout = timeout_},
                      [&answer = answers[i]](Answer reply) { answer.set_value(std::move(reply)); });
    }
    std::vector<Answer> all;
    for (auto& answer : answers) all.push_back(answer.get_future().get());
    return all;
  }

  Expected<Bare> AskBare(const std::string& method, const std::string& verb,
                         const std::string& body) override {
    http::ClientRequest request;
    request.method = method;
    request.target = "/" + verb;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = body;
    request.timeout = timeout_;
    std::promise<Expected<Bare>> answer;
    client_->Send(std::move(request), [&](Expected<http::ClientResponse> response) {
      if (!response) return answer.set_value(std::unexpected(std::move(response).error()));
      const std::string* connection = response->Find("Connection");
      answer.set_value(Bare{response->status, connection != nullptr && *connection == "close"});
    });
    return answer.get_future().get();
  }

 private:
  const std::string url_;
  const Duration timeout_;
  const std::unique_ptr<extenders::Transport> transport_;
  const std::unique_ptr<http::Client> client_;
};

}  // namespace

Expected<std::unique_ptr<Peer>> Connect(http::IoThread& io, const Target& target,
                                        const client::Environment& environment) {
  std::string url = target.url;
  while (url.ends_with('/')) url.pop_back();
  config::ExtenderConfig config;
  config.url_prefix = url;
  config.tls = target.tls;
  const extenders::World world = process::ExtenderWorld(environment);
  BERTH_TRY(auto transport, extenders::HttpTransports(io, world)(config));
  http::ClientOptions options;
  BERTH_TRY(options.origin, http::ParseOrigin(url));
  BERTH_TRY(options.tls, extenders::TlsOf(config, world));
  BERTH_TRY(options.proxy, http::ProxyFromVariables(options.origin, world.variable));
  BERTH_TRY(auto client, http::Client::Make(io, std::move(options)));
  return std::make_unique<WirePeer>(std::move(url), target.timeout, std::move(transport), std::move(client));
}

}  // namespace berth::extender_conformance
