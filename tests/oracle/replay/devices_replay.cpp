// Prints what DynamicResources writes before pods are bound to given nodes.
//
//   devices_replay -    scenarios on stdin, one per line; prints a list of writes for each
//
// A scenario has config, gates, cluster and placements: [{"pod":"namespace/name","node":"..."}]. The answer
// has one entry per placement: {"claims":{"<name>":<patch of the claim>},"created":<new
// claim>,"status":<patch of the pod>}, or {"error":"..."}.
#include <fmt/format.h>
#include <simdjson.h>

#include <exception>
#include <stdexcept>
#include <string>

#include "base/json_text.hpp"
#include "kubernetes/client/claim_patch.hpp"
#include "kubernetes/client/status_patch.hpp"
#include "live_cluster.hpp"
#include "recording.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/devices/cluster_devices.hpp"
#include "scheduler/plugins/dynamic_resources/dynamic_resources.hpp"
#include "testing/fakes.hpp"
#include "testing/replay_main.hpp"

namespace berth::replay {
namespace {

using simdjson::dom::element;

class Scenario {
 public:
  explicit Scenario(element from)
      : cluster_(Text(from, "config"), Text(from, "gates"), simdjson::minify(from["cluster"].value()),
                 {api_, events_, loop_, services_}),
        algorithm_({.equivalence_cache_bytes = 0}, cluster_.engine().reasons(),
                   cluster_.engine().extenders()) {}

  std::string Place(const std::string& key, const std::string& node) {
    const api::PodPtr pod = cluster_.Find<api::Pod>(key);
    if (pod == nullptr) throw std::runtime_error("no pod " + key);
    const runtime::Profile* profile = cluster_.engine().FindProfile(pod->spec.scheduler_name);
    if (profile == nullptr) throw std::runtime_error("no profile for pod " + key);
    const cluster::PodInfo info = cluster::PreparePod(pod, cluster_.engine().symbols());
    algorithm::ScheduleResult result =
        algorithm_.Schedule(info, *profile, view_.Of(cluster_.engine().cache()), {});
    const framework::Placement placement{info, node, result.state};
    api_.claims.clear();
    api_.created_claims.clear();
    api_.patches.clear();
    const framework::Status reserved = profile->RunReserve(placement);
    const std::string written = reserved.ok() ? Write(*profile, placement) : Failed(reserved);
    profile->RunUnreserve(placement);
    loop_.Run();
    // The claims stay as they were: the watch delivers nothing.
    for (const ports::ClaimChange& change : api_.claims) {
      const auto claim = cluster_.Find<api::ResourceClaim>(change.ns + "/" + change.name);
      if (claim != nullptr) cluster_.engine().handle().devices.allocated().RemovePending(claim->metadata.uid);
    }
    return written;
  }

 private:
  static std::string Failed(const framework::Status& status) {
    std::string out;
    JsonObject(out).Add("error", status.Message());
    return out;
  }

  std::string Write(const runtime::Profile& profile, const framework::Placement& placement) {
    for (const auto& group : profile.RunPreBindPreFlight(placement).groups) {
      for (framework::PreBindPlugin* plugin : group) {
        if (plugin->Name() != "DynamicResources") continue;
        plugin->PreBind(placement, {}, [](const framework::Status&) {});
        loop_.Run();
      }
    }
    std::string out;
    JsonObject root(out);
    JsonObject claims(root.Key("claims"));
    for (const ports::ClaimChange& change : api_.claims) {
      if (std::holds_alternative<ports::ClaimChange::Reserve>(change.change))
        claims.AddRaw(change.name, client::ClaimPatchBody(change, WallTime{}));
    }
    claims.Close();
    for (const ports::NewClaim& claim : api_.created_claims)
      root.AddRaw("created", client::NewClaimBody(claim, "v1"));
    for (const ports::PodStatusPatch& patch : api_.patches)
      root.AddRaw("status", client::StatusPatchBody(patch, WallTime{}));
    root.Close();
    return out;
  }

  testing::FakeApiWriter api_;
  testing::FakeEventSink events_;
  testing::FakeLoop loop_;
  testing::FakeServices services_;
  LiveCluster cluster_;
  algorithm::SchedulingAlgorithm algorithm_;
  algorithm::CurrentView view_;
};

std::string WritesOf(std::string_view line) {
  try {
    simdjson::dom::parser parser;
    const element from = parser.parse(line.data(), line.size());
    Scenario scenario(from);
    std::string list = "[";
    for (const element placement : simdjson::dom::array(from["placements"])) {
      if (list.size() > 1) list += ',';
      list += scenario.Place(Text(placement, "pod"), Text(placement, "node"));
    }
    return list + "]";
  } catch (const std::exception& error) {
    return fmt::format("cannot be replayed: {}", error.what());
  }
}

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  return berth::testing::ReplayMain(
      argc, argv, "devices_replay", [](const std::string&) { return 2; }, berth::replay::WritesOf);
}
