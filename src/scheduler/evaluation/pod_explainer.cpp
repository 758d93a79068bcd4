#include "scheduler/evaluation/pod_explainer.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "scheduler/cycle/longest_step.hpp"
#include "scheduler/cycle/worker_pool.hpp"
#include "scheduler/evaluation/change_reader.hpp"
#include "scheduler/evaluation/cluster_copy.hpp"
#include "scheduler/evaluation/lower_priority.hpp"
#include "scheduler/explanation/explain_pod.hpp"

namespace berth::evaluation {

struct PodExplainer::State : std::enable_shared_from_this<State> {
  struct Request {
    std::string pod;
    Take take;
    std::shared_ptr<cycle::LongestStep> longest_step;
  };

  explicit State(const Parts& parts)
      : parts(parts),
        config(ConfigOfCopy(parts.config, parts.plugins)),
        reader(parts.live, parts.scheduler) {}

  // --- any thread ---

  bool Add(Request request) {
    bool refused = false, begins = false;
    {
      const std::scoped_lock lock(mutex);
      refused = ended;
      if (!refused) {
        if (waiting.size() >= kMostWaiting) return false;
        waiting.push_back(std::move(request));
        begins = !std::exchange(busy, true);
      }
    }
    if (refused) Refuse(request);
    if (begins) Begin();
    return true;
  }

  void End() {
    std::deque<Request> refused;
    {
      const std::scoped_lock lock(mutex);
      ended = true;
      refused.swap(waiting);
    }
    for (Request& request : refused) Refuse(request);
  }
  static void Refuse(Request& request) {
    request.take(Fail(ErrorCode::kCancelled, "the scheduler is ending"));
  }

  // Requests a step of the loop for the first waiting request.
  void Begin() {
    parts.loop.Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->TakeRequest();
    });
  }

  // --- the loop's thread ---

  void TakeRequest() {
    std::unique_ptr<Request> request;
    {
      const std::scoped_lock lock(mutex);
      if (waiting.empty()) return;  // refused
      request = std::make_unique<Request>(std::move(waiting.front()));
      waiting.pop_front();
    }
    last_used = parts.clock.Now();
    DropWhenIdle();
    TakeConfig();
    Read(std::move(request), std::make_unique<CopyUpdate>());
  }

  // Only between two requests: the next update is complete then, as the new copy needs it.
  void TakeConfig() {
    if (next_config == nullptr) return;
    reader.Drop();
    evaluations.Post([this, next = std::move(next_config)] {
      copy = nullptr;
      config = *next;
    });
    next_config = nullptr;
  }

  void Read(std::unique_ptr<Request> request, std::unique_ptr<CopyUpdate> update) {
    const cycle::LongestStep::Step step(request->longest_step);
    if (reader.Read(request->pod, parts.clock.WallNow(), *update)) {
      request->longest_step = nullptr;  // the loop's share ends with this step
      evaluations.Post([this, request = std::move(request), update = std::move(update)]() mutable {
        Evaluate(*request, std::move(*update));
      });
      return;
    }
    parts.loop.Post(
        [weak = weak_from_this(), request = std::move(request), update = std::move(update)]() mutable {
          if (const auto self = weak.lock()) self->Read(std::move(request), std::move(update));
        });
  }

  void DropWhenIdle() {
    if (std::exchange(timer_set, true)) return;
    SetTimer(kIdle);
  }
  void SetTimer(Duration delay) {
    parts.loop.PostAfter(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->OnTimer();
    });
  }
  void OnTimer() {
    const Duration unused = parts.clock.Now() - last_used;
    if (unused < kIdle) return SetTimer(kIdle - unused);
    timer_set = false;
    reader.Drop();
    evaluations.Post([this] { copy = nullptr; });
  }

  // --- the thread of evaluations ---

  void Evaluate(Request& request, CopyUpdate update) {
    LowerPriorityOnce();
    if (Expected<void> ready = Apply(update); !ready) {
      parts.loop.Post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->reader.Drop();
      });
      request.take(std::unexpected(std::move(ready).error()));
    } else {
      Answer(request, update);
    }
    // Before the next one begins: the request's slot is free then.
    request.take = nullptr;
    {
      const std::scoped_lock lock(mutex);
      if (waiting.empty()) {
        busy = false;
        return;
      }
    }
    Begin();
  }

  // Leaves the parts of the update that Answer reads.
  Expected<void> Apply(CopyUpdate& update) {
    if (update.complete) {
      copy = nullptr;  // first, so that there are never two
      BERTH_TRY(copy, ClusterCopy::Create({config.config, parts.plugins, parts.clock}));
    }
    if (copy == nullptr) return Fail(ErrorCode::kUnavailable, "the cluster could not be copied");
    CopyUpdate applied = std::exchange(update, {});
    update.pending = applied.pending;
    update.as_of = applied.as_of;
    update.left_out = applied.left_out;
    copy->Apply(std::move(applied));
    return {};
  }

  void Answer(Request& request, CopyUpdate& update) {
    // A pod whose binding is in progress is pending, and on a node of the copy.
    api::PodPtr pod;
    if (update.pending != nullptr) pod = copy->FindPlacedByUid(update.pending->metadata.uid);
    if (pod == nullptr) pod = update.pending;
    if (pod == nullptr) pod = copy->FindPlaced(request.pod);
    if (pod == nullptr) return request.take(static_cast<const Evaluated*>(nullptr));
    std::vector<std::string> left_out = config.left_out;
    left_out.insert(left_out.end(), update.left_out.begin(), update.left_out.end());
    const explanation::Explanation explanation = explanation::ExplainPod(copy->evaluator(), pod);
    const Evaluated evaluated{explanation, copy->engine().reasons(), update.as_of, parts.clock.WallNow(),
                              left_out};
    request.take(&evaluated);
  }

  const Parts parts;
  CopyConfig config;                              // of the thread of evaluations
  ChangeReader reader;                            // the loop's
  std::shared_ptr<const CopyConfig> next_config;  // the loop's; null: no change
  MonoTime last_used{};
  bool timer_set = false;

  std::mutex mutex;  // of these three
  std::deque<Request> waiting;
  bool ended = false;
  bool busy = false;  // a request is taken from `waiting` until its evaluation has ended

  std::unique_ptr<ClusterCopy> copy;  // of the thread of evaluations
  cycle::WorkerPool evaluations{1,
                                cycle::Origin::Kind::kOutside};  // last: its work refers to the other members
};

PodExplainer::PodExplainer(const Parts& parts) : state_(std::make_shared<State>(parts)) {}
PodExplainer::~PodExplainer() = default;

void PodExplainer::Reconfigure(const config::SchedulerConfig& config) {
  state_->next_config = std::make_shared<const CopyConfig>(ConfigOfCopy(config, state_->parts.plugins));
}

bool PodExplainer::Explain(std::string pod, Take take) {
  return state_->Add({std::move(pod), std::move(take),
                      cycle::LongestStep::Of("explanation", state_->parts.metrics, state_->parts.clock)});
}

void PodExplainer::End() { state_->End(); }

}  // namespace berth::evaluation
