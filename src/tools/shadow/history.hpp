// The last changes of the cluster, so that it can be looked at as it was a moment ago, or as it would be if
// some of them had come earlier or later.
#pragma once

#include <boost/unordered_map.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "scheduler/assembly/engine.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::shadow {

// Where a pod stands in the queue that kube-scheduler's pods wait in: by priority, then by arrival.
struct Turn {
  std::int32_t priority = 0;
  std::uint64_t arrival = 0;
  bool Before(const Turn& other) const {
    return priority != other.priority ? priority > other.priority : arrival < other.arrival;
  }
};

template <class List>
struct ChangeOf;
template <class... T>
struct ChangeOf<api::KindList<T...>> {
  using type = std::variant<ports::Change<T>...>;
};
using AnyChange = ChangeOf<api::AllKinds>::type;

struct Step {
  MonoTime at;
  AnyChange change;
  std::string uid = {};  // of a pod
  // The other scheduler has decided about a pod that waited: it was bound, or was not, and is perhaps
  // nominated.
  bool decision = false;
  std::string node = {};  // that it got, or is nominated to
  Turn turn = {};
  std::shared_ptr<const cluster::PodInfo> nominated = {};  // a pod that is ours and nominated since then
  std::string Text() const;
};

// Whose nodes are promised. One thread.
class Nominations {
 public:
  void Take(const Step& step);
  std::vector<runtime::Nomination> All(const cluster::NodeTable& nodes) const;

 private:
  boost::unordered_map<std::string, std::shared_ptr<const cluster::PodInfo>> by_uid_;
};

// Steps are counted from the beginning; only the last ones are kept. One thread: the loop's that owns the
// engine. Outside of Show and Restore the cache is as the watches show it.
class History {
 public:
  History(assembly::Engine& engine, std::size_t steps, Duration age)
      : engine_(engine), max_steps_(steps), max_age_(age) {}

  // What happens next; somebody else changes the cache right after.
  void Note(Step step);
  // Forgets all steps: there was no cluster before.
  void Clear();
  std::uint64_t begin() const { return first_; }
  std::uint64_t end() const { return first_ + steps_.size(); }
  const Step& operator[](std::uint64_t position) const { return steps_[position - first_]; }
  std::vector<runtime::Nomination> nominations() const { return nominations_.All(engine_.cache().nodes()); }

  // Shows the cluster as if of the steps [from, end()) only those had happened for which `happened`, in the
  // same order, says so. A change of an object that has not appeared does nothing.
  void Show(std::uint64_t from, const std::vector<bool>& happened);
  // Shows it as it is.
  void Restore();

 private:
  bool Do(const AnyChange& change);
  void Undo(const AnyChange& change);
  bool Move(const api::PodPtr& from, const api::PodPtr& to);
  bool Move(const api::NodePtr& from, const api::NodePtr& to);
  template <class T>
  bool Move(const std::shared_ptr<const T>& from, const std::shared_ptr<const T>& to) {
    engine_.cache().objects().Apply(ports::Change<T>{from, to});
    return true;
  }

  assembly::Engine& engine_;
  Nominations nominations_, real_nominations_;  // the latter while elsewhere
  Nominations dropped_;                         // as of the first step that is kept
  const std::size_t max_steps_;
  const Duration max_age_;
  std::deque<Step> steps_;
  std::uint64_t first_ = 0;
  bool elsewhere_ = false;
  std::uint64_t shown_from_ = 0;
  Nominations before_shown_;  // as of that step
  std::vector<bool> done_;    // from shown_from_ on, while elsewhere
};

}  // namespace berth::shadow
