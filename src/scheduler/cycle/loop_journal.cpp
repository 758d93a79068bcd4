#include "scheduler/cycle/loop_journal.hpp"

namespace berth::cycle {
namespace {

// The callback of a write does not know the loop that its caller posts to, so the origin is a property of the
// thread.
thread_local Origin current_origin;

class IgnoringJournal final : public LoopJournal {
 public:
  void BeginChange(const ports::ClusterChange&) override {}
  void BeginSynced() override {}
  void BeginWork(const Origin&) override {}
  void BeginTimers() override {}
  void BeginUnitOfWork() override {}
  void End() override {}
  void Break(std::string_view) override {}
};

}  // namespace

OriginScope::OriginScope(Origin origin) : before_(std::exchange(current_origin, std::move(origin))) {}
OriginScope::~OriginScope() { current_origin = std::move(before_); }

const Origin& OriginScope::Current() { return current_origin; }

LoopJournal& LoopJournal::None() {
  static IgnoringJournal journal;
  return journal;
}

}  // namespace berth::cycle
