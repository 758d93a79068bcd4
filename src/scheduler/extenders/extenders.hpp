// All extenders of a configuration, in the order in which they are asked: what they say of nodes, in the
// terms of a decision (after kube-scheduler v1.37.1's HTTPExtender and schedule_one.go).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kubernetes/api/decode.hpp"
#include "base/row_set.hpp"
#include "scheduler/extenders/extender.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/framework/preemption.hpp"

namespace berth::extenders {

// The name under which extenders stand among the plugins that rejected a pod.
inline constexpr std::string_view kPluginName = "Extender";

// Of a name that came from outside; kNoRow if the cluster has no such node.
inline cluster::Row FindRow(const cluster::NodeTable& table, std::string_view name) {
  return table.Find(table.symbols().node_names.Find(name));
}

// Something went wrong that does not end the decision.
struct ExtenderError {
  std::string extender;
  std::string verb;
  std::string error;
};

struct FilterResult {
  struct NodeReason {
    std::string node;  // perhaps unknown to the cluster
    std::string why;
    bool unresolvable = false;
  };
  struct Silent {
    std::string extender;
    RowSet rows;
  };
  RowSet left;
  std::vector<NodeReason> said;      // of several words on one node the last counts
  std::vector<Silent> silent;  // nodes that were left out without a word
  // An extender that is not ignorable failed: the decision ends with this.
  std::optional<std::string> error;
};

struct PrioritizeResult {
  struct Part {
    std::string extender;
    std::vector<std::int64_t> contributions;  // by row; zero where it said nothing
  };
  std::vector<Part> parts;
  RowSet answered;  // rows that some extender spoke of: of equal ones these are preferred
};

struct Nodes {
  const cluster::NodeTable& table;
  std::span<const cluster::Row> order;  // in which they are shown
};

// One thread, the scheduler loop's, which waits here for answers.
class Extenders final : public framework::PreemptionReviewer {
 public:
  // Ignorable extenders are put behind all others. Errors are kube-scheduler's start-up texts.
  static Expected<std::unique_ptr<Extenders>> Make(const std::vector<config::ExtenderConfig>& configs,
                                                   const TransportMaker& make_transport,
                                                   const Meters& meters);

  bool empty() const { return extenders_.empty(); }
  bool filter() const { return Offer(&config::ExtenderConfig::filter_verb); }
  bool prioritize() const { return Offer(&config::ExtenderConfig::prioritize_verb); }
  // The texts of objects that they have to be shown.
  api::KeepTexts texts() const;
  // Asked every few milliseconds while an answer is waited for: shall we go on? If not, the questions on
  // their way are dropped and fail; given_up() says so until the next decision begins.
  void SetPatience(std::function<bool()> patience) { patience_ = std::move(patience); }
  void BeginDecision();
  bool given_up() const { return given_up_; }
  // Since BeginDecision.
  std::vector<ExtenderError> TakeErrors() { return std::exchange(troubles_, {}); }

  // One after the other, each about what those before it left; stops when nothing is left.
  FilterResult Filter(const cluster::PodInfo& pod, const Nodes& nodes, RowSet feasible);
  // All at the same time. What fails contributes nothing.
  PrioritizeResult Prioritize(const cluster::PodInfo& pod, const Nodes& nodes, const RowSet& feasible);

  // Preemption. `nodes` is the table that candidates speak of; it is there before the first Review.
  void ReviewOn(const cluster::NodeTable& nodes) { table_ = &nodes; }
  framework::Status Review(const cluster::PodInfo& pod,
                           std::vector<framework::PreemptionCandidate>& candidates) override;

  // The first from `from` on that binds and is interested in the pod; size() if there is none.
  std::size_t FindBinder(const api::Pod& pod, std::size_t from = 0) const;
  // What became of a binding that an extender was asked for.
  Expected<void> Bound(Extender& extender, const Extender::Asked& asked, Expected<Reply> reply);
  std::size_t size() const { return extenders_.size(); }
  Extender& at(std::size_t index) { return *extenders_[index]; }

 private:
  using Verb = std::string config::ExtenderConfig::*;
  struct Question {
    Extender* extender = nullptr;
    std::string verb;
    std::string body;
    Extender::Asked asked{};
  };
  // An answer of that kind has been read, or not.
  template <class T>
  Expected<T> Read(const Question& question, Expected<Reply> reply, Expected<T> (*read)(const Reply&));

  explicit Extenders(const Meters& meters) : meters_(meters) {}
  bool Offer(Verb verb) const;
  std::vector<Expected<Reply>> AskAndWait(std::vector<Question>& questions);
  std::string NodesRequestOf(const Extender& extender, const cluster::PodInfo& pod, const Nodes& nodes,
                             const RowSet& rows) const;
  Expected<void> FilterWith(Extender& extender, const cluster::PodInfo& pod, const Nodes& nodes,
                            FilterResult& result);
  Expected<std::vector<framework::PreemptionCandidate>> ReviewWith(
      Extender& extender, const cluster::PodInfo& pod,
      const std::vector<framework::PreemptionCandidate>& candidates);
  void Note(const Extender& extender, std::string_view verb, const std::string& error);

  const Meters meters_;
  std::vector<std::unique_ptr<Extender>> extenders_;
  std::function<bool()> patience_;
  const cluster::NodeTable* table_ = nullptr;
  bool given_up_ = false;
  std::vector<ExtenderError> troubles_;
};

}  // namespace berth::extenders
