// Shares equal parts of objects; private to this module.
#pragma once

#include "kubernetes/api/objects.hpp"

#include <memory>

namespace berth::api {

// Pods of a workload differ in their names and little else, and so do the nodes of a group. Share replaces an
// object's labels, containers, tolerations and so on by those of an earlier object if they are equal. The
// pools hold what is in use, and unused values for a while. One thread; the objects may be used on any
// thread.
class Sharing {
 public:
  Sharing();
  ~Sharing();
  void Share(Pod& pod);
  void Share(Node& node);
  template <class T>
  void Share(T& object) {  // other kinds are few
    ShareMeta(object.metadata);
  }

 private:
  struct Pools;
  void ShareMeta(ObjectMeta& meta);
  std::unique_ptr<Pools> pools_;
};

}  // namespace berth::api
