// The last known state of one kind of object; computes changes.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/seeded_hash.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::client {

// "ns/name" or "name", split into its two parts.
struct ObjectKey {
  std::string_view ns, name;
  static ObjectKey Split(std::string_view key) {
    const auto slash = key.find('/');
    if (slash == key.npos) return {{}, key};
    return {key.substr(0, slash), key.substr(slash + 1)};
  }
  friend bool operator==(const ObjectKey&, const ObjectKey&) = default;
};

// Hashes objects by the names they contain, which saves a second copy of every name.
struct ByKey {
  using is_transparent = void;
  template <class T>
  static ObjectKey Key(const std::shared_ptr<const T>& object) {
    return {object->metadata.ns, object->metadata.name};
  }
  static ObjectKey Key(const ObjectKey& key) { return key; }

  std::size_t operator()(const auto& x) const {
    const ObjectKey key = Key(x);
    return SeededHash()(key.ns, key.name);
  }
  bool operator()(const auto& a, const auto& b) const { return Key(a) == Key(b); }
};

// Turns deliveries into changes as informers do: a known resource version is no change; an object with the
// same name and another uid is a different object, so the old one is deleted and the new one added. One
// thread.
template <class T>
class ObjectStore {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Emit = std::function<void(ports::Change<T>)>;

  explicit ObjectStore(Emit emit) : emit_(std::move(emit)) {}

  void Put(const Ptr& object) {
    const auto found = objects_.find(ByKey::Key(object));
    if (found == objects_.end()) {
      objects_.insert(object);
      return emit_({nullptr, object});
    }
    const Ptr before = *found;  // NOLINT(performance-unnecessary-copy-initialization): the entry is erased
    if (before->metadata.uid == object->metadata.uid) {
      if (before->metadata.resource_version == object->metadata.resource_version) return;
      objects_.erase(found);
      objects_.insert(object);
      return emit_({before, object});
    }
    objects_.erase(found);
    emit_({before, nullptr});
    objects_.insert(object);
    emit_({nullptr, object});
  }

  // By key only: the object in a DELETED event may be older than the stored one.
  void Remove(std::string_view key) {
    const auto found = objects_.find(ObjectKey::Split(key));
    if (found == objects_.end()) return;
    const Ptr before = *found;  // NOLINT(performance-unnecessary-copy-initialization): the entry is erased
    objects_.erase(found);
    emit_({before, nullptr});
  }

  // `objects` is the complete state, except for the objects under `unreadable` keys, which keep their last
  // known version.
  void Replace(const std::vector<Ptr>& objects, const std::vector<std::string>& unreadable) {
    if (objects_.empty()) {  // the first list is the longest; nothing can be deleted
      for (const Ptr& object : objects) Put(object);
      return;
    }
    boost::unordered_flat_set<ObjectKey, ByKey, ByKey> present;
    present.reserve(objects.size() + unreadable.size());
    for (const Ptr& object : objects) present.insert(ByKey::Key(object));
    for (const std::string& key : unreadable) present.insert(ObjectKey::Split(key));
    std::vector<Ptr> gone;
    for (const Ptr& object : objects_) {
      if (!present.contains(ByKey::Key(object))) gone.push_back(object);
    }
    // The table's order differs between processes.
    std::ranges::sort(gone, [](const Ptr& a, const Ptr& b) {
      return std::tie(a->metadata.ns, a->metadata.name) < std::tie(b->metadata.ns, b->metadata.name);
    });
    for (const Ptr& object : objects) Put(object);
    for (const Ptr& object : gone) Remove(object->metadata.Key());
  }

  std::size_t size() const { return objects_.size(); }
  // Null if there is none of that name.
  const T* Find(ObjectKey key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->get();
  }
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const Ptr& object : objects_) visit(*object);
  }

 private:
  Emit emit_;
  boost::unordered_flat_set<Ptr, ByKey, ByKey> objects_;
};

}  // namespace berth::client
