// An object of any kind, for code that is compiled once and not for each kind.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "kubernetes/api/meta.hpp"

namespace berth::api {

// Shares the object, like a std::shared_ptr.
class AnyObject {
 public:
  AnyObject() = default;  // none
  // T is a kind of objects.hpp or external_groups.hpp. Null: none.
  template <class T>
  explicit AnyObject(std::shared_ptr<const T> object) {
    // The address of the metadata is that of the object.
    static_assert(std::is_standard_layout_v<T> && offsetof(T, metadata) == 0);
    const ObjectMeta* metadata = object == nullptr ? nullptr : &object->metadata;
    metadata_ = std::shared_ptr<const ObjectMeta>(std::move(object), metadata);
  }

  explicit operator bool() const { return metadata_ != nullptr; }
  // Only if there is an object.
  const ObjectMeta& metadata() const { return *metadata_; }
  // T must be the type that this was made of. Null: none.
  template <class T>
  std::shared_ptr<const T> As() const {
    return {metadata_, reinterpret_cast<const T*>(metadata_.get())};
  }

 private:
  std::shared_ptr<const ObjectMeta> metadata_;
};

}  // namespace berth::api
