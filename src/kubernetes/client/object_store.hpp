// The last known state of one kind of object; computes changes.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/seeded_hash.hpp"
#include "kubernetes/api/any_object.hpp"
#include "kubernetes/api/meta.hpp"

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
  static ObjectKey Key(const api::AnyObject& object) {
    return {object.metadata().ns, object.metadata().name};
  }
  static ObjectKey Key(const ObjectKey& key) { return key; }

  std::size_t operator()(const auto& x) const {
    const ObjectKey key = Key(x);
    return SeededHash()(key.ns, key.name);
  }
  bool operator()(const auto& a, const auto& b) const { return Key(a) == Key(b); }
};

// Turns deliveries into changes as informers do: a known resource version is no change; an object with the
// same name and another uid is a different object, so the old one is deleted and the new one added. All
// objects are of one kind. One thread.
class ObjectStore {
 public:
  // `before`: none if the object is new; `after`: none if it was deleted.
  using Emit = std::function<void(const api::AnyObject& before, const api::AnyObject& after)>;

  explicit ObjectStore(Emit emit) : emit_(std::move(emit)) {}

  void Put(const api::AnyObject& object);
  // By key only: the object in a DELETED event may be older than the stored one.
  void Remove(std::string_view key);
  // `objects` is the complete state, except for the objects under `unreadable` keys, which keep their last
  // known version.
  void Replace(const std::vector<api::AnyObject>& objects, const std::vector<std::string>& unreadable);

  std::size_t size() const { return objects_.size(); }
  // Null if there is none of that name. Valid until the store changes.
  const api::ObjectMeta* Find(ObjectKey key) const;
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const api::AnyObject& object : objects_) visit(object.metadata());
  }

 private:
  Emit emit_;
  boost::unordered_flat_set<api::AnyObject, ByKey, ByKey> objects_;
};

}  // namespace berth::client
