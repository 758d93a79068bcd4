#include "kubernetes/client/object_store.hpp"

#include <algorithm>
#include <tuple>

namespace berth::client {

void ObjectStore::Put(const api::AnyObject& object) {
  const auto found = objects_.find(ByKey::Key(object));
  if (found == objects_.end()) {
    objects_.insert(object);
    return emit_({}, object);
  }
  const api::AnyObject before =
      *found;  // NOLINT(performance-unnecessary-copy-initialization): the entry is erased
  if (before.metadata().uid == object.metadata().uid) {
    if (before.metadata().resource_version == object.metadata().resource_version) return;
    objects_.erase(found);
    objects_.insert(object);
    return emit_(before, object);
  }
  objects_.erase(found);
  emit_(before, {});
  objects_.insert(object);
  emit_({}, object);
}

void ObjectStore::Remove(std::string_view key) {
  const auto found = objects_.find(ObjectKey::Split(key));
  if (found == objects_.end()) return;
  const api::AnyObject before =
      *found;  // NOLINT(performance-unnecessary-copy-initialization): the entry is erased
  objects_.erase(found);
  emit_(before, {});
}

void ObjectStore::Replace(const std::vector<api::AnyObject>& objects,
                          const std::vector<std::string>& unreadable) {
  if (objects_.empty()) {  // the first list is the longest; nothing can be deleted
    for (const api::AnyObject& object : objects) Put(object);
    return;
  }
  boost::unordered_flat_set<ObjectKey, ByKey, ByKey> present;
  present.reserve(objects.size() + unreadable.size());
  for (const api::AnyObject& object : objects) present.insert(ByKey::Key(object));
  for (const std::string& key : unreadable) present.insert(ObjectKey::Split(key));
  std::vector<api::AnyObject> gone;
  for (const api::AnyObject& object : objects_) {
    if (!present.contains(ByKey::Key(object))) gone.push_back(object);
  }
  // The table's order differs between processes.
  std::ranges::sort(gone, [](const api::AnyObject& a, const api::AnyObject& b) {
    return std::tie(a.metadata().ns, a.metadata().name) < std::tie(b.metadata().ns, b.metadata().name);
  });
  for (const api::AnyObject& object : objects) Put(object);
  for (const api::AnyObject& object : gone) Remove(object.metadata().Key());
}

const api::ObjectMeta* ObjectStore::Find(ObjectKey key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->metadata();
}

}  // namespace berth::client
