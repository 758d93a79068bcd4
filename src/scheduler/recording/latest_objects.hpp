// The last version of every object, as the changes of a cluster made it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>
#include <type_traits>
#include <variant>

#include "base/text_map.hpp"
#include "kubernetes/api/any_object.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::recording {

// Shares the objects. Memory is proportional to their number. One thread.
class LatestObjects {
 public:
  using ByKey = TextMap<api::AnyObject>;  // of one kind

  void Apply(const ports::ClusterChange& change);

  template <class T>
  const ByKey& Of() const {
    return by_kind_[IndexIn<T>(api::AllKinds())];
  }
  // Null: there is none.
  template <class T>
  std::shared_ptr<const T> Find(std::string_view key) const {
    const auto found = Of<T>().find(key);
    return found == Of<T>().end() ? nullptr : found->second.template As<T>();
  }
  // Calls visit.operator()<T>(const ByKey&) for each kind T, in the order of api::AllKinds.
  template <class Visit>
  void ForEachKind(Visit&& visit) const {
    api::AllKinds::ForEach([&]<class T>() { visit.template operator()<T>(Of<T>()); });
  }

 private:
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
