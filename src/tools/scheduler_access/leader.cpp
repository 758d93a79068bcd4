#include "tools/scheduler_access/leader.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "http/origin.hpp"

namespace berth::scheduler_access {
namespace {

using config::Value;
using migrate::TextAt;

constexpr std::uint16_t kSecurePort = 10259;
constexpr const char* kNamespace = "kube-system";
// Of kubeadm's static pods, and of Berth's own manifests.
constexpr const char* kSelectors[] = {"component=kube-scheduler", "app.kubernetes.io/name=berth"};

struct LeaseName {
  std::string ns, name;
};

Expected<LeaseName> ParseLease(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == 0 || slash == std::string_view::npos || slash + 1 == text.size() ||
      text.find('/', slash + 1) != std::string_view::npos)
    return Invalid(fmt::format("--lease: {}: expected NAMESPACE/NAME, such as {}", text, kUsualLeases[1]));
  return LeaseName{std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
}

// nullopt if the object does not exist.
Expected<std::optional<Value>> Find(migrate::Server& server, const std::string& path) {
  const client::Reply reply = server.Send({.path = path, .accept = "application/json"});
  if (!reply && reply.error().http_code == 404) return std::nullopt;
  if (!reply) return std::unexpected(reply.error().ToError());
  BERTH_TRY(Value value, yaml::ParseValue(*reply));
  return std::optional(std::move(value));
}

// The identity of the holder; empty: none; nullopt: there is no such Lease.
Expected<std::optional<std::string>> HolderOf(migrate::Server& server, std::string_view lease) {
  BERTH_TRY(const LeaseName name, ParseLease(lease));
  auto found = Find(server, fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", name.ns,
                                        http::EncodeQuery(name.name)));
  if (!found) return std::unexpected(std::move(found).error().In(fmt::format("Lease {}", lease)));
  if (!*found) return std::nullopt;
  return TextAt(**found, {"spec", "holderIdentity"});
}

std::uint16_t SecurePort(const std::vector<std::string>& args) {
  const std::string text = migrate::FlagIn(args, "secure-port").value_or("");
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() ? port : kSecurePort;
}

Expected<LeaderPod> ReadPod(const Value& pod) {
  LeaderPod leader;
  leader.ns = TextAt(pod, {"metadata", "namespace"});
  leader.name = TextAt(pod, {"metadata", "name"});
  BERTH_TRY(leader.program, migrate::ReadSchedulerPod(pod));
  leader.port = SecurePort(leader.program.args);
  if (leader.port == 0)
    return Fail(ErrorCode::kUnavailable, leader.Text() + " serves no API: its --secure-port is 0");
  return leader;
}

// The scheduler pods of a list.
std::vector<LeaderPod> SchedulersIn(const Value& list) {
  std::vector<LeaderPod> pods;
  const Value* items = list.Find("items");
  if (items == nullptr) return pods;
  for (const Value& pod : items->items) {
    if (auto leader = ReadPod(pod)) pods.push_back(std::move(*leader));
  }
  return pods;
}

// The pod whose process has this host name.
Expected<LeaderPod> PodOfHost(migrate::Server& server, const std::string& ns, const std::string& host) {
  const std::string pods = fmt::format("/api/v1/namespaces/{}/pods", ns);
  BERTH_TRY(const std::optional<Value> pod, Find(server, pods + "/" + http::EncodeQuery(host)));
  if (pod) {
    if (auto leader = ReadPod(*pod)) return leader;
  }
  const std::string selector = http::EncodeQuery("spec.nodeName=" + host);
  BERTH_TRY(const Value list,
            migrate::GetTree(server, {.path = fmt::format("{}?limit=500&fieldSelector={}", pods, selector)}));
  const std::vector<LeaderPod> found = SchedulersIn(list);
  if (found.empty()) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("there is no scheduler pod {} in namespace {}, and none on a node of this name; "
                            "a scheduler outside of pods is reached by --server",
                            host, ns));
  }
  return found.front();
}

// Without leader election there is no Lease.
Expected<LeaderPod> OnlyPod(migrate::Server& server) {
  std::vector<LeaderPod> found;
  for (const char* selector : kSelectors) {
    BERTH_TRY(const Value list,
              migrate::GetTree(server, {.path = fmt::format("/api/v1/namespaces/{}/pods?limit=20&"
                                                            "labelSelector={}",
                                                            kNamespace, http::EncodeQuery(selector))}));
    for (LeaderPod& pod : SchedulersIn(list)) found.push_back(std::move(pod));
  }
  if (found.size() == 1) return found.front();
  return Fail(ErrorCode::kNotFound,
              fmt::format("neither Lease {} nor {} has a holder, and there are {} scheduler pods in "
                          "namespace {}; name the Lease with --lease, or the scheduler with --server",
                          kUsualLeases[0], kUsualLeases[1], found.size(), kNamespace));
}

Expected<LeaderPod> LeaderOf(migrate::Server& server, std::string_view lease, const std::string& identity) {
  BERTH_TRY(const LeaseName name, ParseLease(lease));
  // "<host>_<uuid>"; host names have no underscore.
  auto leader = PodOfHost(server, name.ns, identity.substr(0, identity.find('_')));
  if (!leader) return std::unexpected(std::move(leader).error().In(fmt::format("holder of Lease {}", lease)));
  return leader;
}

}  // namespace

Expected<LeaderPod> FindLeader(migrate::Server& server, const std::string& lease) {
  if (!lease.empty()) {
    BERTH_TRY(const std::optional<std::string> holder, HolderOf(server, lease));
    if (!holder) return Fail(ErrorCode::kNotFound, fmt::format("there is no Lease {}", lease));
    if (holder->empty())
      return Fail(ErrorCode::kNotFound, fmt::format("no scheduler leads: Lease {} has no holder", lease));
    return LeaderOf(server, lease, *holder);
  }
  for (const std::string_view usual : kUsualLeases) {
    BERTH_TRY(const std::optional<std::string> holder, HolderOf(server, usual));
    if (holder && !holder->empty()) return LeaderOf(server, usual, *holder);
  }
  return OnlyPod(server);
}

}  // namespace berth::scheduler_access
