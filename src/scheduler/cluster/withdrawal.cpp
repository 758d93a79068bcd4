#include "scheduler/cluster/withdrawal.hpp"

#include "base/check.hpp"
#include "scheduler/cluster/host_ports_in_use.hpp"
#include "scheduler/cluster/pod_observer.hpp"

namespace berth::cluster {

NodeTable::Withdrawal::~Withdrawal() {
  for (std::size_t index = pods_.size(); index > 0; --index) {
    if (pods_[index - 1].removed) PutBack(index - 1);
  }
  SwapImages();
}

// Cached scores of ImageLocality depend on all nodes, not on the pods of a row.
void NodeTable::Withdrawal::SwapImages() {
  if (!images_.empty() || !table_.images_.empty()) table_.InvalidateResults();
  images_.swap(table_.images_);
}

std::size_t NodeTable::Withdrawal::Remove(Row row, PlacedPod& pod) {
  Take(pods_.emplace_back(Entry{row, &pod, false, {}}));
  return pods_.size() - 1;
}

void NodeTable::Withdrawal::RemoveAgain(std::size_t index) { Take(pods_[index]); }

void NodeTable::Withdrawal::Take(Entry& entry) {
  BERTH_CHECK(!entry.removed, entry.row, entry.pod->pod->metadata.uid);
  entry.removed = true;
  table_.InvalidateResults(entry.row);
  table_.RemoveFromList(entry.row, *entry.pod);
  table_.AddAmounts(entry.row, entry.pod->use(), -1);
  entry.ports.clear();
  for (const HostPort& port : entry.pod->use().ports) {
    if (table_.ports_->Remove(entry.row, port)) entry.ports.push_back(port);
  }
  for (PodObserver* observer : table_.withdrawal_observers_) observer->OnPodRemoved(entry.row, *entry.pod);
}

void NodeTable::Withdrawal::PutBack(std::size_t index) {
  Entry& entry = pods_[index];
  BERTH_CHECK(entry.removed, entry.row, entry.pod->pod->metadata.uid);
  entry.removed = false;
  table_.InvalidateResults(entry.row);
  table_.AddToList(entry.row, *entry.pod);
  table_.AddAmounts(entry.row, entry.pod->use(), 1);
  for (const HostPort& port : entry.ports) table_.ports_->Add(entry.row, port);
  for (PodObserver* observer : table_.withdrawal_observers_) observer->OnPodAdded(entry.row, *entry.pod);
}

}  // namespace berth::cluster
