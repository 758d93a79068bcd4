// One kubelet for all simulated nodes: pods that are bound run, end and go.
#pragma once

#include <string>
#include <unordered_map>

#include "sandbox/agenda.hpp"
#include "sandbox/api_server/verbs.hpp"

namespace berth::sandbox {

struct KubeletOptions {
  Duration pod_start = std::chrono::milliseconds(500);  // from binding to Running
  Duration pod_stop =
      std::chrono::milliseconds(500);  // from deletion to gone, if the grace period allows as much
  Duration lease_every = std::chrono::seconds(10);  // zero: no heartbeats at all
  Duration status_every = std::chrono::minutes(5);  // the conditions' lastHeartbeatTime
};

// How long a pod of these runs before it succeeds: "30s", "5m", "1h30m" (a Go duration). Without it pods run
// for ever.
constexpr std::string_view kRunFor = "sandbox.berth.dev/run-for";

// Acts on every node, also on those that somebody creates by hand: those become Ready, too, unless they say
// otherwise. A pod bound to a node that does not exist stays Pending, as in a real cluster. One thread.
class Kubelet final : public StoreObserver {
 public:
  // Registers itself with the store; nodes that exist already are taken care of.
  Kubelet(Verbs& verbs, Agenda& agenda, const KubeletOptions& options);

  void OnChange(const ResourceType& type, const Change& change) override;

 private:
  void OnPod(const Change& change);
  void OnNode(const Change& change);
  void Start(const std::string& key, const std::string& uid);
  void Complete(const std::string& key, const std::string& uid);
  void Finish(const std::string& key, const std::string& uid);
  void Beat(bool first);
  void RenewLease(const Object& node);
  void RefreshStatus(const Object& node);
  std::string NextPodIp(const std::string& node);

  Verbs& verbs_;
  Agenda& agenda_;
  KubeletOptions options_;
  std::unordered_map<std::string, unsigned> last_ip_;  // by node
  std::string next_beat_;                              // the node whose turn it is
  std::uint64_t rounds_ = 0;                           // how often all nodes had theirs
  std::uint64_t owed_ = 0;                             // fractions of a node, in beats
};

// "1h30m", "90s", "1.5s"; nothing if it is no duration, or a negative one.
std::optional<Duration> ParseGoDuration(std::string_view text);

}  // namespace berth::sandbox
