// Copy-on-write members. An absent value costs one pointer; copies share a present one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace berth::api {

// An optional value in eight bytes. Copies share it until one of them is written to, so that thousands of
// pods can share one list of containers. Access through a const object is a read; any other access counts as
// a write and makes an own copy if the value is shared. Reading on several threads is safe, as with any
// value.
template <class T>
class CowPtr {
 public:
  CowPtr() = default;
  CowPtr(T value) : value_(new Counted{std::move(value)}) {}  // implicit, as in std::optional
  CowPtr(const CowPtr& other) noexcept : value_(other.value_) {
    if (value_ != nullptr) value_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  CowPtr(CowPtr&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  CowPtr& operator=(CowPtr other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~CowPtr() { reset(); }

  T& emplace() {
    reset();
    value_ = new Counted{};
    return value_->value;
  }
  void reset() {
    Counted* const old = std::exchange(value_, nullptr);
    if (old != nullptr && old->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete old;
  }
  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return Own(); }
  const T& operator*() const { return value_->value; }
  T* operator->() { return &Own(); }
  const T* operator->() const { return &value_->value; }
  // Null if absent; otherwise equal pointers mean equal values while both copies exist.
  const T* identity() const { return value_ == nullptr ? nullptr : &value_->value; }
  // The number that `work_out` computes from the value, 0 if absent; computed once for all copies that share
  // it. Each type of value may have only one such number.
  template <class WorkOut>
  std::uint32_t Memo(WorkOut&& work_out) const {
    if (value_ == nullptr) return 0;
    std::uint32_t memo = value_->memo.load(std::memory_order_relaxed);
    if (memo == 0) {
      memo = static_cast<std::uint32_t>(work_out(std::as_const(value_->value)));
      value_->memo.store(memo, std::memory_order_relaxed);
    }
    return memo;
  }
  // This is the only copy that holds the value.
  bool unshared() const { return value_ != nullptr && value_->holders.load(std::memory_order_acquire) == 1; }
  friend bool operator==(const CowPtr& a, const CowPtr& b) {
    if (a.value_ == b.value_) return true;
    return a.value_ != nullptr && b.value_ != nullptr && a.value_->value == b.value_->value;
  }

 private:
  struct Counted {
    T value{};
    std::atomic<std::uint32_t> holders = 1;
    std::atomic<std::uint32_t> memo = 0;  // 0: not computed since the last write
  };
  T& Own() {
    if (!unshared()) *this = CowPtr(std::as_const(value_->value));
    value_->memo.store(0, std::memory_order_relaxed);
    return value_->value;
  }

  Counted* value_ = nullptr;
};

// A list in eight bytes; absent and empty are equivalent. Copies share it as in CowPtr.
template <class T>
class CowList {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  CowList() = default;
  CowList(std::initializer_list<T> items) {
    if (items.size() > 0) items_ = std::vector<T>(items);
  }
  CowList(std::vector<T> items) {  // implicit conversion
    if (!items.empty()) items_ = std::move(items);
  }
  operator const std::vector<T>&() const { return All(); }

  bool empty() const { return size() == 0; }
  std::size_t size() const { return items_ ? items_->size() : 0; }
  const T* data() const { return items_ ? items_->data() : nullptr; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  T* begin() { return items_ ? items_->data() : nullptr; }
  T* end() { return begin() + size(); }
  const T& operator[](std::size_t i) const { return (*items_)[i]; }
  T& operator[](std::size_t i) { return (*items_)[i]; }
  const T& at(std::size_t i) const { return All().at(i); }
  T& at(std::size_t i) { return Own().at(i); }
  const T& front() const { return (*items_)[0]; }
  T& front() { return (*items_)[0]; }
  const T& back() const { return items_->back(); }
  T& back() { return items_->back(); }
  template <class... Arguments>
  T& emplace_back(Arguments&&... arguments) {
    return Own().emplace_back(std::forward<Arguments>(arguments)...);
  }
  void push_back(T item) { Own().push_back(std::move(item)); }
  void pop_back() { items_->pop_back(); }
  T* insert(const T* place, T item) {
    const auto index = place - std::as_const(*this).begin();
    Own().insert(items_->begin() + index, std::move(item));
    return begin() + index;
  }
  T* erase(const T* place) { return erase(place, place + 1); }
  T* erase(const T* first, const T* last) {
    const auto index = first - std::as_const(*this).begin();
    const auto count = last - first;
    if (count > 0) items_->erase(items_->begin() + index, items_->begin() + index + count);
    return begin() + index;
  }
  void reserve(std::size_t count) {
    if (count > 0) Own().reserve(count);
  }
  void resize(std::size_t count) { Own().resize(count); }
  void clear() { items_.reset(); }
  // See CowPtr.
  const std::vector<T>* identity() const { return items_.identity(); }
  template <class WorkOut>
  std::uint32_t Memo(WorkOut&& work_out) const {
    return items_.Memo(std::forward<WorkOut>(work_out));
  }
  bool unshared() const { return items_.unshared(); }
  friend bool operator==(const CowList& a, const CowList& b) {
    return a.identity() == b.identity() ||
           (a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()));
  }

 private:
  std::vector<T>& Own() {
    if (!items_) items_.emplace();
    return *items_;
  }
  const std::vector<T>& All() const {
    static const std::vector<T> kNone;
    return items_ ? *items_ : kNone;
  }

  CowPtr<std::vector<T>> items_;
};

}  // namespace berth::api
