// /debug/pprof: what of it a program that is not written in Go can honestly serve.
#pragma once

#include <memory>

namespace berth {
class Clock;
}
namespace berth::http {
class Loop;
}

namespace berth::service {

class Endpoints;

// profile (CPU, for `go tool pprof`) and symbol; an index that names them; anything else is an unknown
// profile, as it is in Go: there is no heap of Go's, and there are no goroutines. Waiting is done by `loop`'s
// timers, writing on a thread of our own. One CPU profile at a time. Destroyed on the loop or after it,
// before `endpoints` are asked again.
class Pprof {
 public:
  Pprof(Endpoints& endpoints, http::Loop& loop, const Clock& clock);
  ~Pprof();
  Pprof(const Pprof&) = delete;
  Pprof& operator=(const Pprof&) = delete;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::service
