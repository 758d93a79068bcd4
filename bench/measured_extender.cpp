#include "bench/measured_extender.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <cstdlib>
#include <future>

#include "bench/measured_rule.hpp"
#include "http/io_thread.hpp"
#include "http/server.hpp"
#include "scheduler/extenders/http_transport.hpp"

namespace berth::bench {
namespace {

namespace json = boost::json;
using cluster::Row;

// The CPU request of the first container, "<n>m".
std::int64_t CpuRequest(const json::value& pod) {
  const json::string& cpu = pod.at_pointer("/spec/containers/0/resources/requests/cpu").as_string();
  return std::strtoll(cpu.c_str(), nullptr, 10);
}

}  // namespace

struct MeasuredExtender::Impl {
  SystemClock clock;
  http::IoThread server_thread{clock}, client_thread{clock};
  std::unique_ptr<http::Server> server;
  const cluster::NodeTable* nodes = nullptr;

  template <class Each>  // each(name, allocatable, left)
  void ForEachNode(const json::value& call, Each&& each) const {
    const std::int64_t request = CpuRequest(call.at("Pod"));
    const auto allocatable = nodes->allocatable(cluster::kCpu), requested = nodes->requested(cluster::kCpu);
    for (const json::value& name : call.at("NodeNames").as_array()) {
      const Row row = nodes->Find(nodes->symbols().node_names.Find(std::string_view(name.as_string())));
      each(name.as_string(), allocatable[row], LeftOf(allocatable[row], requested[row], request));
    }
  }
  std::string Filter(const json::value& call) const {
    std::string fit, rejected;
    ForEachNode(call, [&](std::string_view name, std::int64_t allocatable, std::int64_t left) {
      if (left >= allocatable / 10) {
        fit += fmt::format("{}\"{}\"", fit.empty() ? "" : ",", name);
      } else {
        rejected +=
            fmt::format("{}\"{}\":\"node(s) had to keep cpu free\"", rejected.empty() ? "" : ",", name);
      }
    });
    return fmt::format("{{\"NodeNames\":[{}],\"FailedNodes\":{{{}}}}}", fit, rejected);
  }
  std::string Prioritize(const json::value& call) const {
    std::string scores;
    ForEachNode(call, [&](std::string_view name, std::int64_t allocatable, std::int64_t left) {
      // Extenders' scores go from 0 to 10; the weight is 10.
      scores += fmt::format("{}{{\"Host\":\"{}\",\"Score\":{}}}", scores.empty() ? "" : ",", name,
                            ScoreOf(left, allocatable) / 10);
    });
    return "[" + scores + "]";
  }
};

MeasuredExtender::MeasuredExtender() : impl_(std::make_unique<Impl>()) {
  auto listening = http::Server::Listen(
      impl_->server_thread.context(), {},
      [impl = impl_.get()](http::Request request, std::shared_ptr<http::Exchange> exchange) {
        const json::value call = json::parse(request.body);
        http::Response response;
        response.content_type = "application/json";
        response.body = ShareText(request.target == "/filter" ? impl->Filter(call) : impl->Prioritize(call));
        exchange->Respond(std::move(response));
      });
  impl_->server = std::move(listening).value();
}

MeasuredExtender::~MeasuredExtender() {
  std::promise<void> closed;
  impl_->server_thread.Post([&] {
    impl_->server.reset();
    closed.set_value();
  });
  closed.get_future().wait();
}

config::ExtenderConfig MeasuredExtender::config() const {
  config::ExtenderConfig config;
  config.url_prefix = fmt::format("http://127.0.0.1:{}", impl_->server->port());
  config.filter_verb = "filter";
  config.prioritize_verb = "prioritize";
  config.weight = 1;
  config.node_cache_capable = true;
  return config;
}

assembly::ExtenderAccess MeasuredExtender::access() {
  extenders::Environment environment;
  environment.read_file = [](const std::string&) -> Expected<std::string> { return ""; };
  environment.variable = [](const std::string&) { return std::nullopt; };
  return {.make_transport = extenders::HttpTransports(impl_->client_thread, std::move(environment))};
}

void MeasuredExtender::ReadNodes(const cluster::NodeTable& nodes) { impl_->nodes = &nodes; }

api::PodPtr WithText(const api::PodPtr& pod) {
  auto copy = std::make_shared<api::Pod>(*pod);
  copy->text.emplace() = fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"{}","uid":"{}"}},"spec":{{"schedulerName":"default-scheduler","containers":[{{"name":"main","image":"{}","resources":{{"requests":{{"cpu":"{}m"}}}}}}]}}}})",
      pod->metadata.name, pod->metadata.ns, pod->metadata.uid, pod->spec.containers.front().image,
      pod->spec.containers.front().resources.requests.at("cpu").MilliValue());
  return copy;
}

}  // namespace berth::bench
