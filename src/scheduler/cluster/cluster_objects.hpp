// What the scheduler knows of the cluster besides nodes and pods: a table per kind, for plugins to look
// things up in (kube-scheduler's listers and assume caches).
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

// Objects of one kind as the API server last showed them and, laid over that, as we assume them to be: a
// plugin that has decided to write an object shows it to itself and to others before the API server does.
// Visits go in the order of namespace and name. Pointers stay good as long as the caller holds them. One
// thread: the scheduler loop's.
template <class T>
class ObjectTable {
 public:
  using Ptr = std::shared_ptr<const T>;
  // Told after the table has changed: by the API server, by Assume or by Restore; `before` and `after` are
  // what FindAssumed answered and answers.
  using Listener = std::function<void(const ports::Change<T>&)>;

  // As the API server has it; null if there is none. `ns` is empty for kinds without namespaces.
  Ptr Find(std::string_view ns, std::string_view name) const {
    const Entry* entry = EntryOf(ns, name);
    return entry == nullptr ? nullptr : entry->seen;
  }
  // The assumed version if there is one.
  Ptr FindAssumed(std::string_view ns, std::string_view name) const {
    const Entry* entry = EntryOf(ns, name);
    return entry == nullptr ? nullptr : entry->latest();
  }
  // The same for kinds without namespaces.
  Ptr Find(std::string_view name) const { return Find("", name); }
  Ptr FindAssumed(std::string_view name) const { return FindAssumed("", name); }

  // visit(const Ptr&), as the API server has them.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(entry.seen);
  }
  template <class Visit>
  void ForEachIn(std::string_view ns, Visit&& visit) const {
    for (auto at = entries_.lower_bound(View{ns, ""}); at != entries_.end() && at->first.ns == ns; ++at)
      visit(at->second.seen);
  }
  // visit(const Ptr&), assumed versions where there are some.
  template <class Visit>
  void ForEachAssumed(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(entry.latest());
  }
  std::size_t size() const { return entries_.size(); }
  // Another number whenever anything in the table has changed.
  std::uint64_t version() const { return version_; }

  // Takes over what the API server said. An assumption lasts until a version other than the one it was made
  // on is seen.
  void Apply(const ports::Change<T>& change) {
    const T& object = change.after != nullptr ? *change.after : *change.before;
    const View key{object.metadata.ns, object.metadata.name};
    auto found = entries_.find(key);
    if (change.after == nullptr) {
      if (found == entries_.end()) return;
      const Ptr before = found->second.latest();
      entries_.erase(found);
      return Tell({before, nullptr});
    }
    if (found == entries_.end()) found = entries_.emplace(Key{key}, Entry{}).first;
    Entry& entry = found->second;
    const Ptr before = entry.latest();
    const bool same_version =
        entry.seen != nullptr && entry.seen->metadata.uid == change.after->metadata.uid &&
        entry.seen->metadata.resource_version == change.after->metadata.resource_version;
    entry.seen = change.after;
    if (!same_version) entry.assumed = nullptr;
    Tell({before, entry.latest()});
  }
  // Shows `object` instead of what the API server has. False if that is not the version it was made from.
  bool Assume(Ptr object) {
    const auto found = entries_.find(View{object->metadata.ns, object->metadata.name});
    if (found == entries_.end()) return false;
    Entry& entry = found->second;
    if (entry.seen->metadata.resource_version != object->metadata.resource_version) return false;
    const Ptr before = entry.latest();
    entry.assumed = std::move(object);
    Tell({before, entry.assumed});
    return true;
  }
  // Forgets the assumption, if there is one.
  void Restore(std::string_view ns, std::string_view name) {
    const auto found = entries_.find(View{ns, name});
    if (found == entries_.end() || found->second.assumed == nullptr) return;
    const Ptr before = std::exchange(found->second.assumed, nullptr);
    Tell({before, found->second.seen});
  }

  // For as long as the table lives.
  void Listen(Listener listener) { listeners_.push_back(std::move(listener)); }

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
  const Entry* EntryOf(std::string_view ns, std::string_view name) const {
    const auto found = entries_.find(View{ns, name});
    return found == entries_.end() ? nullptr : &found->second;
  }
  void Tell(const ports::Change<T>& change) {
    ++version_;
    for (const Listener& listener : listeners_) listener(change);
  }

  std::map<Key, Entry, Before> entries_;
  std::vector<Listener> listeners_;
  std::uint64_t version_ = 0;
};

// One table per kind that is not a pod or a node.
class ClusterObjects {
 public:
  template <class T>
  ObjectTable<T>& Of() {
    return std::get<ObjectTable<T>>(tables_);
  }
  template <class T>
  const ObjectTable<T>& Of() const {
    return std::get<ObjectTable<T>>(tables_);
  }
  template <class T>
  void Apply(const ports::Change<T>& change) {
    Of<T>().Apply(change);
  }

 private:
  template <class List>
  struct TablesOf;
  template <class... T>
  struct TablesOf<api::KindList<T...>> {
    using type = std::tuple<ObjectTable<T>...>;
  };
  TablesOf<api::AllKinds>::type tables_;  // those of pods and nodes stay empty: the node table has them
};

}  // namespace berth::cluster
