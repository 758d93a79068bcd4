// The API of a complete scheduler, without sockets, for tests.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "observability/metrics/registry.hpp"
#include "process/scheduler_api.hpp"
#include "process/scheduler_api_paths.hpp"
#include "scheduler/cycle/fake_scheduler_environment.hpp"
#include "testing/builders.hpp"

namespace berth::process {

struct FakeSchedulerApi {
  // `config_file`: the value of --config; empty: none. `known`: the plugins that configurations may enable.
  explicit FakeSchedulerApi(bool may_retry = true, const std::string& config_file = "",
                            bool may_reload = true,
                            const runtime::Registry& known = assembly::InTreePlugins())
      : plugins(known) {
    flags.config = config_file;
    run.Build(config, plugins);
    run.loop.sink().OnSynced();
    run.Settle();
    explainer.emplace(evaluation::PodExplainer::Parts{run.loop, *run.scheduler, *run.engine, config, plugins,
                                                      run.clock, metrics});
    reload.emplace(ConfigReload::Parts{flags,
                                       table,
                                       config,
                                       plugins,
                                       run.loop,
                                       *run.scheduler,
                                       *run.engine,
                                       run.clock,
                                       metrics,
                                       {},
                                       [](const config::SchedulerConfig&) {}});
    api.emplace(endpoints,
                SchedulerApi::Parts{introspection::Inspector(
                                        {run.loop, *run.scheduler, std::as_const(*run.engine).cache(),
                                         run.engine->handle().signals, run.engine->profiles(),
                                         run.engine->reasons(), run.clock, metrics, std::chrono::minutes(5)}),
                                    *explainer, PodRetries(run.loop, *run.scheduler, run.clock), may_retry,
                                    *reload, may_reload, [this] { return leading.load(); }});
  }
  template <class T>
  void Change(std::shared_ptr<const T> before, std::shared_ptr<const T> after) {
    run.loop.sink().On(ports::Change<T>{std::move(before), std::move(after)});
    run.Settle();
  }
  void Add(const api::PodPtr& pod) { Change<api::Pod>(nullptr, pod); }
  void Add(const api::NodePtr& node) { Change<api::Node>(nullptr, node); }

  // Sends a request by the user "ann", whose response may come from another thread.
  std::future<http::Response> Ask(const std::string& target, http::Headers headers = {},
                                  std::string method = "GET") {
    const auto promise = std::make_shared<std::promise<http::Response>>();
    const http::Request request{std::move(method), target, std::move(headers), ""};
    endpoints.Answer(request, *service::ParseTarget(target),
                     {.name = "ann", .uid = "", .groups = {}, .extra = {}},
                     [promise](http::Response response) { promise->set_value(std::move(response)); });
    return promise->get_future();
  }
  // The same for a path below the root of the API, until the response.
  http::Response Get(const std::string& path, http::Headers headers = {}, std::string method = "GET") {
    auto response = Ask(std::string(kSchedulerApiRoot) + path, std::move(headers), std::move(method));
    while (response.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) run.Settle();
    run.Settle();
    return response.get();
  }

  std::atomic<bool> leading = true;
  metrics::Registry metrics;
  service::Endpoints endpoints{metrics};
  const runtime::Registry plugins;
  const config::SchedulerConfig config = config::DefaultSchedulerConfig();
  cycle::SchedulerEnvironment run;
  std::optional<evaluation::PodExplainer> explainer;
  SchedulerFlags flags;
  command_line::FlagSet table;
  std::optional<ConfigReload> reload;
  std::optional<SchedulerApi> api;
};

}  // namespace berth::process
