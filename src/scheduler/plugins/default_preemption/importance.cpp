#include "scheduler/plugins/default_preemption/importance.hpp"

#include <algorithm>

namespace berth::plugins {

using cluster::PlacedPod;
using cluster::Row;

namespace {

// Compares without names, because reading them requires access to both pods.
bool MoreImportantIgnoringNames(const Importance::Entry& a, const Importance::Entry& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.started < b.started;
}

}  // namespace

bool Importance::IsMoreImportant(const Entry& a, const Entry& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  if (a.started != b.started) return a.started < b.started;
  return FirstByKey(*a.pod, *b.pod);
}

bool Importance::FirstByKey(const PlacedPod& a, const PlacedPod& b) {
  const api::ObjectMeta& x = a.pod->metadata;
  const api::ObjectMeta& y = b.pod->metadata;
  return x.ns == y.ns ? x.name < y.name : x.Key() < y.Key();
}

Importance::Entry Importance::EntryOf(PlacedPod& pod) {
  const std::int64_t start = pod.pod->status.start_time;
  return {pod.pod->spec.priority, start == 0 ? INT64_MAX : start, &pod};
}

Importance::Importance(cluster::NodeTable& nodes) : nodes_(nodes) { nodes_.ObserveWithWithdrawals(*this); }

Importance::~Importance() { nodes_.Forget(*this); }

bool Importance::AnyBelow(Row row, std::int32_t priority) {
  if (row >= rows_.size() || rows_[row].lowest >= priority) return false;
  if (rows_[row].may_be_higher) FindLowest(row);
  return rows_[row].lowest < priority;
}

std::span<const Importance::Entry> Importance::Below(Row row, std::int32_t priority) {
  if (!AnyBelow(row, priority)) return {};
  RowPods& pods = rows_[row];
  if (!pods.listed) List(row);
  if (!pods.sorted) std::ranges::sort(pods.entries, IsMoreImportant);
  pods.sorted = true;
  const auto first = std::ranges::partition_point(
      pods.entries, [&](const Entry& entry) { return entry.priority >= priority; });
  return {first, pods.entries.end()};
}

void Importance::OnPodAdded(Row row, const PlacedPod& pod) { Add(row, *nodes_.pods(row)[pod.slot]); }

void Importance::OnPodStarted(Row row, const PlacedPod& pod) {
  RowPods& pods = rows_[row];
  const auto found = std::ranges::find(pods.entries, &pod, &Entry::pod);
  if (found == pods.entries.end()) return;  // the row is not listed, or the pod is withdrawn
  *found = EntryOf(*found->pod);
  pods.sorted = false;
}

void Importance::Add(Row row, PlacedPod& pod) {
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  RowPods& pods = rows_[row];
  const Entry entry = EntryOf(pod);
  pods.lowest = std::min<std::int64_t>(pods.lowest, entry.priority);
  if (!pods.listed) return;
  pods.sorted =
      pods.sorted && (pods.entries.empty() || MoreImportantIgnoringNames(pods.entries.back(), entry));
  pods.entries.push_back(entry);
}

void Importance::List(Row row) {
  RowPods& pods = rows_[row];
  for (PlacedPod* pod : nodes_.pods(row)) pods.entries.push_back(EntryOf(*pod));
  pods.listed = true;
  pods.sorted = false;
}

void Importance::FindLowest(Row row) {
  RowPods& pods = rows_[row];
  pods.lowest = kNoPods;
  pods.may_be_higher = false;
  const auto count = [&](std::int32_t priority) {
    pods.lowest = std::min<std::int64_t>(pods.lowest, priority);
  };
  if (pods.listed) {
    for (const Entry& entry : pods.entries) count(entry.priority);
  } else {
    for (const PlacedPod* pod : nodes_.pods(row)) count(pod->pod->spec.priority);
  }
}

void Importance::OnPodsFound(Row row, std::span<PlacedPod* const> /*pods*/) {
  if (row >= rows_.size()) rows_.resize(nodes_.rows());
  rows_[row].lowest = INT64_MIN;
  rows_[row].may_be_higher = true;
}

void Importance::OnPodRemoved(Row row, const PlacedPod& pod) {
  RowPods& pods = rows_[row];
  if (pods.listed) {
    const auto found = std::ranges::find(pods.entries, &pod, &Entry::pod);
    const bool may_be_lowest = found->priority == pods.lowest;
    pods.entries.erase(found);  // keeps the order
    if (may_be_lowest) FindLowest(row);
  } else if (nodes_.pods(row).empty()) {
    pods.lowest = kNoPods;
    pods.may_be_higher = false;
  } else if (pod.pod->spec.priority == pods.lowest) {
    pods.may_be_higher = true;
  }
}

}  // namespace berth::plugins
