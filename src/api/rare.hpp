// Members that few objects have: while absent they cost one pointer.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace berth::api {

// An optional value in eight bytes; copies are deep.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) : value_(std::make_unique<T>(std::move(value))) {}  // implicit, as std::optional's
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(Rare other) noexcept {
    value_ = std::move(other.value_);
    return *this;
  }
  ~Rare() = default;

  T& emplace() {
    value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }
  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  friend bool operator==(const Rare& a, const Rare& b) {
    return a.value_ && b.value_ ? *a.value_ == *b.value_ : a.value_ == b.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

// A list in eight bytes; absent and empty are the same.
template <class T>
class RareList {
 public:
  RareList() = default;
  RareList(std::initializer_list<T> items) {
    if (items.size() > 0) items_ = std::vector<T>(items);
  }
  bool empty() const { return size() == 0; }
  std::size_t size() const { return items_ ? items_->size() : 0; }
  const T* begin() const { return items_ ? items_->data() : nullptr; }
  const T* end() const { return begin() + size(); }
  T* begin() { return items_ ? items_->data() : nullptr; }
  T* end() { return begin() + size(); }
  const T& operator[](std::size_t i) const { return (*items_)[i]; }
  const T& at(std::size_t i) const { return All().at(i); }
  T& emplace_back() { return All().emplace_back(); }
  void push_back(T item) { All().push_back(std::move(item)); }
  void clear() { items_.reset(); }
  friend bool operator==(const RareList& a, const RareList& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::vector<T>& All() {
    if (!items_) items_.emplace();
    return *items_;
  }
  const std::vector<T>& All() const {
    static const std::vector<T> kNone;
    return items_ ? *items_ : kNone;
  }

  Rare<std::vector<T>> items_;
};

}  // namespace berth::api
