#include "tests/faults/prometheus.hpp"

#include <fmt/format.h>

#include <utility>

#include "tests/faults/workload.hpp"

namespace berth::faults {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr const char* kAddress = "http://prometheus.example:9090";
constexpr seconds kHotTime{12};
// Prometheus knows more nodes than exist.
constexpr std::size_t kMeasuredNodes = 24;
constexpr const char* kHotValue = "0.9";
constexpr const char* kCoolValue = "0.3";

}  // namespace

std::string MeasuredConfiguration() {
  return fmt::format(R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {{multiPoint: {{enabled: [{{name: LoadAware}}]}}}}
  pluginConfig:
  - name: LoadAware
    args:
      prometheusAddress: {}
      preset: none
      holdFor: {}s
      onOutage: reject
      signals: [{{name: load, query: max by ($node) (load), threshold: 80, estimate: {{from: none}}}}]
)",
                     kAddress, kMeasurementHold.count());
}

std::vector<load_metrics::SourceSettings> MetricSources() {
  return {
      {.name = "prometheus", .addresses = {kAddress}, .poll_interval = seconds(5), .timeout = seconds(4)}};
}

bool NodeLoads::IsHot(std::size_t node, Duration time) const {
  if (time >= end_) return false;
  Random random(seed_ + node * 1'000'003 + static_cast<std::uint64_t>(time / kHotTime) * 7'919);
  return random.Below(4) == 0;
}

// A response arrives on the machine's loop, unless the transport is gone.
class PrometheusClient::Transport final : public http::Transport {
 public:
  explicit Transport(PrometheusClient& client) : client_(client) {}
  ~Transport() override { *alive_ = false; }
  CallId Send(http::ClientRequest request, http::ClientDone done) override {
    auto answer = std::make_shared<Answer>(client_.AnswerTo(request));
    client_.machine_.After(answer->delay,
                           [&client = client_, alive = alive_, answer, done = std::move(done)]() mutable {
                             if (!*alive) return;
                             client.Arrived(*answer);
                             done(std::move(answer->response));
                           });
    return ++last_call_;
  }
  CallId Stream(http::ClientRequest, http::StreamOptions, http::ClientDone) override { return 0; }
  void Cancel(CallId) override {}
  Expected<void> SetTls(const http::TlsOptions&) override { return {}; }

 private:
  PrometheusClient& client_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  CallId last_call_ = 0;
};

PrometheusClient::PrometheusClient(Machine& machine, const NodeLoads& loads, std::uint64_t seed,
                                   std::function<MeasurementFault()> fault)
    : machine_(machine), loads_(loads), random_(seed), fault_(std::move(fault)) {}

load_metrics::SourceParts PrometheusClient::Parts() {
  return {.read_file = [](const std::string& path) -> Expected<std::string> {
            return Fail(ErrorCode::kNotFound, path + ": no such file");
          },
          .connect = [this](const http::Origin&, const http::TlsOptions&)
              -> Expected<std::unique_ptr<http::Transport>> { return std::make_unique<Transport>(*this); }};
}

std::optional<Reading> PrometheusClient::ReadingOf(std::string_view node) const {
  const auto found = readings_.find(node);
  return found == readings_.end() ? std::nullopt : std::optional(found->second);
}

PrometheusClient::Answer PrometheusClient::AnswerTo(const http::ClientRequest& request) {
  const Duration delay = microseconds(500 + random_.Below(5'000));
  switch (const MeasurementFault fault = fault_()) {
    case MeasurementFault::kNoResponse:
      return {.delay = request.timeout, .response = Fail(ErrorCode::kTimeout, "context deadline exceeded")};
    case MeasurementFault::kServerError:
      return {.delay = delay, .response = http::ClientResponse{503, {}, "injected"}};
    case MeasurementFault::kBadReply:
      return {.delay = delay,
              .response = http::ClientResponse{200, {}, R"({"status":"success","data":{"resu)"}};
    case MeasurementFault::kNoServer:
      return {.delay = delay, .response = Fail(ErrorCode::kUnavailable, "connect: connection refused")};
    default: {
      Answer answer = Vector(fault);
      answer.delay = delay;
      return answer;
    }
  }
}

PrometheusClient::Answer PrometheusClient::Vector(MeasurementFault fault) {
  std::string series;
  std::map<std::string, bool> hot;
  for (std::size_t node = 0; node < kMeasuredNodes && fault != MeasurementFault::kNoSeries; ++node) {
    if (fault == MeasurementFault::kGaps && random_.Below(2) == 0) continue;
    const bool valid = fault != MeasurementFault::kNotANumber || random_.Below(2) == 0;
    const bool is_hot = loads_.IsHot(node, machine_.time().now());
    if (valid) hot[NodeName(node)] = is_hot;
    series += fmt::format(R"({}{{"metric":{{"node":"{}"}},"value":[1.5,"{}"]}})", series.empty() ? "" : ",",
                          NodeName(node),
                          !valid   ? "NaN"
                          : is_hot ? kHotValue
                                   : kCoolValue);
  }
  return {
      .response = http::ClientResponse{200,
                                       {{"Content-Type", "application/json"}},
                                       fmt::format(R"({{"status":"success","data":{{"resultType":"vector",)"
                                                   R"("result":[{}]}}}})",
                                                   series)},
      .hot = std::move(hot)};
}

void PrometheusClient::Arrived(const Answer& answer) {
  for (const auto& [node, hot] : answer.hot) readings_[node] = {.hot = hot, .at = machine_.time().now()};
}

}  // namespace berth::faults
