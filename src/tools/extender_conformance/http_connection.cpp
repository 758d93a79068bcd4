#include "tools/extender_conformance/http_connection.hpp"

#include <fmt/format.h>

#include <future>

#include "http/client.hpp"
#include "http/proxy.hpp"
#include "process/extender_environment.hpp"

namespace berth::extender_conformance {
namespace {

class HttpExtenderConnection final : public ExtenderConnection {
 public:
  HttpExtenderConnection(std::string url, Duration timeout, std::unique_ptr<extenders::Transport> transport,
                         std::unique_ptr<http::Client> client)
      : url_(std::move(url)),
        timeout_(timeout),
        transport_(std::move(transport)),
        client_(std::move(client)) {}

  std::vector<ReplyOrError> SendAll(const std::string& verb,
                                    const std::vector<std::string>& bodies) override {
    std::vector<std::promise<ReplyOrError>> replies(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      transport_->Send({.url = fmt::format("{}/{}", url_, verb), .body = bodies[i], .timeout = timeout_},
                       [&promise = replies[i]](ReplyOrError reply) { promise.set_value(std::move(reply)); });
    }
    std::vector<ReplyOrError> all;
    for (auto& reply : replies) all.push_back(reply.get_future().get());
    return all;
  }

  Expected<RawResponse> SendRaw(const std::string& method, const std::string& verb,
                                const std::string& body) override {
    http::ClientRequest request;
    request.method = method;
    request.target = "/" + verb;
    request.headers.emplace_back("Content-Type", "application/json");
    request.body = body;
    request.timeout = timeout_;
    std::promise<Expected<RawResponse>> reply;
    client_->Send(std::move(request), [&](Expected<http::ClientResponse> response) {
      if (!response) return reply.set_value(std::unexpected(std::move(response).error()));
      const std::string* connection = response->Find("Connection");
      reply.set_value(RawResponse{response->status, connection != nullptr && *connection == "close"});
    });
    return reply.get_future().get();
  }

 private:
  const std::string url_;
  const Duration timeout_;
  const std::unique_ptr<extenders::Transport> transport_;
  const std::unique_ptr<http::Client> client_;
};

}  // namespace

Expected<std::unique_ptr<ExtenderConnection>> Connect(http::IoThread& io, const Target& target,
                                                      const client::Environment& environment) {
  std::string url = target.url;
  while (url.ends_with('/')) url.pop_back();
  config::ExtenderConfig config;
  config.url_prefix = url;
  config.tls = target.tls;
  const extenders::Environment access = process::ExtenderEnvironment(environment);
  BERTH_TRY(auto transport, extenders::HttpTransports(io, access)(config));
  http::ClientOptions options;
  BERTH_TRY(options.origin, http::ParseOrigin(url));
  BERTH_TRY(options.tls, extenders::TlsOf(config, access));
  BERTH_TRY(options.proxy, http::ProxyFromVariables(options.origin, access.variable));
  BERTH_TRY(auto client, http::Client::Make(io, std::move(options)));
  return std::make_unique<HttpExtenderConnection>(std::move(url), target.timeout, std::move(transport),
                                                  std::move(client));
}

}  // namespace berth::extender_conformance
