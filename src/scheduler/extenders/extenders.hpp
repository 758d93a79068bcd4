// All extenders of a configuration in the order in which they are called, with results in terms of rows
// (kube-scheduler v1.37.1's HTTPExtender and schedule_one.go).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_set.hpp"
#include "kubernetes/api/decode.hpp"
#include "scheduler/cluster/node_table.hpp"
#include "scheduler/cluster/pod_info.hpp"
#include "scheduler/cluster/symbol_table.hpp"
#include "scheduler/extenders/extender.hpp"
#include "scheduler/framework/preemption.hpp"

namespace berth::extenders {

// The name of extenders in a pod's list of rejectors.
inline constexpr std::string_view kPluginName = "Extender";

// An error that does not end the scheduling attempt.
struct ExtenderError {
  std::string extender;
  std::string verb;
  std::string error;
};

struct FilterResult {
  struct NodeReason {
    std::string node;  // may not exist in the cluster
    std::string reason;
    bool unresolvable = false;
  };
  struct Silent {
    std::string extender;
    RowSet rows;
  };
  RowSet left;
  std::vector<NodeReason> reasons;  // the last entry of a node counts
  std::vector<Silent> silent;       // nodes removed without a reason
  // Error of an extender that is not ignorable; it ends the attempt.
  std::optional<std::string> error;
};

struct PrioritizeResult {
  struct Part {
    std::string extender;
    std::vector<std::int64_t> contributions;  // by row; zero without a score
  };
  std::vector<Part> parts;
  RowSet answered;  // rows with a score of any extender: preferred among equal totals
};

struct Nodes {
  const cluster::NodeTable& table;
  std::span<const cluster::Row> order;  // the order of nodes in requests
};

// Scheduler loop only. Methods block until the extenders respond.
class Extenders final : public framework::PreemptionReviewer {
 public:
  // Ignorable extenders are called after all others. Error texts are kube-scheduler's start-up errors.
  static Expected<std::unique_ptr<Extenders>> Make(const std::vector<config::ExtenderConfig>& configs,
                                                   const TransportMaker& make_transport,
                                                   const Metrics& metrics);

  bool empty() const { return extenders_.empty(); }
  bool filter() const { return Offer(&config::ExtenderConfig::filter_verb); }
  bool prioritize() const { return Offer(&config::ExtenderConfig::prioritize_verb); }
  // The kinds whose original text must be retained, because requests contain whole objects.
  api::RetainedTexts texts() const;
  // Sets a function that is called every few milliseconds during a wait. When it returns false, pending
  // requests are cancelled and fail; wait_cancelled() is then true until the next decision begins.
  void SetKeepWaiting(std::function<bool()> keep_waiting) { keep_waiting_ = std::move(keep_waiting); }
  void BeginDecision();
  bool wait_cancelled() const { return wait_cancelled_; }
  // The errors since BeginDecision.
  std::vector<ExtenderError> TakeErrors() { return std::exchange(errors_, {}); }

  // Calls the extenders one after the other, each with the nodes that the previous ones accepted. Stops when
  // no node is left.
  FilterResult Filter(const cluster::PodInfo& pod, const Nodes& nodes, RowSet feasible);
  // Calls all extenders in parallel. A failed extender does not contribute.
  PrioritizeResult Prioritize(const cluster::PodInfo& pod, const Nodes& nodes, const RowSet& feasible);

  // Preemption. `nodes` is the table of the candidates; must be set before the first Review.
  void ReviewOn(const cluster::NodeTable& nodes) { table_ = &nodes; }
  framework::Status Review(const cluster::PodInfo& pod,
                           std::vector<framework::PreemptionCandidate>& candidates) override;

  // Index of the first extender at or after `from` that binds and is interested in the pod; size() if there
  // is none.
  std::size_t FindBinder(const api::Pod& pod, std::size_t from = 0) const;
  // The result of a binding by an extender.
  Expected<void> Bound(Extender& extender, const Extender::PendingCall& pending, Expected<Reply> reply);
  // All that extenders store between two decisions, in their order.
  std::vector<Circuit::State> SaveCircuits() const;
  // Fails if their number is another one.
  Expected<void> RestoreCircuits(std::span<const Circuit::State> circuits);
  std::size_t size() const { return extenders_.size(); }
  Extender& at(std::size_t index) { return *extenders_[index]; }

 private:
  using Verb = std::string config::ExtenderConfig::*;
  struct Call {
    Extender* extender = nullptr;
    std::string verb;
    std::string body;
    Extender::PendingCall pending{};
  };
  // Decodes a response and reports the result to metrics and the circuit breaker.
  template <class T>
  Expected<T> Read(const Call& call, Expected<Reply> reply, Expected<T> (*read)(const Reply&));

  explicit Extenders(const Metrics& metrics) : metrics_(metrics) {}
  bool Offer(Verb verb) const;
  std::vector<Expected<Reply>> CallAndWait(std::vector<Call>& calls);
  std::string NodesRequestOf(const Extender& extender, const cluster::PodInfo& pod, const Nodes& nodes,
                             const RowSet& rows) const;
  Expected<void> FilterWith(Extender& extender, const cluster::PodInfo& pod, const Nodes& nodes,
                            FilterResult& result);
  Expected<std::vector<framework::PreemptionCandidate>> ReviewWith(
      Extender& extender, const cluster::PodInfo& pod,
      const std::vector<framework::PreemptionCandidate>& candidates);
  void AddError(const Extender& extender, std::string_view verb, const std::string& error);

  const Metrics metrics_;
  std::vector<std::unique_ptr<Extender>> extenders_;
  std::function<bool()> keep_waiting_;
  const cluster::NodeTable* table_ = nullptr;
  bool wait_cancelled_ = false;
  std::vector<ExtenderError> errors_;
};

}  // namespace berth::extenders
