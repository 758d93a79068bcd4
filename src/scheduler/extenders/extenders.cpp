#include "scheduler/extenders/extenders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "base/wrap.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"
#include "scheduler/extenders/replies.hpp"
#include "scheduler/extenders/requests.hpp"

namespace berth::extenders {

using cluster::PodInfo;
using cluster::Row;

namespace {

constexpr std::chrono::milliseconds kPollInterval{5};
constexpr std::int64_t kHighestScore = 10;    // maximum score of an extender
constexpr std::int64_t kPointsPerScore = 10;  // scales extender scores to the plugins' range of 100

// Receives responses; shared with callbacks, because they may outlive a cancelled wait.
struct Mailbox {
  explicit Mailbox(std::size_t size) : replies(size) {}
  void Put(std::size_t index, Expected<Reply> reply) {
    {
      std::scoped_lock lock(mutex);
      replies[index] = std::move(reply);
      ++arrived;
    }
    changed.notify_one();
  }
  bool full() const { return arrived == replies.size(); }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<Expected<Reply>>> replies;
  std::size_t arrived = 0;
};

}  // namespace

Expected<std::unique_ptr<Extenders>> Extenders::Make(const std::vector<config::ExtenderConfig>& configs,
                                                     const TransportMaker& make_transport,
                                                     const Metrics& metrics) {
  static const SystemClock kClock;
  Metrics complete = metrics;
  if (complete.clock == nullptr) complete.clock = &kClock;
  std::unique_ptr<Extenders> extenders(new Extenders(complete));
  for (const bool ignorable : {false, true}) {
    for (const config::ExtenderConfig& config : configs) {
      if (config.ignorable != ignorable) continue;
      auto transport = make_transport(config);
      if (!transport) return std::unexpected(std::move(transport).error().In("couldn't build extenders"));
      extenders->extenders_.push_back(std::make_unique<Extender>(config, *std::move(transport), complete));
    }
  }
  return extenders;
}

bool Extenders::Offer(Verb verb) const {
  return std::ranges::any_of(extenders_,
                             [&](const auto& extender) { return !(extender->config().*verb).empty(); });
}

api::RetainedTexts Extenders::texts() const {
  api::RetainedTexts texts;
  for (const auto& extender : extenders_) {
    const config::ExtenderConfig& config = extender->config();
    const bool nodes = !config.filter_verb.empty() || !config.prioritize_verb.empty();
    const bool preempts = !config.preempt_verb.empty();
    texts.waiting_pods |= nodes || preempts;
    texts.nodes |= nodes && !config.node_cache_capable;
    texts.placed_pods |= preempts && !config.node_cache_capable;
  }
  return texts;
}

std::vector<Circuit::State> Extenders::SaveCircuits() const {
  std::vector<Circuit::State> circuits;
  for (const auto& extender : extenders_) circuits.push_back(extender->circuit().Save());
  return circuits;
}

Expected<void> Extenders::RestoreCircuits(std::span<const Circuit::State> circuits) {
  if (circuits.size() != extenders_.size()) {
    return Invalid(fmt::format("the state has {} extenders, and the configuration {}", circuits.size(),
                               extenders_.size()));
  }
  constexpr std::int32_t kMostFailures = 1 << 30;
  for (std::size_t i = 0; i < circuits.size(); ++i) {
    if (circuits[i].failures < 0 || circuits[i].failures > kMostFailures)
      return Invalid(fmt::format("{}: failures: expected a number from 0 to 2^30", extenders_[i]->name()));
    extenders_[i]->circuit().Restore(circuits[i]);
  }
  return {};
}

void Extenders::BeginDecision() {
  wait_cancelled_ = false;
  errors_.clear();
}

void Extenders::AddError(const Extender& extender, std::string_view verb, const std::string& error) {
  errors_.push_back({extender.name(), std::string(verb), error});
}

// --- requests ---

std::vector<Expected<Reply>> Extenders::CallAndWait(std::vector<Call>& calls) {
  const auto box = std::make_shared<Mailbox>(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call& call = calls[i];
    call.pending = call.extender->Send(call.verb, std::move(call.body),
                                       [box, i](Expected<Reply> reply) { box->Put(i, std::move(reply)); });
  }
  std::unique_lock lock(box->mutex);
  while (!box->full()) {
    if (box->changed.wait_for(lock, kPollInterval, [&] { return box->full(); })) break;
    lock.unlock();
    if (keep_waiting_ && !keep_waiting_()) wait_cancelled_ = true;
    if (wait_cancelled_) {
      for (const Call& call : calls) call.extender->Cancel(call.pending);
    }
    lock.lock();
    if (wait_cancelled_) break;
  }
  std::vector<Expected<Reply>> replies;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto& reply_value = box->replies[i];
    Expected<Reply> reply = reply_value ? std::move(*reply_value)
                                        : Fail(ErrorCode::kCancelled, "the scheduler cancelled the wait");
    replies.push_back(calls[i].extender->Take(calls[i].verb, calls[i].pending, std::move(reply)));
  }
  return replies;
}

template <class T>
Expected<T> Extenders::Read(const Call& call, Expected<Reply> reply, Expected<T> (*read)(const Reply&)) {
  if (!reply) return std::unexpected(std::move(reply).error());
  Expected<T> reply_value = read(*reply);
  call.extender->Evaluated(call.verb, call.pending, reply_value.has_value());
  return reply_value;
}

std::string Extenders::NodesRequestOf(const Extender& extender, const PodInfo& pod, const Nodes& nodes,
                                      const RowSet& rows) const {
  if (extender.config().node_cache_capable) {
    std::vector<const std::string*> names;
    for (const Row row : nodes.order) {
      if (rows.Has(row)) names.push_back(&nodes.table.name(row));
    }
    return NamesRequest(*pod.pod, names);
  }
  std::vector<const api::Node*> objects;
  for (const Row row : nodes.order) {
    if (rows.Has(row)) objects.push_back(&nodes.table.node(row));
  }
  return NodesRequest(*pod.pod, objects);
}

// --- filter ---

FilterResult Extenders::Filter(const PodInfo& pod, const Nodes& nodes, RowSet feasible) {
  FilterResult result;
  result.left = std::move(feasible);
  for (const auto& extender : extenders_) {
    if (result.left.Empty()) break;
    if (extender->config().filter_verb.empty() || !extender->IsInterested(*pod.pod)) continue;
    const auto pending = FilterWith(*extender, pod, nodes, result);
    if (pending) continue;
    if (wait_cancelled_ || !extender->ignorable()) {
      result.error = pending.error().message;
      break;
    }
    log::Info("Skipping extender as it returned error and has ignorable flag set",
              {{"extender", extender->name()}, {"err", pending.error().message}});
    AddError(*extender, extender->config().filter_verb, pending.error().message);
  }
  return result;
}

Expected<void> Extenders::FilterWith(Extender& extender, const PodInfo& pod, const Nodes& nodes,
                                     FilterResult& result) {
  const config::ExtenderConfig& config = extender.config();
  std::vector<Call> calls;
  calls.push_back({&extender, config.filter_verb, NodesRequestOf(extender, pod, nodes, result.left)});
  auto replies = CallAndWait(calls);
  BERTH_TRY(FilterReply reply, Read(calls[0], std::move(replies[0]), &ReadFilterReply));
  if (!reply.error.empty()) return Fail(ErrorCode::kInternal, reply.error);

  // Names count only if names were requested; a response without names and nodes rejects all nodes.
  const auto& passed = config.node_cache_capable && reply.node_names ? reply.node_names : reply.nodes;
  RowSet left(nodes.table.rows());
  if (passed) {
    for (const std::string& name : *passed) {
      const Row row = nodes.table.Find(name);
      if (row == cluster::kNoRow || !result.left.Has(row)) {
        return Fail(ErrorCode::kInternal, fmt::format("extender \"{}\" claims a filtered node \"{}\" which "
                                                      "is not found in the input node list",
                                                      extender.name(), name));
      }
      left.Add(row);
    }
  }
  RowSet silent = result.left;
  silent -= left;
  const auto add_reason = [&](const std::string& node, const std::string& why, bool unresolvable) {
    if (const Row row = nodes.table.Find(node); row != cluster::kNoRow) silent.Remove(row);
    result.reasons.push_back({node, why, unresolvable});
  };
  for (const auto& [node, why] : reply.failed_and_unresolvable) add_reason(node, why, true);
  for (const auto& [node, why] : reply.failed) {
    if (!reply.failed_and_unresolvable.contains(node)) add_reason(node, why, false);
  }
  if (!silent.Empty()) result.silent.push_back({extender.name(), std::move(silent)});
  result.left = std::move(left);
  return {};
}

// --- prioritize ---

PrioritizeResult Extenders::Prioritize(const PodInfo& pod, const Nodes& nodes, const RowSet& feasible) {
  PrioritizeResult result;
  result.answered.Resize(nodes.table.rows());
  std::vector<Call> calls;
  for (const auto& extender : extenders_) {
    if (!extender->IsInterested(*pod.pod)) continue;
    if (extender->config().prioritize_verb.empty()) {
      result.answered |= feasible;  // same as a score of zero for every node
    } else {
      calls.push_back({extender.get(), extender->config().prioritize_verb,
                       NodesRequestOf(*extender, pod, nodes, feasible)});
    }
  }
  if (calls.empty()) return result;
  // In kube-scheduler each request runs in a goroutine.
  metrics::Gauge* const running =
      metrics_.registry == nullptr
          ? nullptr
          : &metrics_.registry->Gauge(
                "scheduler_goroutines",
                "[BETA] Number of running goroutines split by the work they do such as binding.",
                {{"operation", "prioritizing_extender"}});
  const auto count = static_cast<std::int64_t>(calls.size());
  if (running != nullptr) running->Add(count);
  auto replies = CallAndWait(calls);
  if (running != nullptr) running->Add(-count);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Extender& extender = *calls[i].extender;
    const auto scores = Read(calls[i], std::move(replies[i]), &ReadPrioritizeReply);
    if (!scores) {
      if (const auto log = log::V(5)) {
        log.Info("Failed to run extender's priority function. No score given by this extender.",
                 {{"error", scores.error().message},
                  {"pod", log::Value::Object(pod.key)},
                  {"extender", extender.name()}});
      }
      AddError(extender, calls[i].verb, scores.error().message);
      continue;
    }
    auto& part = result.parts.emplace_back();
    part.extender = extender.name();
    part.contributions.assign(nodes.table.rows(), 0);
    std::size_t out_of_range = 0;
    for (const HostPriority& one : *scores) {
      out_of_range += one.score < 0 || one.score > kHighestScore;
      const Row row = nodes.table.Find(one.host);
      if (row == cluster::kNoRow || !feasible.Has(row)) continue;
      std::int64_t& sum = part.contributions[row];
      sum = WrapAdd(sum, WrapMul(WrapMul(one.score, extender.config().weight), kPointsPerScore));
      result.answered.Add(row);
    }
    extender.CountInvalidScores(out_of_range);
  }
  return result;
}

// --- preempt ---

framework::Status Extenders::Review(const PodInfo& pod,
                                    std::vector<framework::PreemptionCandidate>& candidates) {
  for (const auto& extender : extenders_) {
    if (candidates.empty()) break;
    if (extender->config().preempt_verb.empty() || !extender->IsInterested(*pod.pod)) continue;
    auto reviewed = ReviewWith(*extender, pod, candidates);
    if (reviewed) {
      candidates = *std::move(reviewed);
      continue;
    }
    if (wait_cancelled_ || !extender->ignorable()) return framework::Status::Error(reviewed.error().message);
    if (const auto log = log::V(2)) {
      log.Info("Skipped extender as it returned error and has ignorable flag set",
               {{"extender", extender->name()}, {"err", reviewed.error().message}});
    }
    AddError(*extender, extender->config().preempt_verb, reviewed.error().message);
  }
  return {};
}

Expected<std::vector<framework::PreemptionCandidate>> Extenders::ReviewWith(
    Extender& extender, const PodInfo& pod, const std::vector<framework::PreemptionCandidate>& candidates) {
  const config::ExtenderConfig& config = extender.config();
  std::vector<Victims> victims_by_node;
  for (const framework::PreemptionCandidate& candidate : candidates) {
    Victims& victims =
        victims_by_node.emplace_back(Victims{table_->name(candidate.row), {}, candidate.violations});
    for (const cluster::PlacedPod* victim : candidate.victims) victims.pods.push_back(victim->pod.get());
  }
  std::ranges::sort(victims_by_node, {}, &Victims::node);
  std::vector<Call> calls;
  calls.push_back({&extender, config.preempt_verb,
                   PreemptRequest(*pod.pod, victims_by_node, !config.node_cache_capable)});
  auto replies = CallAndWait(calls);
  BERTH_TRY(const auto reply, Read(calls[0], std::move(replies[0]), &ReadPreemptReply));

  std::vector<framework::PreemptionCandidate> reviewed;
  std::string empty;  // the first node without victims
  for (const auto& [node, victims] : reply) {
    const Row row = table_->Find(node);
    if (row == cluster::kNoRow)
      return Fail(ErrorCode::kInternal, fmt::format("nodeinfo not found for node name \"{}\"", node));
    auto& candidate = reviewed.emplace_back();
    candidate.row = row;
    candidate.violations = victims.violations;
    for (const std::string& uid : victims.uids) {
      const auto pods = table_->pods(row);
      const auto found = std::ranges::find(
          pods, uid, [](const cluster::PlacedPod* placed) { return placed->pod->metadata.uid; });
      if (found == pods.end()) {
        return Fail(ErrorCode::kInternal,
                    fmt::format("extender: {} claims to preempt pod (UID: &{{{}}}) on node: {}, but the pod "
                                "is not found on that node",
                                extender.name(), uid, node));
      }
      candidate.victims.push_back(*found);
    }
    if (!candidate.victims.empty()) continue;
    reviewed.pop_back();
    if (empty.empty()) empty = node;
    if (!extender.ignorable()) continue;
    if (const auto log = log::V(2)) {
      log.Info("Ignored node for which the extender didn't report victims",
               {{"node", node}, {"extender", extender.name()}});
    }
  }
  if (!empty.empty() && !extender.ignorable())
    return Fail(ErrorCode::kInternal, fmt::format("expected at least one victim pod on node \"{}\"", empty));
  return reviewed;
}

// --- bind ---

Expected<void> Extenders::Bound(Extender& extender, const Extender::PendingCall& pending,
                                Expected<Reply> reply) {
  const std::string& verb = extender.config().bind_verb;
  BERTH_TRY(const Reply taken, extender.Take(verb, pending, std::move(reply)));
  const auto error = ReadBindReply(taken);
  extender.Evaluated(verb, pending, error.has_value());
  if (!error) return std::unexpected(error.error());
  if (!error->empty()) return Fail(ErrorCode::kInternal, *error);
  return {};
}

std::size_t Extenders::FindBinder(const api::Pod& pod, std::size_t from) const {
  for (std::size_t i = from; i < extenders_.size(); ++i) {
    if (!extenders_[i]->config().bind_verb.empty() && extenders_[i]->IsInterested(pod)) return i;
  }
  return extenders_.size();
}

}  // namespace berth::extenders
