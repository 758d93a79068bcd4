// Observes another scheduler and compares its decisions with Berth's. Writes nothing.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/text_map.hpp"
#include "tools/shadow/claims.hpp"
#include "tools/shadow/evaluator.hpp"
#include "tools/shadow/history.hpp"
#include "tools/shadow/report.hpp"
#include "tools/shadow/state_search.hpp"

namespace berth::shadow {

struct ShadowOptions {
  std::int64_t percentage_of_nodes_to_score = 0;  // of the configuration, which both schedulers use
  Duration window = std::chrono::seconds(10);     // maximum age of a state that may explain a decision
  std::size_t steps = 4096;                       // maximum number of recorded changes
  Duration settling_time =
      std::chrono::seconds(1);  // wait for changes that the other scheduler observed first
  std::size_t waiting = 1024;   // maximum number of pending comparisons
  // Time limit of one search for an explanation. After the first seconds all searches together take at most
  // half of the time.
  Duration search = std::chrono::seconds(2);
};

// A decision is compared when the watch delivers it, in the cluster state directly before, with the pod still
// pending. If the decisions differ there, the changes within `settling_time` are awaited, and other states
// around that moment are tried (FindExplainingState). A pending pod costs only an entry in a table.
//
// For every change of the cluster, in order: Before, then the caller changes the cache, then After.
// One thread: the loop that owns the engine.
class Shadow {
 public:
  Shadow(ShadowOptions options, assembly::Engine& engine, const Clock& clock, Report& report)
      : options_(options),
        engine_(engine),
        clock_(clock),
        report_(report),
        evaluator_(engine, options.percentage_of_nodes_to_score),
        history_(engine, options.steps, options.window + options.settling_time) {}

  void Before(const ports::ClusterChange& change);
  void After();
  // All initial objects have been delivered: further changes are current.
  void Synced() {
    synced_ = true;
    history_.Clear();
  }
  // Completes due comparisons. No effect between Before and After.
  void Tick();
  // nullopt: no comparison is pending.
  std::optional<MonoTime> NextDue() const;
  // Completes all pending comparisons with the changes received so far; searches for explanations take five
  // seconds at most.
  void Finish();

 private:
  struct Open {
    ObservedDecision seen;
    Comparison comparison;
    MonoTime due;
    bool awaits_claims = false;  // the watch has not delivered the allocation of some claim
  };

  void BeforeClaimChange(const ports::Change<api::ResourceClaim>& change);
  void BeforePodChange(const ports::Change<api::Pod>& change);
  void Note(Step step);
  void Look(const ports::Change<api::Pod>& change, bool late);
  void TrackQueuePositions(const ports::Change<api::Pod>& change);
  bool Nominated(const api::PodPtr& pod) const;
  // Step::assumed after a change of a pod that is pending before and after.
  api::PodPtr AssumedAfter(const ports::Change<api::Pod>& change) const;
  bool IsLate(const ports::Change<api::Pod>& change);
  void Compare(const api::PodPtr& pod, const runtime::Profile& profile, Choice reference);
  // Whether a claim of the pod is known without an allocation, or not known.
  bool AwaitsClaims(const api::Pod& pod) const;
  // The position of the nomination by which the other scheduler announced the pod's node before it wrote the
  // claims; nearer to its decision than the binding. nullopt: there is none.
  std::optional<std::uint64_t> Announcement(const api::Pod& pod, std::string_view node) const;
  // Compares again in the state before the decision, with the claims delivered since then.
  void CompareWithClaims(Open& open);
  // Completes the first pending comparison as long as one is pending and due() is true.
  void CompleteWhile(auto&& due);
  void Complete(Open open);
  SearchResult Explain(const Open& open);

  const ShadowOptions options_;
  assembly::Engine& engine_;
  const Clock& clock_;
  Report& report_;
  Evaluator evaluator_;
  History history_;
  ClaimTracker claims_;
  const MonoTime began_ = clock_.Now();
  MonoTime next_release_ = began_;
  Duration searched_{};
  MonoTime search_until_ = MonoTime::max();  // set by Finish
  std::deque<Open> open_;                    // by due
  TextMap<QueuePosition> queue_positions_;   // of pending pods, by uid
  std::uint64_t next_arrival_ = 0;
  std::uint64_t newest_version_ = 0;  // of pods
  FlatTextSet late_;                  // uids of pods with late changes since that version
  bool synced_ = false;
  bool applying_ = false;  // between Before and After
};

}  // namespace berth::shadow
