// A pool that shares equal objects as long as they are in use.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "base/expired_entry_purger.hpp"
#include "base/seeded_hash.hpp"

namespace berth {

// Immutable objects by key. The pool refers to them weakly: unlike an Interner, it purges entries that are no
// longer in use from time to time, so its size stays proportional to what is in use. `Key` is a text that
// describes an object completely, or, where that would be long, a std::size_t: a hash of the object, which
// must be seeded if others choose the content. One thread adds; objects may be released on any thread.
template <class T, class Key = std::string>
class WeakInternPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object with this key; else the result of make(), which may use this pool, too.
  template <class Make>
  Ptr Get(Key key, Make&& make)
    requires std::is_same_v<Key, std::string>
  {
    if (Ptr known = Find(key)) return known;
    Ptr made = std::make_shared<const T>(make());
    Put(std::move(key), made);
    return made;
  }
  // The object with this hash if is_equal(object), else the result of make(). Of different objects with one
  // hash only the first is shared.
  template <class IsEqual, class Make>
  Ptr Get(Key hash, IsEqual&& is_equal, Make&& make)
    requires std::is_same_v<Key, std::size_t>
  {
    Ptr known = Find(hash);
    if (known && is_equal(*known)) return known;
    Ptr made = std::make_shared<const T>(make());
    if (!known) Put(hash, made);
    return made;
  }
  // Number of entries, including some that are no longer in use.
  std::size_t size() const { return objects_.size(); }

 private:
  using Hash = std::conditional_t<std::is_same_v<Key, std::string>, SeededHash, boost::hash<std::size_t>>;

  Ptr Find(const Key& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.lock();
  }
  void Put(Key key, const Ptr& object) {
    std::size_t bytes = sizeof(T);
    if constexpr (std::is_same_v<Key, std::string>) bytes += key.size();
    objects_.insert_or_assign(std::move(key), object);
    purger_.Grown(objects_, bytes, [](const auto& entry) { return entry.second.expired(); });
  }

  boost::unordered_flat_map<Key, std::weak_ptr<const T>, Hash> objects_;
  ExpiredEntryPurger purger_;
};

}  // namespace berth
