// The last version of every object, as the changes of a cluster made it.
#pragma once

#include <memory>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/text_map.hpp"
#include "kubernetes/api/objects.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth::recording {

// Shares the objects. Memory is proportional to their number. One thread.
class LatestObjects {
 public:
  template <class T>
  using ByKey = TextMap<std::shared_ptr<const T>>;

  void Apply(const ports::ClusterChange& change) {
    std::visit(
        [&]<class T>(const ports::Change<T>& content) {
          auto& of_kind = std::get<ByKey<T>>(by_kind_);
          if (content.after == nullptr) {
            of_kind.erase(content.before->metadata.Key());
          } else {
            of_kind[content.after->metadata.Key()] = content.after;
          }
        },
        change);
  }

  template <class T>
  const ByKey<T>& Of() const {
    return std::get<ByKey<T>>(by_kind_);
  }
  // Null: there is none.
  template <class T>
  std::shared_ptr<const T> Find(std::string_view key) const {
    const auto found = Of<T>().find(key);
    return found == Of<T>().end() ? nullptr : found->second;
  }
  // Calls visit(const ByKey<T>&) for each kind.
  template <class Visit>
  void ForEachKind(Visit&& visit) const {
    std::apply([&](const auto&... of_kind) { (visit(of_kind), ...); }, by_kind_);
  }

 private:
  template <class Kinds>
  struct TupleOf;
  template <class... T>
  struct TupleOf<api::KindList<T...>> {
    using type = std::tuple<ByKey<T>...>;
  };

  TupleOf<api::AllKinds>::type by_kind_;
};

}  // namespace berth::recording
