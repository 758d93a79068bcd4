// Pools that share equal objects as long as they are in use.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/expired_entry_purger.hpp"
#include "base/seeded_hash.hpp"

namespace berth {

// Weak references to objects by key. Unlike an Interner, it purges entries that are no longer in use from
// time to time, so its size stays proportional to what is in use. One thread adds; objects may be released on
// any thread.
template <class Key, class T, class Hash>
class HeldObjects {
 public:
  using Ptr = std::shared_ptr<const T>;

  // Null if there is no such object, or it is no longer in use.
  Ptr Find(const Key& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.lock();
  }
  // `bytes`: about the memory that the entry takes.
  void Put(Key key, const Ptr& object, std::size_t bytes) {
    objects_.insert_or_assign(std::move(key), object);
    sweeper_.Grown(objects_, bytes, [](const auto& entry) { return entry.second.expired(); });
  }
  // Number of entries, including some that are no longer in use.
  std::size_t size() const { return objects_.size(); }

 private:
  boost::unordered_flat_map<Key, std::weak_ptr<const T>, Hash> objects_;
  ExpiredEntryPurger sweeper_;
};

// A pool of objects that are completely described by a text.
template <class T>
class SharedPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object with this `key`, a text that describes it completely; else the result of make(), which may use
  // this pool, too.
  template <class Make>
  Ptr Get(std::string key, Make&& make) {
    if (Ptr known = objects_.Find(key)) return known;
    Ptr made = std::make_shared<const T>(make());
    const std::size_t bytes = key.size() + sizeof(T);
    objects_.Put(std::move(key), made, bytes);
    return made;
  }
  std::size_t size() const { return objects_.size(); }

 private:
  HeldObjects<std::string, T, SeededHash> objects_;
};

// The same for objects that are found by a hash and then compared, where a text key would be long. Two
// different objects with the same hash are not shared.
template <class T>
class WeakInternPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object with that hash if like(object) is true, else the result of make(), which may use this pool,
  // too.
  template <class Like, class Make>
  Ptr Get(std::size_t hash, Like&& like, Make&& make) {
    Ptr known = objects_.Find(hash);
    if (known && like(*known)) return known;
    Ptr made = std::make_shared<const T>(make());
    if (!known) objects_.Put(hash, made, sizeof(T));
    return made;
  }

 private:
  HeldObjects<std::size_t, T, boost::hash<std::size_t>> objects_;
};

}  // namespace berth
