#include "tools/shadow/history.hpp"

#include <fmt/format.h>

#include "base/check.hpp"

namespace berth::shadow {
namespace {

bool OnNode(const api::PodPtr& pod) {
  return pod != nullptr && !pod->spec.node_name.empty() && !pod->terminal();
}

bool SameUid(const api::PodPtr& a, const api::PodPtr& b) {
  return a != nullptr && b != nullptr && a->metadata.uid == b->metadata.uid;
}

}  // namespace

std::string Step::Text() const {
  return std::visit(
      [&]<class T>(const ports::Change<T>& one) {
        const T& object = one.after != nullptr ? *one.after : *one.before;
        std::string kind(T::kKind);
        kind.front() = static_cast<char>(kind.front() | 0x20);
        const std::string what = kind + " " + object.metadata.Key();
        if (std::is_same_v<T, api::ResourceClaim> && decision) return what + " allocated";
        if (decision) return what + (node.empty() ? " unschedulable" : " on " + node);
        return what + (one.after == nullptr ? " gone" : one.before == nullptr ? " new" : " changed");
      },
      change);
}

void Nominations::Take(const Step& step) {
  const auto* change = std::get_if<ports::Change<api::Pod>>(&step.change);
  if (change == nullptr) return;
  if (change->before != nullptr && !SameUid(change->before, change->after))
    by_uid_.erase(change->before->metadata.uid);
  if (step.nominated != nullptr) {
    by_uid_[step.uid] = step.nominated;
  } else {
    by_uid_.erase(step.uid);
  }
}

std::vector<runtime::Nomination> Nominations::All(const cluster::NodeTable& nodes) const {
  std::vector<runtime::Nomination> all;
  all.reserve(by_uid_.size());
  for (const auto& [uid, pod] : by_uid_) all.push_back({nodes.Find(pod->nominated), pod.get()});
  return all;
}

void History::Note(Step step) {
  BERTH_CHECK(!showing_past_);
  nominations_.Take(step);
  if (!step.uid.empty()) {
    step.replaced = FindAssumed(step.uid);
    if (step.replaced != step.assumed) {
      if (step.replaced != nullptr) engine_.cache().RemovePod(step.uid);
      Keep(step.uid, step.assumed);
    }
  }
  step.applied = step.change;
  const MonoTime oldest = step.at - max_age_;
  steps_.push_back(std::move(step));
  while (steps_.size() > max_steps_ || steps_.front().at < oldest) {
    dropped_.Take(steps_.front());
    steps_.pop_front();
    ++first_;
  }
}

api::NodePtr History::FindNode(std::string_view name) const {
  const cluster::NodeTable& nodes = engine_.cache().nodes();
  const cluster::Row row = nodes.Find(name);
  return row == cluster::kNoRow ? nullptr : nodes.shared_node(row);
}

api::PodPtr History::FindAssumed(const std::string& uid) const {
  const auto found = assumed_.find(uid);
  return found == assumed_.end() ? nullptr : found->second;
}

History::WithoutAssumed::WithoutAssumed(History& history, const std::string& uid)
    : cache_(history.engine_.cache()), assumed_(history.FindAssumed(uid)) {
  if (assumed_ != nullptr) cache_.RemovePod(uid);
}

History::WithoutAssumed::~WithoutAssumed() {
  if (assumed_ != nullptr) cache_.AddPod(assumed_);
}

void History::Clear() {
  first_ = end();
  steps_.clear();
  dropped_ = nominations_;
}

void History::Show(std::uint64_t from, const std::vector<bool>& happened) {
  if (showing_past_ && from != shown_from_) Restore();
  if (!showing_past_) {
    showing_past_ = true;
    shown_from_ = from;
    current_nominations_ = std::move(nominations_);
    done_.assign(end() - from, true);
    before_shown_ = dropped_;
    for (std::uint64_t at = first_; at < from; ++at) before_shown_.Take((*this)[at]);
  }
  // The common prefix of both states stays.
  std::size_t common = 0;
  while (common < done_.size() && done_[common] == happened[common]) ++common;
  for (std::size_t i = done_.size(); i-- > common;) {
    if (done_[i]) Undo(steps_[from + i - first_]);
    done_[i] = false;
  }
  for (std::size_t i = common; i < done_.size(); ++i) {
    if (happened[i]) done_[i] = Do(steps_[from + i - first_]);
  }
  nominations_ = before_shown_;
  for (std::uint64_t at = from; at < end(); ++at) {
    if (happened[at - from]) nominations_.Take((*this)[at]);
  }
}

void History::Restore() {
  if (!showing_past_) return;
  Show(shown_from_, std::vector<bool>(done_.size(), true));
  nominations_ = std::move(current_nominations_);
  showing_past_ = false;
}

bool History::Do(Step& step) {
  if (step.uid.empty()) return std::visit([&](const auto& one) { return DoChange(one, step); }, step.change);
  step.replaced = FindAssumed(step.uid);
  if (step.replaced != nullptr && step.replaced == step.assumed) return true;
  const auto& [before, after] = std::get<ports::Change<api::Pod>>(step.change);
  const bool changed = Move(step.replaced != nullptr ? step.replaced : before, after);
  Keep(step.uid, step.assumed);
  return changed || step.replaced != nullptr;
}

void History::Undo(const Step& step) {
  if (step.uid.empty()) {
    return std::visit(
        [this]<class T>(const ports::Change<T>& one) { Apply(ports::Change<T>{one.after, one.before}); },
        step.applied);
  }
  if (step.replaced != nullptr && step.replaced == step.assumed) return;
  if (step.assumed != nullptr) engine_.cache().RemovePod(step.uid);
  const auto& [before, after] = std::get<ports::Change<api::Pod>>(step.change);
  Move(after, before);
  Keep(step.uid, step.replaced);
}

void History::Keep(const std::string& uid, const api::PodPtr& assumed) {
  if (assumed == nullptr) {
    assumed_.erase(uid);
  } else {
    assumed_[uid] = assumed;
    engine_.cache().AddPod(assumed);
  }
}

bool History::Move(const api::PodPtr& from, const api::PodPtr& to) {
  cluster::ClusterState& cache = engine_.cache();
  if (OnNode(from) && !cache.Contains(from->metadata.uid))
    return false;  // the pod does not exist in this state
  if (OnNode(from) && !(OnNode(to) && SameUid(from, to))) cache.RemovePod(from->metadata.uid);
  if (OnNode(to)) cache.AddPod(to);
  return true;
}

template <class T>
bool History::DoChange(const ports::Change<T>& change, Step& step) {
  const std::shared_ptr<const T> current = Current(change.after != nullptr ? *change.after : *change.before);
  if (current == nullptr && change.before != nullptr && !step.decision) return false;
  const ports::Change<T> applied{current, change.after};
  Apply(applied);
  step.applied = applied;
  return true;
}

template <class T>
std::shared_ptr<const T> History::Current(const T& object) const {
  if constexpr (std::is_same_v<T, api::Node>) {
    return FindNode(object.metadata.name);
  } else {
    return engine_.cache().objects().Of<T>().Find(object.metadata.ns, object.metadata.name);
  }
}

template <class T>
void History::Apply(const ports::Change<T>& change) {
  if constexpr (std::is_same_v<T, api::Node>) {
    if (change.after != nullptr) return engine_.cache().AddNode(change.after);
    engine_.cache().RemoveNode(change.before->metadata.name);
  } else {
    engine_.cache().objects().Apply(change);
  }
}

}  // namespace berth::shadow
