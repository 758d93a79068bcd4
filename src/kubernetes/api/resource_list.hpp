// Resource amounts by resource name.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "kubernetes/api/cow_ptr.hpp"
#include "kubernetes/api/quantity.hpp"

namespace berth::api {

// Sorted by name, names unique, with the required part of a map's interface. Copies share the entries (see
// CowPtr); insertion and removal move the entries behind it, so names in ascending order are inserted
// fastest.
class ResourceList {
 public:
  using value_type = std::pair<std::string, Quantity>;
  using iterator = value_type*;
  using const_iterator = const value_type*;

  ResourceList() = default;
  ResourceList(std::initializer_list<value_type> entries) {
    for (const auto& [name, amount] : entries) try_emplace(name, amount);
  }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  iterator begin() { return entries_.begin(); }
  iterator end() { return entries_.end(); }
  const_iterator find(std::string_view name) const {
    const const_iterator place = LowerBound(name);
    return place != end() && place->first == name ? place : end();
  }
  iterator find(std::string_view name) {
    iterator const first = begin();  // begin() makes the entries unshared
    return first + (std::as_const(*this).find(name) - std::as_const(*this).begin());
  }
  bool contains(std::string_view name) const { return find(name) != end(); }
  const Quantity& at(std::string_view name) const {
    const const_iterator found = find(name);
    if (found == end()) throw std::out_of_range("no such resource: " + std::string(name));
    return found->second;
  }
  Quantity& operator[](std::string_view name) { return try_emplace(name, Quantity()).first->second; }
  std::pair<iterator, bool> try_emplace(std::string_view name, const Quantity& amount) {
    const const_iterator place = LowerBound(name);
    const auto index = place - std::as_const(*this).begin();
    if (place != std::as_const(*this).end() && place->first == name) return {begin() + index, false};
    return {entries_.insert(place, value_type(std::string(name), amount)), true};
  }
  void insert_or_assign(std::string_view name, const Quantity& amount) { (*this)[name] = amount; }
  std::size_t erase(std::string_view name) {
    const const_iterator found = std::as_const(*this).find(name);
    if (found == std::as_const(*this).end()) return 0;
    entries_.erase(found);
    return 1;
  }
  void clear() { entries_.clear(); }
  void reserve(std::size_t count) { entries_.reserve(count); }
  // See CowPtr.
  const void* identity() const { return entries_.identity(); }
  bool unshared() const { return entries_.unshared(); }
  friend bool operator==(const ResourceList&, const ResourceList&) = default;

 private:
  const_iterator LowerBound(std::string_view name) const {
    // API servers send names in this order.
    if (!empty() && std::prev(end())->first < name) return end();
    return std::ranges::lower_bound(begin(), end(), name, {}, &value_type::first);
  }

  CowList<value_type> entries_;
};

}  // namespace berth::api
