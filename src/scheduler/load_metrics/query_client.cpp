#include "scheduler/load_metrics/query_client.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/algorithm/string/replace.hpp>

#include "base/trim.hpp"
#include "http/base64.hpp"
#include "http/gzip.hpp"
#include "http/origin.hpp"
#include "observability/log/log.hpp"
#include "scheduler/load_metrics/query_answer.hpp"

namespace berth::load_metrics {
namespace {

// Enough for 100,000 series. All queries of a poll may be under way at the same time.
constexpr std::size_t kAnswerMax = 32U << 20;

}  // namespace

struct QueryClient::Server {
  http::Origin origin;
  std::unique_ptr<http::Transport> transport;
  bool get_only = false;
};

struct QueryClient::Query {
  std::string expression;
  Read read;
  Done done;
  std::size_t server = 0;
  std::size_t passed_over = 0;
};

std::string ForSource(const std::string& expression, const SourceSettings& source) {
  return boost::algorithm::replace_all_copy(expression, "$node",
                                            fmt::format("{}", fmt::join(source.node_labels, ",")));
}

QueryClient::QueryClient(SourceSettings settings, SourceParts parts)
    : settings_(std::move(settings)), parts_(std::move(parts)) {}

QueryClient::~QueryClient() = default;

Expected<std::unique_ptr<QueryClient>> QueryClient::Open(SourceSettings settings, SourceParts parts) {
  std::unique_ptr<QueryClient> client(new QueryClient(std::move(settings), std::move(parts)));
  BERTH_RETURN_IF_ERROR(client->ReadSecrets());
  BERTH_TRY(client->tls_, client->ReadTls());
  for (const std::string& address : client->settings_.addresses) {
    auto server = std::make_unique<Server>();
    BERTH_TRY(server->origin, http::ParseOrigin(address));
    BERTH_TRY(server->transport, client->parts_.connect(server->origin, client->tls_));
    client->servers_.push_back(std::move(server));
  }
  return client;
}

// --- credentials ---
Expected<http::TlsOptions> QueryClient::ReadTls() const {
  http::TlsOptions tls{.server_name = settings_.tls.server_name,
                       .insecure = settings_.tls.insecure_skip_verify};
  const auto read = [&](const std::string& path, std::string& out) -> Expected<> {
    if (path.empty()) return {};
    BERTH_TRY(out, parts_.read_file(path));
    return {};
  };
  BERTH_RETURN_IF_ERROR(read(settings_.tls.ca_file, tls.ca_pem));
  BERTH_RETURN_IF_ERROR(read(settings_.tls.cert_file, tls.certificate_pem));
  BERTH_RETURN_IF_ERROR(read(settings_.tls.key_file, tls.key_pem));
  return tls;
}

Expected<> QueryClient::ReadSecrets() {
  if (!settings_.username.empty()) {
    std::string password = settings_.password;
    if (!settings_.password_file.empty()) {
      BERTH_TRY(password, parts_.read_file(settings_.password_file));
      password = std::string(Trimmed(password));
    }
    authorization_ = "Basic " + http::EncodeBase64(settings_.username + ":" + password);
    return {};
  }
  std::string token = settings_.bearer_token;
  if (!settings_.bearer_token_file.empty()) {
    BERTH_TRY(token, parts_.read_file(settings_.bearer_token_file));
    token = std::string(Trimmed(token));
  }
  authorization_ = token.empty() ? "" : "Bearer " + token;
  return {};
}

void QueryClient::BeginRound() {
  std::string error_text;
  if (const auto read = ReadSecrets(); !read) error_text = read.error().message;
  if (const auto tls = ReadTls(); !tls) {
    error_text = tls.error().message;
  } else if (*tls != tls_) {
    for (const auto& server : servers_) {
      if (const auto set = server->transport->SetTls(*tls); !set) error_text = set.error().message;
    }
    if (error_text.empty()) tls_ = *tls;
  }
  if (error_text != logged_file_error_ && !error_text.empty()) {
    log::Warning("Failed to read the credentials of a metric source; keeping the previous ones",
                 {{"source", settings_.name}, {"err", error_text}});
  }
  logged_file_error_ = error_text;
}

// --- a query ---
void QueryClient::Run(const std::string& expression, Read read, Done done) {
  auto query = std::make_shared<Query>();
  query->expression = ForSource(expression, settings_);
  query->read = std::move(read);
  query->done = std::move(done);
  query->server = preferred_;
  Send(std::move(query));
}

void QueryClient::Send(std::shared_ptr<Query> query) {
  Server& server = *servers_[query->server];
  http::ClientRequest request;
  request.timeout = settings_.timeout / static_cast<std::int64_t>(servers_.size());
  request.body_limit_bytes = kAnswerMax;
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(request.timeout).count();
  const bool watcher = settings_.protocol == Protocol::kLoadWatcher;
  std::string form =
      watcher ? "" : fmt::format("query={}&timeout={}ms", http::EncodeQuery(query->expression), milliseconds);
  for (const auto& [name, value] : settings_.query_parameters)
    form +=
        fmt::format("{}{}={}", form.empty() ? "" : "&", http::EncodeQuery(name), http::EncodeQuery(value));
  request.target = watcher ? "/watcher" : "/api/v1/query";
  if (watcher || server.get_only) {
    if (!form.empty()) request.target += "?" + form;
  } else {
    request.method = "POST";
    request.body = std::move(form);
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  }
  request.headers.emplace_back("Accept", "application/json");
  request.headers.emplace_back("Accept-Encoding", "gzip");
  request.headers.emplace_back("User-Agent", "berth");
  if (!authorization_.empty()) request.headers.emplace_back("Authorization", authorization_);
  for (const auto& [name, value] : settings_.headers) request.headers.emplace_back(name, value);
  server.transport->Send(std::move(request), [this, query](Expected<http::ClientResponse> response) {
    Received(query, std::move(response));
  });
}

void QueryClient::Received(std::shared_ptr<Query> query, Expected<http::ClientResponse> response) {
  if (!response) {
    // During destruction there are no servers any more.
    if (response.error().code == ErrorCode::kCancelled) return query->done(std::unexpected(response.error()));
    return PassOver(std::move(query), response.error());
  }
  Server& server = *servers_[query->server];
  if ((response->status == 405 || response->status == 501) && !server.get_only) {
    server.get_only = true;
    return Send(std::move(query));
  }
  std::string body = std::move(response->body);
  if (const std::string* coding = response->Find("Content-Encoding");
      coding != nullptr && *coding == "gzip") {
    auto text = http::Gunzip(body, kAnswerMax);
    if (!text) return PassOver(std::move(query), text.error());
    body = std::move(*text);
  }
  auto read = query->read(response->status, body);
  if (!read && read.error().code == ErrorCode::kUnavailable)
    return PassOver(std::move(query), std::move(read).error());
  preferred_ = query->server;
  if (!read) read = std::unexpected(std::move(read).error().In(server.origin.HostPort()));
  query->done(std::move(read));
}

void QueryClient::PassOver(std::shared_ptr<Query> query, Error why) {
  why = std::move(why).In(servers_[query->server]->origin.HostPort());
  if (++query->passed_over >= servers_.size()) return query->done(std::unexpected(std::move(why)));
  query->server = (query->server + 1) % servers_.size();
  Send(std::move(query));
}

}  // namespace berth::load_metrics
