// The last version of every object, as the changes of a cluster made it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/text_map.hpp"
#include "kubernetes/api/any_object.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::recording {

// Shares the objects. Memory is proportional to their number. One thread.
class LatestObjects {
 public:
  void Apply(const ports::ClusterChange& change);

  // Null: there is none.
  template <class T>
  std::shared_ptr<const T> Find(std::string_view key) const {
    const auto found = Of<T>().find(key);
    return found == Of<T>().end() ? nullptr : found->second.template As<T>();
  }
  // Calls visit(const std::shared_ptr<const T>&) for the objects of one kind, sorted by key.
  template <class T, class Visit>
  void ForEach(Visit&& visit) const {
    for (const api::AnyObject* object : Sorted(Of<T>())) visit(object->template As<T>());
  }

 private:
  using ByKey = TextMap<api::AnyObject>;  // of one kind

  template <class T>
  const ByKey& Of() const {
    return by_kind_[IndexIn<T>(api::AllKinds())];
  }
  static std::vector<const api::AnyObject*> Sorted(const ByKey& objects);
  // The order of the alternatives of ports::ClusterChange.
  template <class T, class... Kind>
  static constexpr std::size_t IndexIn(api::KindList<Kind...>) {
    std::size_t index = 0;
    (void)((std::is_same_v<T, Kind> || (++index, false)) || ...);
    return index;
  }

  std::array<ByKey, std::variant_size_v<ports::ClusterChange>> by_kind_;
};

}  // namespace berth::recording
