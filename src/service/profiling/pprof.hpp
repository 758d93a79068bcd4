// /debug/pprof: the parts that a program not written in Go can serve.
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

// profile (CPU, for `go tool pprof`), symbol, and an index of them. Other names are an unknown profile, as in
// Go: there is no Go heap, and there are no goroutines. Waits with `loop`'s timers and writes on a separate
// thread. One CPU profile at a time. Destroy on the loop or after it, before `endpoints` are used again.
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
