// The entries of activeQ in their order.
#pragma once

#include <boost/unordered_map.hpp>
#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "scheduler/framework/tenant_order.hpp"

namespace berth::queue {

// The tenant of an entry in activeQ, and the tenants whose first entries are taken before its first one.
struct TenantPlace {
  framework::TenantState own;
  std::vector<framework::TenantState> before;  // in their order; at most the limit that was given
  std::size_t tenants_before = 0;              // all of them
};

// One sequence ordered by `Before`, or one per tenant if the QueueSort plugin orders tenants. All operations
// take logarithmic time in the number of entries, unless stated otherwise. `Entry` has a member `state`
// (framework::QueuedEntity*) and a member `tenant`, which this class sets. Entries must outlive their stay.
template <class Entry, class Before>
class ActiveQueue {
 public:
  // `order` may be null; it must outlive its use. Both must outlive this object.
  ActiveQueue(Before before, const Clock& clock, framework::TenantOrder* order)
      : before_(before), clock_(clock), all_(before), order_(order) {
    if (order_ != nullptr) order_->Start();
  }

  void Insert(Entry& entry) {
    if (order_ == nullptr) {
      all_.insert(&entry);
      return;
    }
    entry.tenant = order_->TenantOf(*entry.state);
    auto& entries = tenants_.try_emplace(entry.tenant, before_).first->second;
    entries.insert(&entry);
    Report(entry.tenant, entries);
  }

  // Returns false if the entry was not found: its rank has changed since Insert.
  bool Erase(Entry& entry) {
    if (order_ == nullptr) return all_.erase(&entry) == 1;
    const auto tenant = tenants_.find(entry.tenant);
    if (tenant == tenants_.end() || tenant->second.erase(&entry) == 0) return false;
    Report(entry.tenant, tenant->second);
    if (tenant->second.empty()) tenants_.erase(tenant);
    return true;
  }

  // The entry to take next, null if there is none: the first one for which eligible(const Entry&) is true,
  // linear in the number of entries before it. With tenants, the first such entry of the first tenant that
  // has one.
  template <class Eligible>
  Entry* First(Eligible&& eligible) {
    if (order_ == nullptr) return FirstOf(all_, eligible);
    Entry* first = nullptr;
    order_->ForEachWaiting([&](framework::TenantId tenant) {
      first = FirstOf(tenants_.at(tenant), eligible);
      return first == nullptr;
    });
    return first;
  }
  Entry* First() {
    if (order_ == nullptr) return all_.empty() ? nullptr : *all_.begin();
    return First([](const Entry&) { return true; });
  }

  // An attempt for an entry of any place of the queue begins.
  void OnAttempt(const Entry& entry) {
    if (order_ != nullptr) order_->OnAttempt(*entry.state, clock_.Now());
  }

  // Number of entries before this one in the sequence that contains it, at most `limit`. Linear.
  std::size_t CountAhead(const Entry& wanted, std::size_t limit) const {
    std::size_t ahead = 0;
    for (const Entry* entry : order_ == nullptr ? all_ : tenants_.at(wanted.tenant)) {
      if (entry == &wanted || ahead == limit) break;
      ++ahead;
    }
    return ahead;
  }

  bool has_tenants() const { return order_ != nullptr; }
  // Linear in the number of tenants before the entry's.
  TenantPlace PlaceOf(const Entry& entry, std::size_t limit) const {
    TenantPlace place;
    place.own = order_->StateOf(entry.tenant);
    order_->ForEachWaiting([&](framework::TenantId tenant) {
      if (tenant == entry.tenant) return false;
      if (++place.tenants_before <= limit) place.before.push_back(order_->StateOf(tenant));
      return true;
    });
    return place;
  }

  // Calls change(), which may change the order of entries and returns the new order of tenants, and sorts all
  // entries again. Nothing is compared between the change and the removal of all entries.
  template <class Change>
  void Reorder(Change&& change) {
    std::vector<Entry*> entries(all_.begin(), all_.end());
    all_.clear();
    for (auto& [tenant, of_tenant] : tenants_) {
      entries.insert(entries.end(), of_tenant.begin(), of_tenant.end());
      of_tenant.clear();
      Report(tenant, of_tenant);
    }
    tenants_.clear();
    if (order_ != nullptr) order_->Stop();
    order_ = change();
    if (order_ != nullptr) order_->Start();
    for (Entry* entry : entries) Insert(*entry);
  }

  std::size_t size() const {
    std::size_t size = all_.size();
    for (const auto& [tenant, entries] : tenants_) size += entries.size();
    return size;
  }

 private:
  using Sorted = std::set<Entry*, Before>;

  template <class Eligible>
  static Entry* FirstOf(const Sorted& entries, Eligible&& eligible) {
    for (Entry* entry : entries) {
      if (eligible(std::as_const(*entry))) return entry;
    }
    return nullptr;
  }
  void Report(framework::TenantId tenant, const Sorted& entries) {
    order_->OnWaiting(tenant, entries.empty() ? nullptr : (*entries.begin())->state, entries.size(),
                      clock_.Now());
  }

  const Before before_;
  const Clock& clock_;
  Sorted all_;                                                 // without tenants
  boost::unordered_map<framework::TenantId, Sorted> tenants_;  // with waiting entries
  framework::TenantOrder* order_;                              // null: the plugin has no tenants
};

}  // namespace berth::queue
