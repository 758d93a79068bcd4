#include "scheduler/cluster/cluster_objects.hpp"

namespace berth::cluster {
namespace {

template <class Kinds>
struct TablesOf;
template <class... T>
struct TablesOf<api::KindList<T...>> {
  std::tuple<ObjectTable<T>...> tables;
};

}  // namespace

struct ClusterObjects::Tables : TablesOf<api::AllKinds> {};

ClusterObjects::ClusterObjects() : tables_(std::make_unique<Tables>()) {}
ClusterObjects::~ClusterObjects() = default;

template <class T>
ObjectTable<T>& ClusterObjects::Of() {
  return std::get<ObjectTable<T>>(tables_->tables);
}

template <class T>
const ObjectTable<T>& ClusterObjects::Of() const {
  return std::get<ObjectTable<T>>(std::as_const(*tables_).tables);
}

template <class T>
void ClusterObjects::Apply(const ports::Change<T>& change) {
  Of<T>().Apply(change);
}

// Instantiates the functions above for every kind.
template <class Kinds>
struct ForKinds;
template <class... T>
struct ForKinds<api::KindList<T...>> {
  using Objects = ClusterObjects;
  static constexpr std::tuple kWrite{static_cast<ObjectTable<T>& (Objects::*)()>(&Objects::Of<T>)...};
  static constexpr std::tuple kRead{
      static_cast<const ObjectTable<T>& (Objects::*)() const>(&Objects::Of<T>)...};
  static constexpr std::tuple kApply{&Objects::Apply<T>...};
};
template struct ForKinds<api::AllKinds>;

}  // namespace berth::cluster
