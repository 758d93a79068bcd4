// Equal things as one object, for as long as anybody holds it.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "base/expired_entry_purger.hpp"

namespace berth {

// Objects by key that somebody else holds. Unlike an Interner it forgets: what no one holds any more is swept
// out now and then, so that it stays as small as what is in use. One thread makes; objects may be let go of
// on any thread.
template <class Key, class T>
class HeldObjects {
 public:
  using Ptr = std::shared_ptr<const T>;

  // Null if there is none, or nobody holds it any more.
  Ptr Find(const Key& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : found->second.lock();
  }
  void Put(Key key, const Ptr& object) {
    objects_.insert_or_assign(std::move(key), object);
    sweeper_.Grown(objects_, [](const auto& entry) { return entry.second.expired(); });
  }
  // Those in use, and some that are not.
  std::size_t size() const { return objects_.size(); }

 private:
  boost::unordered_flat_map<Key, std::weak_ptr<const T>> objects_;
  ExpiredEntryPurger sweeper_;
};

// Objects that a text says all about.
template <class T>
class SharedPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object known by `key`, a text that says all there is to say about it; else what make() returns, which
  // may use this pool, too.
  template <class Make>
  Ptr Get(std::string key, Make&& make) {
    if (Ptr known = objects_.Find(key)) return known;
    Ptr made = std::make_shared<const T>(make());
    objects_.Put(std::move(key), made);
    return made;
  }
  std::size_t size() const { return objects_.size(); }

 private:
  HeldObjects<std::string, T> objects_;
};

// The same for things that are known by a hash and compared, where a text would be long. Two different things
// of one hash are not shared.
template <class T>
class WeakInternPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object with that hash if like(object), else what make() returns, which may use this pool, too.
  template <class Like, class Make>
  Ptr Get(std::size_t hash, Like&& like, Make&& make) {
    Ptr known = objects_.Find(hash);
    if (known && like(*known)) return known;
    Ptr made = std::make_shared<const T>(make());
    if (!known) objects_.Put(hash, made);
    return made;
  }

 private:
  HeldObjects<std::size_t, T> objects_;
};

}  // namespace berth
