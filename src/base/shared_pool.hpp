// Equal things as one object, for as long as anybody holds it.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <utility>

namespace berth {

// Unlike an Interner it forgets: what no one holds any more is swept out now and then, so that it stays as
// small as what is in use. One thread makes; objects may be let go of on any thread.
template <class T>
class SharedPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object known by `key`, a text that says all there is to say about it; else what make() returns.
  template <class Make>
  Ptr Get(std::string key, Make&& make) {
    const auto [entry, added] = objects_.try_emplace(std::move(key));
    if (!added) {
      if (Ptr known = entry->second.lock()) return known;
    }
    Ptr made = std::make_shared<const T>(make());
    entry->second = made;
    if (objects_.size() > sweep_at_) Sweep();
    return made;
  }

  // Those in use, and some that are not.
  std::size_t size() const { return objects_.size(); }

 private:
  static constexpr std::size_t kSweepMin = 1024;

  void Sweep() {
    boost::unordered::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max(kSweepMin, 2 * objects_.size());
  }

  boost::unordered_flat_map<std::string, std::weak_ptr<const T>> objects_;
  std::size_t sweep_at_ = kSweepMin;
};

// The same for things that are known by a hash and compared, where a text would be long. Two different things
// of one hash are not shared.
template <class T>
class LikenessPool {
 public:
  using Ptr = std::shared_ptr<const T>;

  // The object with that hash if like(object), else what make() returns.
  template <class Like, class Make>
  Ptr Get(std::size_t hash, Like&& like, Make&& make) {
    const auto [entry, added] = objects_.try_emplace(hash);
    if (!added) {
      if (Ptr known = entry->second.lock()) return like(*known) ? known : std::make_shared<const T>(make());
    }
    entry->second.reset();
    Ptr made = std::make_shared<const T>(make());  // which may use this pool, too
    objects_[hash] = made;
    if (objects_.size() > sweep_at_) Sweep();
    return made;
  }

  // Those in use, and some that are not.
  std::size_t size() const { return objects_.size(); }

 private:
  static constexpr std::size_t kSweepMin = 1024;

  void Sweep() {
    boost::unordered::erase_if(objects_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max(kSweepMin, 2 * objects_.size());
  }

  boost::unordered_flat_map<std::size_t, std::weak_ptr<const T>> objects_;
  std::size_t sweep_at_ = kSweepMin;
};

}  // namespace berth
