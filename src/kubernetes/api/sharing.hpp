// What is alike in many objects is kept once; private to this module.
#pragma once

#include "kubernetes/api/objects.hpp"

#include <memory>

namespace berth::api {

// The pods of a workload differ in their names and little else, and so do the nodes of a group. Share lets an
// object's labels, containers, tolerations and so on be those of an earlier object, if they are equal. It
// remembers what is in use, and for a while what is not. One thread; the objects may go on any.
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
