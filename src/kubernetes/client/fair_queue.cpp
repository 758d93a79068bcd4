#include "kubernetes/client/fair_queue.hpp"

#include <utility>

#include "base/check.hpp"

namespace berth::client {

void FairQueue::Add(Entry entry) {
  Flow& flow = flows_[entry.flow];
  if (flow.waiting.empty()) {
    flow.name = std::move(entry.flow);
    turns_.push_back(&flow);
  }
  flow.waiting.push_back(std::move(entry.key));
  ++waiting_;
}

// Only slots / of_one_flow flows can have all that they may have, so the loop passes few.
std::optional<FairQueue::Entry> FairQueue::Next() {
  if (used_ == slots_) return std::nullopt;
  for (std::size_t left = turns_.size(); left > 0; --left) {
    Flow& flow = *turns_.front();
    turns_.pop_front();
    if (!MayHaveSlot(flow)) {
      turns_.push_back(&flow);
      continue;
    }
    Entry next{flow.name, std::move(flow.waiting.front())};
    flow.waiting.pop_front();
    if (!flow.waiting.empty()) turns_.push_back(&flow);
    ++flow.slots;
    ++used_;
    --waiting_;
    return next;
  }
  return std::nullopt;
}

void FairQueue::Release(const std::string& name) {
  const auto found = flows_.find(name);
  BERTH_CHECK(found != flows_.end() && found->second.slots > 0, name, used_);
  --found->second.slots;
  --used_;
  if (found->second.slots == 0 && found->second.waiting.empty()) flows_.erase(found);
}

}  // namespace berth::client
