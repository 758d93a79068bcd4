#include "command/extender_check_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <future>

#include "base/go_duration.hpp"
#include "command/flags.hpp"
#include "http/client.hpp"
#include "http/io_thread.hpp"
#include "http/proxy.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/environment.hpp"
#include "process/extender_environment.hpp"
#include "process/files.hpp"
#include "tools/extender_conformance/script.hpp"

namespace berth::command {
namespace {

namespace json = boost::json;
using extender_conformance::ReplyOrError;
using extender_conformance::Result;

struct Options {
  std::string url;
  extender_conformance::Plan plan;
  std::string form = "both";
  std::string timeout = "5s";
  std::string objects;
  std::string managed_resource;
  std::string bind_verb = "bind";
  std::vector<std::string> verbs{"filter", "prioritize", "preempt"};
  bool bind = false;
  bool as_json = false;
  config::ExtenderTls tls;
};

int PrintError(const Error& error) {
  fmt::print(stderr, "Error: {}\n", error.message);
  return 1;
}

// Sends requests over the network with berth scheduler's extender client.
class HttpExtenderConnection final : public extender_conformance::ExtenderConnection {
 public:
  static Expected<std::unique_ptr<HttpExtenderConnection>> Connect(http::IoThread& io, const Options& options,
                                                                   const client::Environment& environment);

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
  std::string url_;
  Duration timeout_{};
  std::unique_ptr<extenders::Transport> transport_;
  std::unique_ptr<http::Client> client_;
};

Expected<std::unique_ptr<HttpExtenderConnection>> HttpExtenderConnection::Connect(
    http::IoThread& io, const Options& options, const client::Environment& environment) {
  auto connection = std::make_unique<HttpExtenderConnection>();
  connection->url_ = options.url;
  while (connection->url_.ends_with('/')) connection->url_.pop_back();
  connection->timeout_ = options.plan.timeout;
  config::ExtenderConfig config;
  config.url_prefix = connection->url_;
  config.tls = options.tls;
  const extenders::Environment access = process::ExtenderEnvironment(environment);
  BERTH_TRY(connection->transport_, extenders::HttpTransports(io, access)(config));
  http::ClientOptions client;
  BERTH_TRY(client.origin, http::ParseOrigin(connection->url_));
  BERTH_TRY(client.tls, extenders::TlsOf(config, access));
  BERTH_TRY(client.proxy, http::ProxyFromVariables(client.origin, access.variable));
  BERTH_TRY(connection->client_, http::Client::Make(io, std::move(client)));
  return connection;
}

// Reads the nodes and the first unbound pod.
Expected<extender_conformance::Cluster> ReadCluster(const std::string& file) {
  BERTH_TRY(const std::string text, process::ReadWholeFile(file));
  auto documents = api::SplitDocuments(text);
  if (!documents) return std::unexpected(std::move(documents).error().In(file));
  extender_conformance::Cluster cluster = extender_conformance::SyntheticCluster();
  cluster.nodes.clear();
  api::Decoder decoder;
  bool has_pod = false;
  for (const api::Document& document : documents->objects) {
    if (document.kind == "Node") {
      BERTH_TRY(const api::Node node, decoder.Object<api::Node>(document.json));
      cluster.nodes.push_back({node.metadata.name, document.json});
    } else if (document.kind == "Pod" && !has_pod) {
      BERTH_TRY(const api::Pod pod, decoder.Object<api::Pod>(document.json));
      if (!pod.spec.node_name.empty()) continue;
      cluster.pod = document.json;
      has_pod = true;
    }
  }
  if (cluster.nodes.empty()) return Invalid(fmt::format("{}: contains no nodes", file));
  return cluster;
}

class Report {
 public:
  explicit Report(const Options& options) : as_json_(options.as_json), url_(options.url) {}

  void Add(const extender_conformance::CaseResult& result) {
    ++counts_[static_cast<std::size_t>(result.finding.result)];
    const double seconds = std::chrono::duration<double>(result.duration).count();
    if (as_json_) {
      json::array messages;
      for (const std::string& text : result.finding.messages) messages.emplace_back(text);
      cases_.push_back(json::object{{"case", result.name},
                                    {"result", extender_conformance::ResultName(result.finding.result)},
                                    {"said", std::move(messages)},
                                    {"seconds", seconds}});
      return;
    }
    fmt::print("{:<6} {:<48} {:>7.1f} ms\n", extender_conformance::ResultName(result.finding.result),
               result.name, seconds * 1000);
    for (const std::string& text : result.finding.messages) fmt::print("         {}\n", text);
    std::fflush(stdout);
  }

  int End() const {
    const auto of = [&](Result result) { return counts_[static_cast<std::size_t>(result)]; };
    if (as_json_) {
      fmt::print("{}\n", json::serialize(json::object{{"url", url_},
                                                      {"cases", cases_},
                                                      {"pass", of(Result::kPass)},
                                                      {"warn", of(Result::kWarn)},
                                                      {"wrong", of(Result::kWrong)}}));
    } else {
      fmt::print("{} pass, {} warn, {} wrong\n", of(Result::kPass), of(Result::kWarn), of(Result::kWrong));
    }
    return of(Result::kWrong) > 0 ? 2 : 0;
  }

 private:
  const bool as_json_;
  const std::string url_;
  std::size_t counts_[3] = {};
  json::array cases_;
};

int Check(const Options& options) {
  const SystemClock clock;
  const client::SystemEnvironment environment;
  auto cluster = options.objects.empty()
                     ? Expected<extender_conformance::Cluster>(
                           extender_conformance::SyntheticCluster(options.managed_resource))
                     : ReadCluster(options.objects);
  if (!cluster) return PrintError(cluster.error());
  http::IoThread io(clock);
  auto connection = HttpExtenderConnection::Connect(io, options, environment);
  if (!connection) return PrintError(connection.error());
  Report report(options);
  extender_conformance::Play(options.plan, *cluster, **connection, clock,
                             [&](const extender_conformance::CaseResult& result) { report.Add(result); });
  return report.End();
}

void Define(CLI::App& app, Options& options) {
  app.add_option("URL", options.url, "urlPrefix of the extender: http://127.0.0.1:8888/scheduler")
      ->required();
  app.add_option("--verbs", options.verbs, "verbs to check: any of filter, prioritize, preempt, bind")
      ->delimiter(',')
      ->check(CLI::IsMember({"filter", "prioritize", "preempt", "bind"}))
      ->capture_default_str();
  app.add_option("--filter-verb", options.plan.filter, "filterVerb in the scheduler's configuration")
      ->capture_default_str();
  app.add_option("--prioritize-verb", options.plan.prioritize, "prioritizeVerb")->capture_default_str();
  app.add_option("--preempt-verb", options.plan.preempt, "preemptVerb")->capture_default_str();
  app.add_option("--bind-verb", options.bind_verb, "bindVerb")->capture_default_str();
  app.add_flag("--bind", options.bind, "check the verb bind, too, with a pod that does not exist");
  app.add_option("--form", options.form,
                 "names: as with nodeCacheCapable: true; nodes: as with false; both: check both")
      ->check(CLI::IsMember({"names", "nodes", "both"}))
      ->capture_default_str();
  app.add_option("-f,--filename", options.objects,
                 "nodes and a pending pod of the cluster: kubectl get nodes,pods -A -o json; default: three "
                 "generated nodes")
      ->type_name("FILE");
  app.add_option(
         "--managed-resource", options.managed_resource,
         "resource in managedResources of the scheduler's configuration; the generated pod requests it")
      ->type_name("NAME");
  app.add_option("--timeout", options.timeout, "httpTimeout in the scheduler's configuration")
      ->capture_default_str();
  app.add_option("--many", options.plan.many,
                 "number of node names in the large request; with whole nodes a fifth of that")
      ->check(CLI::Range(5, 1'000'000))
      ->capture_default_str();
  app.add_option("--at-once", options.plan.at_once, "number of concurrent requests")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--ca-file", options.tls.ca_file, "tlsConfig.caFile")->type_name("FILE");
  app.add_option("--cert-file", options.tls.cert_file, "tlsConfig.certFile")->type_name("FILE");
  app.add_option("--key-file", options.tls.key_file, "tlsConfig.keyFile")->type_name("FILE");
  app.add_option("--server-name", options.tls.server_name, "tlsConfig.serverName")->type_name("NAME");
  app.add_flag("--insecure", options.tls.insecure, "tlsConfig.insecure");
  app.add_flag("--json", options.as_json, "print one JSON document instead of text");
}

}  // namespace

int RunExtenderCheckCommand(std::span<const std::string> args) {
  Options options;
  CLI::App app(
      "Sends a scheduler extender the requests of kube-scheduler, including error cases, and reports how "
      "kube-scheduler v1.37.1 would handle the responses.\n\n  berth extender check "
      "http://127.0.0.1:8888/scheduler --form names\n  kubectl get nodes,pods -A -o json | berth extender "
      "check https://ext:8443 --ca-file ca.crt -f -\n\npass: correct. warn: accepted, but probably not as "
      "intended. wrong: kube-scheduler fails, or acts differently from the response. Exit code 0 without "
      "wrong responses, 2 with some, 1 if no request could be sent.\nNothing is written to the cluster; "
      "--bind uses a pod that does not exist.",
      "berth extender check");
  Define(app, options);
  if (const auto code = ParseFlags(app, args)) return *code;
  const auto timeout = ParseGoDuration(options.timeout);
  if (!timeout)
    return PrintError(
        {ErrorCode::kInvalid,
         fmt::format("--timeout {}: expected a duration such as 5s or 200ms", options.timeout)});
  options.plan.timeout = timeout->count() == 0 ? std::chrono::seconds(5) : *timeout;
  options.plan.names = options.form != "nodes";
  options.plan.whole = options.form != "names";
  const auto offers = [&](const char* verb) {
    return std::ranges::find(options.verbs, verb) != options.verbs.end();
  };
  if (!offers("filter")) options.plan.filter.clear();
  if (!offers("prioritize")) options.plan.prioritize.clear();
  if (!offers("preempt")) options.plan.preempt.clear();
  options.plan.bind = options.bind || offers("bind") ? options.bind_verb : "";
  return Check(options);
}

}  // namespace berth::command
