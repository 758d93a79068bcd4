#include "scheduler/record/detached_record.hpp"

#include <utility>

namespace berth::record {
namespace {

// Rows of their own: the loop may change rows as soon as it believes to be their only user.
SharedRows Own(const SharedRows& rows) { return RowSet(rows.get()); }

}  // namespace

std::unique_ptr<const DetachedRecord> Detach(const AttemptRecord& record, const framework::Reasons& reasons) {
  auto detached = std::make_unique<DetachedRecord>();
  AttemptRecord& copy = detached->record;
  copy = record;
  for (SharedRows* rows : {&copy.all, &copy.feasible, &copy.unresolvable, &copy.excluded, &copy.best})
    *rows = Own(*rows);
  std::vector<Rejection> rejections;
  for (const Rejection& rejection : record.rejections) {
    rejections.push_back(
        {rejection.plugin, detached->reasons.Intern(reasons.Text(rejection.reason)), Own(rejection.rows)});
  }
  copy.rejections = std::move(rejections);
  copy.scores = record.scores.Detached();
  return detached;
}

}  // namespace berth::record
