#include "tests/faults/extender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "sandbox/store/document.hpp"

namespace berth::faults {
namespace {

using sandbox::FindArray;
using sandbox::FindString;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::string_view kUrl = "http://extender.example";

std::size_t NumberOf(std::string_view node) { return std::stoul(std::string(node.substr(1))); }

std::string FilterReply(std::string_view pod_template, const boost::json::array& nodes) {
  std::string accepted, failed;
  for (const auto& each : nodes) {
    const std::string_view name = each.get_string();
    if (ExtenderAccepts(pod_template, NumberOf(name))) {
      accepted += fmt::format("{}\"{}\"", accepted.empty() ? "" : ",", name);
    } else {
      failed += fmt::format("{}\"{}\":\"not for this pod\"", failed.empty() ? "" : ",", name);
    }
  }
  return fmt::format(R"({{"NodeNames":[{}],"FailedNodes":{{{}}}}})", accepted, failed);
}

std::string PrioritizeReply(const boost::json::array& nodes) {
  std::string scores;
  for (const auto& each : nodes) {
    const std::string_view name = each.get_string();
    scores +=
        fmt::format(R"({}{{"Host":"{}","Score":{}}})", scores.empty() ? "" : ",", name, NumberOf(name) % 10);
  }
  return "[" + scores + "]";
}

}  // namespace

config::ExtenderConfig ExtenderConfiguration(bool ignorable) {
  config::ExtenderConfig config;
  config.url_prefix = kUrl;
  config.filter_verb = "filter";
  config.prioritize_verb = "prioritize";
  config.weight = 1;
  config.http_timeout = seconds(1);
  config.node_cache_capable = true;
  config.ignorable = ignorable;
  return config;
}

bool ExtenderAccepts(std::string_view pod_template, std::size_t node) {
  return pod_template != "medium" || node % 3 != 0;
}

class ExtenderClient::Transport final : public extenders::Transport {
 public:
  explicit Transport(ExtenderClient& client) : client_(client) {}
  CallId Send(extenders::TransportRequest request, Done done) override {
    done(client_.Answer(request));
    return ++last_call_;
  }
  void Cancel(CallId) override {}

 private:
  ExtenderClient& client_;
  CallId last_call_ = 0;
};

ExtenderClient::ExtenderClient(std::uint64_t seed, std::function<ExtenderFault()> fault,
                               std::function<void(Duration)> block)
    : random_(seed), fault_(std::move(fault)), block_(std::move(block)) {}

extenders::TransportMaker ExtenderClient::Maker() {
  return [this](const config::ExtenderConfig&) -> Expected<std::unique_ptr<extenders::Transport>> {
    return std::make_unique<Transport>(*this);
  };
}

Expected<extenders::Reply> ExtenderClient::Answer(const extenders::TransportRequest& request) {
  const ExtenderFault fault = fault_();
  block_(fault == ExtenderFault::kNoResponse ? request.timeout : microseconds(200 + random_.Below(2'000)));
  switch (fault) {
    case ExtenderFault::kNoResponse:
      return Fail(ErrorCode::kTimeout, fmt::format("Post \"{}\": context deadline exceeded", request.url));
    case ExtenderFault::kServerError:
      return extenders::Reply{500, "injected"};
    case ExtenderFault::kBadReply:
      return extenders::Reply{200, R"({"NodeNames":7})"};
    case ExtenderFault::kNoServer:
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("Post \"{}\": dial tcp: connect: connection refused", request.url));
    case ExtenderFault::kNone:
      break;
  }
  const auto body = sandbox::Document::Parse(request.body);
  const auto* nodes = body ? FindArray(body->root(), "NodeNames") : nullptr;
  if (nodes == nullptr) return extenders::Reply{400, "expected NodeNames"};
  if (request.url.ends_with("/filter"))
    return extenders::Reply{200, FilterReply(FindString(body->root(), "Pod.metadata.labels.app"), *nodes)};
  return extenders::Reply{200, PrioritizeReply(*nodes)};
}

}  // namespace berth::faults
