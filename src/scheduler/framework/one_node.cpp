#include "scheduler/framework/one_node.hpp"

#include "scheduler/framework/exception_guard.hpp"
#include "scheduler/framework/handle.hpp"

namespace berth::framework {

std::int64_t NodeView::Allocatable(std::string_view resource) const {
  if (resource == "pods") return table_->allowed_pods()[row_];
  return Allocatable(table_->symbols().FindResource(resource));
}

std::int64_t NodeView::Requested(std::string_view resource) const {
  if (resource == "pods") return table_->pod_count()[row_];
  return Requested(table_->symbols().FindResource(resource));
}

void AddRowStatus(cluster::Row row, const Status& status, Rejections& out) {
  if (status.ok()) return;
  if (!status.rejected()) return out.Fail(row, status.Message());
  // A rejection without reasons must still reject the row.
  if (status.reasons.empty()) out.Add(row, "");
  for (const std::string& reason : status.reasons) out.Add(row, reason);
  if (status.code == Code::kUnschedulableAndUnresolvable) out.unresolvable().Add(row);
  if (status.code == Code::kPending) out.MarkPending();
}

void OneNodeFilterPlugin::Filter(const Attempt& attempt, const RowSet& candidates, Rejections& out) const {
  candidates.ForEach([&](std::size_t index) {
    const cluster::Row row = static_cast<cluster::Row>(index);
    AddRowStatus(row, CatchExceptions([&] { return FilterNode(attempt, NodeView(attempt.nodes(), row)); }),
                 out);
  });
}

Status OneNodeScorePlugin::Score(const Attempt& attempt, const RowSet& feasible, ScoreColumn& scores) const {
  const std::span<std::int64_t> values = scores.Overwrite();
  Status failed;
  feasible.ForEach([&](std::size_t index) {
    if (!failed.ok()) return;
    const auto score = ScoreNode(attempt, NodeView(attempt.nodes(), static_cast<cluster::Row>(index)));
    if (score) {
      values[index] = *score;
    } else {
      failed = Status::Error(score.error().message);
    }
  });
  return failed;
}

void BlockingPreBindPlugin::PreBind(const Placement& placement, std::stop_token stop, StatusCallback answer) {
  handle_.scheduler.RunBlocking(
      [this, &placement, stop = std::move(stop), answer = std::move(answer)]() mutable {
        // While this work was queued, the binding may have failed and Unreserve may have run. Success binds
        // no pod: whoever requests the stop has set the failure before, or has ended the binding. A failure
        // here would replace the reason of the cancellation.
        if (stop.stop_requested()) return answer({});
        answer(CatchExceptions([&] { return PreBindNow(placement, stop); }));
      });
}

void BlockingBindPlugin::Bind(const Placement& placement, StatusCallback answer) {
  // On a worker thread the runtime does not catch exceptions; they must become the result here.
  handle_.scheduler.RunBlocking([this, &placement, answer = std::move(answer)]() mutable {
    answer(CatchExceptions([&] { return BindNow(placement); }));
  });
}

}  // namespace berth::framework
