// The objects of files, by kind.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/api/objects.hpp"

namespace berth::api {

// All objects that a scheduler would watch, from files written by `kubectl get -o json` or by hand. Defaults
// are filled in; of two objects with the same key the later one wins. One thread.
class Dump {
 public:
  template <class T>
  using Objects = std::map<std::string, std::shared_ptr<const T>>;  // by metadata.Key()

  explicit Dump(RetainedFields retained = {}) : decoder_(std::move(retained)) {}

  // Adds an object; ignores kinds that no scheduler reads. Groups of other projects, and Jobs, become
  // PodGroups with qualified names (external_groups.hpp). Fails if the object is invalid or has no name, and
  // for an ElasticQuota if the one of another project has its key.
  Expected<void> Add(const Document& document);

  template <class T>
  const Objects<T>& Of() const {
    return std::get<Objects<T>>(objects_);
  }

 private:
  template <class T>
  Expected<void> AddAs(const Document& document);
  template <class T>
  Expected<void> AddGroup(std::string_view json);
  template <class List>
  struct TupleOf;
  template <class... T>
  struct TupleOf<KindList<T...>> {
    using type = std::tuple<Objects<T>...>;
  };

  // Remembers the group of the quota with this key.
  Expected<void> CheckQuotaGroup(const std::string& key, std::string_view group);

  Decoder decoder_;
  std::map<std::string, std::string> quota_groups_;  // of ElasticQuotas with an apiVersion, by key
  TupleOf<AllKinds>::type objects_;
};

}  // namespace berth::api
