// Cluster objects other than nodes and pods: one table per kind, for lookups by plugins (kube-scheduler's
// listers and assume caches).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::cluster {

// Objects of one kind as received from the API server, overlaid with assumed versions: a plugin that is about
// to write an object makes the new version visible before the API server confirms it. Iteration is ordered by
// namespace and name. The shared pointers keep objects alive for the caller. Scheduler loop only.
template <class T>
class ObjectTable {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Called after the table has changed by Apply, Assume or Restore. `before` and `after` are the results of
  // FindAssumed before and after the change.
  using Listener = std::function<void(const ports::Change<T>&)>;

  // The version of the API server; null if there is none. `ns` is empty for cluster-scoped kinds.
  Ptr Find(std::string_view ns, std::string_view name) const {
    const Entry* entry = EntryOf(ns, name);
    return entry == nullptr ? nullptr : entry->seen;
  }
  // The assumed version if there is one, else the version of the API server.
  Ptr FindAssumed(std::string_view ns, std::string_view name) const {
    const Entry* entry = EntryOf(ns, name);
    return entry == nullptr ? nullptr : entry->latest();
  }
  // For cluster-scoped kinds.
  Ptr Find(std::string_view name) const { return Find("", name); }
  Ptr FindAssumed(std::string_view name) const { return FindAssumed("", name); }

  // visit(const Ptr&) with the versions of the API server.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(entry.seen);
  }
  template <class Visit>
  void ForEachIn(std::string_view ns, Visit&& visit) const {
    for (auto at = entries_.lower_bound(View{ns, ""}); at != entries_.end() && at->first.ns == ns; ++at)
      visit(at->second.seen);
  }
  // visit(const Ptr&) with assumed versions where they exist.
  template <class Visit>
  void ForEachAssumed(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(entry.latest());
  }
  // The same for at most `count` objects after this one; from the first one if `name` is empty.
  template <class Visit>
  void ForEachAfter(std::string_view ns, std::string_view name, std::size_t count, Visit&& visit) const {
    auto at = name.empty() ? entries_.begin() : entries_.upper_bound(View{ns, name});
    for (; at != entries_.end() && count > 0; ++at, --count) visit(at->second.latest());
  }
  std::size_t size() const { return entries_.size(); }
  std::size_t assumed_count() const { return assumed_count_; }  // objects with an assumed version
  // Changes whenever anything in the table changes.
  std::uint64_t version() const { return version_; }

  // Applies a change received from the API server. An assumed version is dropped when a resource version
  // other than its base arrives.
  void Apply(const ports::Change<T>& change) {
    const T& object = change.after != nullptr ? *change.after : *change.before;
    const View key{object.metadata.ns, object.metadata.name};
    auto found = entries_.find(key);
    if (change.after == nullptr) {
      if (found == entries_.end()) return;
      const Ptr before = found->second.latest();
      SetAssumed(found->second, nullptr);
      entries_.erase(found);
      return Notify({before, nullptr});
    }
    if (found == entries_.end()) found = entries_.emplace(Key{key}, Entry{}).first;
    Entry& entry = found->second;
    const Ptr before = entry.latest();
    const bool same_version =
        entry.seen != nullptr && entry.seen->metadata.uid == change.after->metadata.uid &&
        entry.seen->metadata.resource_version == change.after->metadata.resource_version;
    entry.seen = change.after;
    if (!same_version) SetAssumed(entry, nullptr);
    Notify({before, entry.latest()});
  }
  // Overlays the object with an assumed version. Returns false if `object` is not based on the current
  // version of the API server.
  bool Assume(Ptr object) {
    const auto found = entries_.find(View{object->metadata.ns, object->metadata.name});
    if (found == entries_.end()) return false;
    Entry& entry = found->second;
    if (entry.seen->metadata.resource_version != object->metadata.resource_version) return false;
    const Ptr before = entry.latest();
    SetAssumed(entry, std::move(object));
    Notify({before, entry.assumed});
    return true;
  }
  // Drops the assumed version, if there is one.
  void Restore(std::string_view ns, std::string_view name) {
    const auto found = entries_.find(View{ns, name});
    if (found == entries_.end() || found->second.assumed == nullptr) return;
    const Ptr before = SetAssumed(found->second, nullptr);
    Notify({before, found->second.seen});
  }

  // Adds a listener for the lifetime of the table.
  void Listen(Listener listener) { listeners_.push_back({self_, std::move(listener)}); }
  // Adds a listener that is removed when `owner` is destroyed.
  void ListenFor(std::weak_ptr<const void> owner, Listener listener) {
    listeners_.push_back({std::move(owner), std::move(listener)});
  }

 private:
  struct View {
    std::string_view ns, name;
  };
  struct Key {
    std::string ns, name;
    explicit Key(View view) : ns(view.ns), name(view.name) {}
    operator View() const { return {ns, name}; }
  };
  struct Before {
    using is_transparent = void;
    bool operator()(const View& a, const View& b) const {
      return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
    }
  };
  struct Entry {
    Ptr seen;
    Ptr assumed;
    const Ptr& latest() const { return assumed != nullptr ? assumed : seen; }
  };
  // Returns the assumed version until now; null: none.
  Ptr SetAssumed(Entry& entry, Ptr assumed) {
    assumed_count_ += std::size_t{assumed != nullptr};
    assumed_count_ -= std::size_t{entry.assumed != nullptr};
    return std::exchange(entry.assumed, std::move(assumed));
  }
  const Entry* EntryOf(std::string_view ns, std::string_view name) const {
    const auto found = entries_.find(View{ns, name});
    return found == entries_.end() ? nullptr : &found->second;
  }
  void Notify(const ports::Change<T>& change) {
    ++version_;
    std::erase_if(listeners_, [](const OwnedListener& listener) { return listener.owner.expired(); });
    for (const OwnedListener& listener : listeners_) listener.call(change);
  }

  std::map<Key, Entry, Before> entries_;
  std::size_t assumed_count_ = 0;
  struct OwnedListener {
    std::weak_ptr<const void> owner;
    Listener call;
  };
  const std::shared_ptr<const void> self_ = std::make_shared<const char>();
  std::vector<OwnedListener> listeners_;
  std::uint64_t version_ = 0;
};

// One table per kind of api::AllKinds except pods and nodes. The tables are instantiated in the .cpp file,
// since nearly every file of the scheduler includes this header and uses few of them.
class ClusterObjects {
 public:
  ClusterObjects();
  ~ClusterObjects();
  ClusterObjects(const ClusterObjects&) = delete;
  ClusterObjects& operator=(const ClusterObjects&) = delete;

  template <class T>
  ObjectTable<T>& Of();
  template <class T>
  const ObjectTable<T>& Of() const;
  template <class T>
  void Apply(const ports::Change<T>& change);

 private:
  struct Tables;
  const std::unique_ptr<Tables> tables_;  // those of pods and nodes stay empty, see NodeTable
};

}  // namespace berth::cluster
