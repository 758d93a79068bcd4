#include "tools/extender_conformance/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "base/files.hpp"
#include "http/io_thread.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/environment.hpp"

namespace berth::extender_conformance {
namespace {

namespace json = boost::json;

// The requests to send.
Plan PlanOf(const ConformanceOptions& options) {
  Plan plan = options.plan;
  plan.timeout = options.target.timeout;
  plan.names = options.form != "nodes";
  plan.whole = options.form != "names";
  const auto offers = [&](const char* verb) {
    return std::ranges::find(options.verbs, verb) != options.verbs.end();
  };
  if (!offers("filter")) plan.filter.clear();
  if (!offers("prioritize")) plan.prioritize.clear();
  if (!offers("preempt")) plan.preempt.clear();
  plan.bind = options.bind || offers("bind") ? options.bind_verb : "";
  return plan;
}

// Reads the nodes and the first unbound pod.
Expected<Cluster> ReadCluster(const std::string& file) {
  BERTH_TRY(const std::string text, ReadWholeFile(file));
  auto documents = api::SplitDocuments(text);
  if (!documents) return std::unexpected(std::move(documents).error().In(file));
  Cluster cluster = SyntheticCluster();
  cluster.nodes.clear();
  api::Decoder decoder;
  bool has_pod = false;
  for (const api::Document& document : documents->objects) {
    if (!document.group.empty()) continue;  // of another project, such as Node of longhorn.io
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
  explicit Report(const ConformanceOptions& options) : as_json_(options.as_json), url_(options.target.url) {}

  void Add(const CaseResult& result) {
    ++counts_[static_cast<std::size_t>(result.finding.result)];
    const double seconds = std::chrono::duration<double>(result.duration).count();
    if (as_json_) {
      json::array messages;
      for (const std::string& text : result.finding.messages) messages.emplace_back(text);
      cases_.push_back(json::object{{"case", result.name},
                                    {"result", ResultName(result.finding.result)},
                                    {"messages", std::move(messages)},
                                    {"seconds", seconds}});
      return;
    }
    fmt::print("{:<6} {:<48} {:>7.1f} ms\n", ResultName(result.finding.result), result.name, seconds * 1000);
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

}  // namespace

Expected<int> RunConformance(ConformanceOptions options) {
  if (options.target.timeout.count() == 0) options.target.timeout = kDefaultTimeout;
  const SystemClock clock;
  const client::SystemEnvironment environment;
  Cluster cluster = SyntheticCluster(options.managed_resource);
  if (!options.objects.empty()) {
    BERTH_TRY(cluster, ReadCluster(options.objects));
  }
  http::IoThread io(clock);
  BERTH_TRY(const std::unique_ptr<ExtenderConnection> connection, Connect(io, options.target, environment));
  Report report(options);
  Play(PlanOf(options), cluster, *connection, clock, [&](const CaseResult& result) { report.Add(result); });
  return report.End();
}

}  // namespace berth::extender_conformance
