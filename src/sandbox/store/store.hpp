// All objects, by resource and key, with the recent past of each resource.
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

// One write. Created: no before. Removed: no after; `removed` is the last state under the version of the
// removal.
struct Change {
  Version version = 0;
  ObjectPtr before;
  ObjectPtr after;
  ObjectPtr removed;

  const Object& subject() const { return after ? *after : *removed; }
};

// Told of every change right after it happened, in the order of versions. Must not write to the store from
// within: the observers behind it would see the two changes in the wrong order.
class StoreObserver {
 public:
  virtual ~StoreObserver() = default;
  virtual void OnChange(const ResourceType& type, const Change& change) = 0;
};

// Knows nothing of Kubernetes' rules; those are the API server's. One thread.
class Store {
 public:
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  // Keeps the last `window` changes of each resource for watches that come back and lists of the past.
  explicit Store(std::size_t window);

  Version version() const { return version_; }
  ObjectPtr Get(const ResourceType& type, std::string_view key) const;
  // In the order of keys.
  const Objects& All(const ResourceType& type) const { return tables_[type.index].objects; }

  // Creates or replaces the object the document names, under the next version.
  ObjectPtr Put(const ResourceType& type, json::object& document);
  // The last state under the version of the removal; the object must exist.
  ObjectPtr Remove(const ResourceType& type, std::string_view key);

  // The changes after `version`; nothing if they reach beyond the window.
  std::optional<std::vector<Change>> Since(const ResourceType& type, Version version) const;
  // True if the state at that version can still be shown.
  bool Remembers(const ResourceType& type, Version version) const;
  // Visits the objects whose keys begin with `prefix` and come after `after`, as they were at `version`
  // (which must be remembered), in the order of keys, until visit returns false.
  void ForEachAt(const ResourceType& type, Version version, std::string_view prefix, std::string_view after,
                 const std::function<bool(const ObjectPtr&)>& visit) const;

  // The observer must outlive the store or its last write.
  void Observe(StoreObserver& observer) { observers_.push_back(&observer); }

 private:
  struct Table {
    Objects objects;
    std::deque<Change> history;
    Version forgotten = 0;  // changes up to this version are no longer in the history
  };
  void Record(const ResourceType& type, Change change);

  std::size_t window_;
  Version version_ = 0;
  std::vector<Table> tables_;
  std::vector<StoreObserver*> observers_;
};

}  // namespace berth::sandbox
