// All objects, by resource and key, with the recent history of each resource.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/store/object.hpp"

namespace berth::sandbox {

// One write. `before` is null after a creation, `after` is null after a removal; `removed` is the last state
// with the version of the removal.
struct Change {
  Version version = 0;
  ObjectPtr before;
  ObjectPtr after;
  ObjectPtr removed;

  const Object& subject() const { return after ? *after : *removed; }
};

// Called after every change, in the order of versions. Must not write to the store from the callback: later
// observers would receive the two changes in the wrong order. An exception of an observer is printed; the
// write and the other observers are not affected.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void OnChange(const ResourceType& type, const Change& change) = 0;
};

// Does not implement Kubernetes' rules; the API server does. One thread.
class Store {
 public:
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  // Keeps the last `window` changes of each resource, for resumed watches and lists of past versions.
  explicit Store(std::size_t window);

  Version version() const { return version_; }
  ObjectPtr Get(const ResourceType& type, std::string_view key) const;
  // Ordered by key.
  const Objects& All(const ResourceType& type) const { return tables_[type.index].objects; }

  // Creates the object of the document or replaces it, under the next version.
  ObjectPtr Put(const ResourceType& type, json::object& document);
  // Returns the last state with the version of the removal. The object must exist.
  ObjectPtr Remove(const ResourceType& type, std::string_view key);

  // The changes after `version`; nullopt if the window does not cover all of them.
  std::optional<std::vector<Change>> Since(const ResourceType& type, Version version) const;
  // True if the state at that version is still available.
  bool HasVersion(const ResourceType& type, Version version) const;
  // Forgets all changes up to now, as a compaction of etcd does: watches can resume from the current version
  // only.
  void Compact();
  // Visits the objects as of `version` (which must be available) whose keys begin with `prefix` and come
  // after `after`, ordered by key, until visit returns false.
  void ForEachAt(const ResourceType& type, Version version, std::string_view prefix, std::string_view after,
                 const std::function<bool(const ObjectPtr&)>& visit) const;

  // The observer must outlive the store's last write.
  void Observe(StoreObserver& observer) { observers_.push_back(&observer); }

 private:
  struct Table {
    Objects objects;
    std::deque<Change> history;
    Version dropped_until = 0;  // changes up to this version have left the history
  };
  void Record(const ResourceType& type, Change change);

  std::size_t window_;
  Version version_ = 0;
  std::vector<Table> tables_;
  std::vector<StoreObserver*> observers_;
};

}  // namespace berth::sandbox
