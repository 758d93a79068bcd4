#include "scheduler/evaluation/config_preview.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <utility>

#include "base/text_map.hpp"
#include "scheduler/cycle/longest_step.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "scheduler/evaluation/change_reader.hpp"
#include "scheduler/evaluation/cluster_copy.hpp"
#include "scheduler/evaluation/lower_priority.hpp"
#include "scheduler/explanation/explain_pod.hpp"

namespace berth::evaluation {
namespace {

// The pod of a decision: waiting, or the UID of one that may be on a node.
struct Subject {
  std::string key;
  api::PodPtr waiting{};  // null: none
  std::string uid{};
};

}  // namespace

struct ConfigPreview::State : std::enable_shared_from_this<State> {
  struct Comparison {
    CopyConfig before, after;
    Take take;
    std::shared_ptr<cycle::LongestStep> longest_step;
    std::vector<Subject> subjects{};
    CopyUpdate update{};
  };

  explicit State(const Parts& parts) : parts(parts), reader(parts.live, parts.scheduler) {}

  // --- the loop's thread ---

  void Begin(std::unique_ptr<Comparison> comparison) {
    const cycle::LongestStep::Step step(comparison->longest_step);
    comparison->subjects = LastPods();
    // A standby has decided nothing.
    if (comparison->subjects.empty()) return comparison->take(PreviewReport{});
    Continue(std::move(comparison));
  }

  // Of the newest decisions, each pod once.
  std::vector<Subject> LastPods() const {
    std::vector<Subject> subjects;
    FlatTextSet known;
    const record::RecordRing& records = parts.scheduler.records();
    records.ForEachBefore(records.end(), kMostRecords, [&](const record::AttemptRecord& record, WallTime) {
      const bool decided =
          record.result == record::Result::kScheduled || record.result == record::Result::kUnschedulable;
      if (!decided || record.group != nullptr || subjects.size() == kMostPods) return;
      if (known.insert(record.pod).second) subjects.push_back({record.pod});
    });
    return subjects;
  }

  void Read(std::unique_ptr<Comparison> comparison) {
    const cycle::LongestStep::Step step(comparison->longest_step);
    if (reader.Read("", parts.clock.WallNow(), comparison->update)) {
      reader.Drop();
      for (Subject& subject : comparison->subjects)
        subject.waiting = parts.scheduler.FindPending(subject.key);
      comparison->longest_step = nullptr;  // the loop's share ends with this step
      evaluations.Post([this, comparison = std::move(comparison)]() mutable {
        LowerPriorityOnce();
        auto report = Evaluate(*comparison);
        parts.loop.Post([take = std::move(comparison->take), report = std::move(report)]() mutable {
          take(std::move(report));
        });
      });
      return;
    }
    Continue(std::move(comparison));
  }
  void Continue(std::unique_ptr<Comparison> comparison) {
    parts.loop.Post([weak = weak_from_this(), comparison = std::move(comparison)]() mutable {
      if (const auto self = weak.lock()) self->Read(std::move(comparison));
    });
  }

  // --- the thread of evaluations ---

  // One copy after the other, so that there are never two.
  Expected<PreviewReport> Evaluate(Comparison& comparison) const {
    FindUids(comparison);
    std::vector<std::string> selected(comparison.subjects.size());
    std::vector<bool> known(comparison.subjects.size());
    BERTH_RETURN_IF_ERROR(EvaluateWith(comparison.before, comparison.update, comparison.subjects,
                                       [&](std::size_t i, const record::AttemptRecord& record) {
                                         selected[i] = record.SelectedNode();
                                         known[i] = true;
                                       }));
    PreviewReport report;
    BERTH_RETURN_IF_ERROR(EvaluateWith(comparison.after, comparison.update, comparison.subjects,
                                       [&](std::size_t i, const record::AttemptRecord& record) {
                                         if (!known[i]) return;
                                         ++report.compared;
                                         if (record.CouldSelect(selected[i])) return;
                                         ++report.changed;
                                         if (report.examples.size() < kMostExamples)
                                           report.examples.push_back({comparison.subjects[i].key, selected[i],
                                                                      std::string(record.SelectedNode())});
                                       }));
    for (const auto* left_out :
         {&comparison.before.left_out, &comparison.after.left_out, &comparison.update.left_out}) {
      for (const std::string& text : *left_out) {
        if (std::ranges::find(report.left_out, text) == report.left_out.end())
          report.left_out.push_back(text);
      }
    }
    return report;
  }

  static void FindUids(Comparison& comparison) {
    TextMap<Subject*> by_key;
    for (Subject& subject : comparison.subjects) by_key.emplace(subject.key, &subject);
    for (const RowState& row : comparison.update.rows) {
      for (const api::PodPtr& pod : row.pods) {
        if (const auto subject = by_key.find(pod->metadata.Key()); subject != by_key.end())
          subject->second->uid = pod->metadata.uid;
      }
    }
  }

  // Calls visit(index of the pod, record) for each pod that exists.
  template <class Visit>
  Expected<void> EvaluateWith(const CopyConfig& config, const CopyUpdate& update,
                              const std::vector<Subject>& subjects, Visit&& visit) const {
    BERTH_TRY(const auto copy, ClusterCopy::Create({config.config, parts.plugins, parts.clock}));
    copy->Apply(update);
    for (std::size_t i = 0; i < subjects.size() && !ending.load(); ++i) {
      // A pod whose binding is in progress is pending, and on a node of the copy.
      api::PodPtr pod = subjects[i].uid.empty() ? nullptr : copy->FindPlacedByUid(subjects[i].uid);
      if (pod == nullptr) pod = subjects[i].waiting;
      if (pod != nullptr) visit(i, *explanation::EvaluatePod(copy->evaluator(), pod));
    }
    return {};
  }

  const Parts parts;
  ChangeReader reader;              // the loop's
  std::atomic<bool> ending{false};  // ends the comparison in progress
  cycle::WorkerPool evaluations{1,
                                cycle::Origin::Kind::kOutside};  // last: its work refers to the other members
};

ConfigPreview::ConfigPreview(const Parts& parts) : state_(std::make_shared<State>(parts)) {}
ConfigPreview::~ConfigPreview() { Cancel(); }

void ConfigPreview::Cancel() {
  state_->ending.store(true);
  state_->evaluations.End();
}

void ConfigPreview::Compare(const config::SchedulerConfig& before, const config::SchedulerConfig& after,
                            Take take) {
  const Parts& parts = state_->parts;
  state_->Begin(std::make_unique<State::Comparison>(
      State::Comparison{ConfigOfCopy(before, parts.plugins), ConfigOfCopy(after, parts.plugins),
                        std::move(take), cycle::LongestStep::Of("preview", parts.metrics, parts.clock)}));
}

}  // namespace berth::evaluation
