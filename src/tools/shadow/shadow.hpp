// Watches another scheduler at work and compares what it does with what Berth would have done. Writes
// nothing.
#pragma once

#include <boost/unordered_map.hpp>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "tools/shadow/history.hpp"
#include "tools/shadow/evaluator.hpp"
#include "tools/shadow/state_search.hpp"
#include "tools/shadow/report.hpp"

namespace berth::shadow {

struct ShadowOptions {
  std::int64_t percentage_of_nodes_to_score = 0;  // of the configuration, the other scheduler's, too
  Duration window = std::chrono::seconds(10);     // how old a view may be that explains a choice
  std::size_t steps = 4096;                       // changes that are kept for that, at most
  Duration patience = std::chrono::seconds(1);    // for changes that the other scheduler knew first
  std::size_t waiting = 1024;                     // choices that are waited with, at most
  // For looking for one explanation. All together take no more than half of the time, after the first
  // seconds.
  Duration search = std::chrono::seconds(2);
};

// The moment of comparison: a choice is judged when the watch shows it, on the cluster as it was right
// before, with the pod still waiting. If they differ there, what comes within `patience` is waited for, and
// other views are tried around that moment (FindExplainingView). Pods that wait cost nothing but their place
// in a table.
//
// For every change of the cluster, in its order: Before, then somebody else changes the cache, then After.
// One thread: the loop's that owns the engine.
class Shadow {
 public:
  Shadow(ShadowOptions options, assembly::Engine& engine, const Clock& clock, Report& report)
      : options_(options),
        engine_(engine),
        clock_(clock),
        report_(report),
        evaluator_(engine, options.percentage_of_nodes_to_score),
        history_(engine, options.steps, options.window + options.patience) {}

  template <class T>
  void Before(const ports::Change<T>& change) {
    Note({clock_.Now(), change});
  }
  void Before(const ports::Change<api::Pod>& change);
  void After();
  // Everything that existed at the beginning has been told of: what comes now happens now.
  void Synced() {
    synced_ = true;
    history_.Clear();
  }
  // Ends the waiting of those whose time has come; between After and the next Before, else nothing happens.
  void Tick();
  // Nothing: nobody waits.
  std::optional<MonoTime> NextDue() const;
  // Ends all waiting: with what is known now.
  void Finish();

 private:
  struct Open {
    ObservedDecision seen;
    Comparison comparison;
    MonoTime due;
  };

  void Note(Step step);
  void Look(const ports::Change<api::Pod>& change, bool late);
  void FollowTurns(const ports::Change<api::Pod>& change);
  bool Nominated(const api::PodPtr& pod) const;
  bool SeenLate(const api::PodPtr& pod);
  void Compare(const api::PodPtr& pod, const runtime::Profile& profile, Choice theirs);
  // The first one after the other, while some wait and the first one is due.
  void ConcludeWhile(auto&& due);
  void Conclude(Open open);
  std::optional<Comparison> Explain(const Open& open);

  const ShadowOptions options_;
  assembly::Engine& engine_;
  const Clock& clock_;
  Report& report_;
  Evaluator evaluator_;
  History history_;
  const MonoTime began_ = clock_.Now();
  Duration searched_{};
  std::deque<Open> open_;                                      // by due
  boost::unordered_map<std::string, std::uint64_t> arrivals_;  // of pods that wait, by uid
  std::uint64_t next_arrival_ = 0;
  std::uint64_t newest_version_ = 0;  // of pods
  bool synced_ = false;
  bool applying_ = false;  // between Before and After
};

}  // namespace berth::shadow
