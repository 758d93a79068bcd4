// Schedules pods one after the other on changing clusters, as the scheduler loop does, with the equivalence
// cache enabled.
//
//   sequence_replay FILE.ndjson.zst    a recording: prints differences; exit code 1 if there are any
//   sequence_replay -                  sequences on stdin, one per line; prints a list of records for each
//
// A sequence with "uncached": true is decided without the cache, to distinguish its defects from others.
#include <simdjson.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "live_cluster.hpp"
#include "recording.hpp"
#include "scheduler/algorithm/current_view.hpp"
#include "scheduler/algorithm/scheduling_algorithm.hpp"
#include "scheduler/cluster/prepare_pod.hpp"
#include "scheduler/record/attempt_record.hpp"
#include "step_replay.hpp"

namespace berth::replay {
namespace {

using simdjson::dom::element;

algorithm::AlgorithmOptions OptionsOf(element from) {
  return {
      .tie_break = Flag(from, "random") ? algorithm::TieBreak::kRandom : algorithm::TieBreak::kFirstByName,
      .equivalence_cache_bytes =
          Flag(from, "uncached") ? 0 : algorithm::AlgorithmOptions{}.equivalence_cache_bytes,
      .seed = std::uint64_t(from["seed"])};
}

class Sequence {
 public:
  explicit Sequence(element from)
      : cluster_(Text(from, "config"), Text(from, "gates"), simdjson::minify(from["cluster"].value())),
        reserve_(Flag(from, "reserve")),
        algorithm_(OptionsOf(from), cluster_.engine().reasons(), cluster_.engine().extenders()) {
    cluster_.ForEach<api::Pod>([&](const api::PodPtr& pod) { Nominate(pod); });
  }

  // Returns the record of a decision; empty for other steps.
  std::string Run(element step) {
    if (const std::string key = Text(step, "decide"); !key.empty()) return Decide(key);
    if (const std::string key = Text(step, "confirm"); !key.empty()) {
      Confirm(key);
    } else if (Flag(step, "release")) {
      algorithm_.ReleaseUnused();
      cache().ReleaseUnused();
    } else {
      Change(step);
    }
    return "";
  }

 private:
  // An assumed pod, and the data with which plugins have reserved its volumes.
  struct Reservation {
    Reservation(const cluster::PodInfo& pod, const runtime::Profile& profile, std::string node,
                framework::CycleState state)
        : pod(pod), profile(profile), node(std::move(node)), state(std::move(state)) {}

    cluster::PodInfo pod;
    const runtime::Profile& profile;
    std::string node;
    framework::CycleState state;
    framework::Placement placement{pod, node, state};
  };

  cluster::ClusterState& cache() { return cluster_.engine().cache(); }

  std::string Decide(const std::string& key) {
    const api::PodPtr pod = cluster_.Find<api::Pod>(key);
    if (pod == nullptr) throw std::runtime_error("no pod " + key);
    const runtime::Profile* profile = cluster_.engine().FindProfile(pod->spec.scheduler_name);
    if (profile == nullptr) throw std::runtime_error("no profile for pod " + key);
    const cluster::PodInfo info = cluster::PreparePod(pod, cluster_.engine().symbols());
    std::vector<runtime::Nomination> nominations;
    for (const auto& [uid, nominated] : nominated_)
      nominations.push_back({cache().nodes().Find(nominated->nominated), nominated.get()});
    algorithm::ScheduleResult result = algorithm_.Schedule(info, *profile, view_.Of(cache()), nominations);
    if (result.row != cluster::kNoRow) Place(info, *profile, result);
    return record::ToJson(*result.record, cluster_.engine().reasons());
  }

  void Place(const cluster::PodInfo& info, const runtime::Profile& profile,
             algorithm::ScheduleResult& result) {
    if (!cache().Assume(info, result.row)) throw std::runtime_error("cannot assume pod " + info.key);
    auto reserved = std::make_unique<Reservation>(info, profile, cache().nodes().name(result.row),
                                                  std::move(result.state));
    if (const auto status = reserve_ ? profile.RunReserve(reserved->placement) : framework::Status{};
        !status.ok())
      throw std::runtime_error("cannot reserve for pod " + info.key + ": " + status.Message());
    reserved_[info.pod->metadata.uid] = std::move(reserved);
  }

  // The watch delivers an assumed pod with its node.
  void Confirm(const std::string& key) {
    const api::PodPtr pod = cluster_.Find<api::Pod>(key);
    if (pod != nullptr && cache().IsAssumed(pod->metadata.uid))
      cache().AddPod(cache().FindPod(pod->metadata.uid));
    if (pod != nullptr) reserved_.erase(pod->metadata.uid);
  }

  void Change(element step) {
    const std::string key = Text(step, "key");
    element object;
    std::optional<std::string> json;
    if (step["object"].get(object) == simdjson::SUCCESS) json = simdjson::minify(object);
    const ports::ClusterChange change = cluster_.Replace(Text(step, "kind"), key, json);
    if (const auto* pod = std::get_if<ports::Change<api::Pod>>(&change)) {
      const std::string& uid = (pod->after != nullptr ? pod->after : pod->before)->metadata.uid;
      nominated_.erase(uid);
      if (pod->after != nullptr) Nominate(pod->after);
      if (const auto reserved = reserved_.find(uid); pod->after == nullptr && reserved != reserved_.end()) {
        if (reserve_) reserved->second->profile.RunUnreserve(reserved->second->placement);
        reserved_.erase(reserved);
        cache().Forget(uid);
        return;
      }
    }
    cluster_.Apply(change);
  }

  void Nominate(const api::PodPtr& pod) {
    if (!pod->spec.node_name.empty() || pod->status.nominated_node_name.empty()) return;
    nominated_[pod->metadata.uid] =
        std::make_unique<cluster::PodInfo>(cluster::PreparePod(pod, cluster_.engine().symbols()));
  }

  LiveCluster cluster_;
  const bool reserve_;
  algorithm::SchedulingAlgorithm algorithm_;
  algorithm::CurrentView view_;
  std::map<std::string, std::unique_ptr<cluster::PodInfo>> nominated_;  // by UID
  std::map<std::string, std::unique_ptr<Reservation>> reserved_;        // by UID
};

}  // namespace
}  // namespace berth::replay

int main(int argc, char** argv) {
  return berth::replay::StepReplay<berth::replay::Sequence>(
             {"sequence_replay", "sequences", "decisions", "record"})
      .Main(argc, argv);
}
