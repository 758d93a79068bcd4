#include "sandbox/store/store.hpp"

#include <algorithm>

#include "sandbox/store/guard.hpp"

namespace berth::sandbox {

Store::Store(std::size_t window) : window_(window), tables_(Resources().size()) {}

ObjectPtr Store::Get(const ResourceType& type, std::string_view key) const {
  const auto& objects = tables_[type.index].objects;
  const auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

ObjectPtr Store::Put(const ResourceType& type, json::object& document) {
  ObjectPtr object = MakeObject(type, document, ++version_);
  ObjectPtr& place = tables_[type.index].objects[object->key];
  ObjectPtr before = std::exchange(place, object);
  Record(type, {.version = version_, .before = std::move(before), .after = object, .removed = nullptr});
  return object;
}

ObjectPtr Store::Remove(const ResourceType& type, std::string_view key) {
  auto& objects = tables_[type.index].objects;
  const auto found = objects.find(key);
  ObjectPtr before = found->second;
  objects.erase(found);
  Document last = before->Parse();
  ObjectPtr removed = MakeObject(type, last.root(), ++version_);
  Record(type, {.version = version_, .before = std::move(before), .after = nullptr, .removed = removed});
  return removed;
}

void Store::Record(const ResourceType& type, Change change) {
  Table& table = tables_[type.index];
  table.history.push_back(change);
  while (table.history.size() > window_) {
    table.dropped_until = table.history.front().version;
    table.history.pop_front();
  }
  for (StoreObserver* observer : observers_)
    RunGuarded("a store observer's update", change.subject().key, [&] { observer->OnChange(type, change); });
}

void Store::Compact() {
  for (Table& table : tables_) {
    table.history.clear();
    table.dropped_until = version_;
  }
}

bool Store::HasVersion(const ResourceType& type, Version version) const {
  return version >= tables_[type.index].dropped_until;
}

std::optional<std::vector<Change>> Store::Since(const ResourceType& type, Version version) const {
  if (!HasVersion(type, version)) return std::nullopt;
  const auto& history = tables_[type.index].history;
  const auto first = std::ranges::upper_bound(history, version, {}, &Change::version);
  return std::vector<Change>(first, history.end());
}

void Store::ForEachAt(const ResourceType& type, Version version, std::string_view prefix,
                      std::string_view after, const std::function<bool(const ObjectPtr&)>& visit) const {
  const Table& table = tables_[type.index];
  // The objects before later changes; the oldest change wins. Null: the key did not exist.
  Objects past;
  for (auto change = table.history.rbegin(); change != table.history.rend() && change->version > version;
       ++change) {
    past[change->subject().key] = change->before;
  }
  const std::string_view start = std::max(prefix, after);
  auto now = table.objects.lower_bound(start);
  auto then = past.lower_bound(start);
  const auto in_range = [&](const auto& it, const Objects& map) {
    return it != map.end() && std::string_view(it->first).starts_with(prefix);
  };
  for (;;) {
    const bool has_now = in_range(now, table.objects);
    const bool has_then = in_range(then, past);
    if (!has_now && !has_then) return;
    const bool take_past = has_then && (!has_now || then->first <= now->first);
    if (take_past && has_now && then->first == now->first) ++now;
    const auto& [key, object] = take_past ? *then++ : *now++;
    if (object && key != after && !visit(object)) return;
  }
}

}  // namespace berth::sandbox
