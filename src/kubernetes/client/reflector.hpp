// Keeps a copy of one kind of object in step with the API server, by list and watch.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/encoding.hpp"
#include "kubernetes/ports/ports.hpp"

namespace berth {
class Random;
}
namespace berth::http {
class Loop;
}
namespace berth::metrics {
class Registry;
}

namespace berth::client {

struct ReflectorOptions {
  std::string resource;                 // "pods": for logs and metrics
  std::string group{};                  // of the API; empty: the core group
  std::string kind{};                   // "Pod"
  std::string path;                     // "/api/v1/pods"
  std::string field_selector{};         // not encoded; empty: everything
  Encoding encoding = Encoding::kJson;  // protobuf for the kinds that api::Decoder reads from it
  bool streaming = true;                // ask for a streamed list first, as client-go 0.35 and newer
  // Nobody decides anything before on_synced: the first list may go to on_change piece by piece while it
  // comes.
  bool awaited = false;
  // A watch without a byte for so long is opened anew. API servers send a bookmark every minute, so that one
  // that is silent for longer is stuck, or its connection is; anywhere else the price is a request now and
  // then.
  Duration idle_timeout = std::chrono::seconds(90);
};

template <class T>
struct ReflectorHandlers {
  std::function<void(ports::Change<T>)> on_change;
  std::function<void()> on_synced;     // once, after the first full state has gone to on_change
  std::function<void()> on_absent{};   // a list was answered 404: there is no such resource; may be empty
  std::function<void()> on_refused{};  // a list was answered 403: nobody gave us the right; may be empty
};

// Follows client-go 0.37's Reflector and informers (see reflector_state.hpp and object_store.hpp). Changes
// come in the order of the API server; after a lost watch the differences come as changes, so nothing is
// missed. An object that cannot be understood is skipped, counted in berth_objects_skipped_total{resource},
// and logged once; the last version of it that could be understood stays.
//
// T is any kind of objects.hpp. Lives on the loop: constructed and destroyed there, handlers called there;
// everything handed in outlives it. `decoder` may be shared by reflectors of one loop.
template <class T>
class Reflector {
 public:
  Reflector(http::Loop& loop, Api& api, api::Decoder& decoder, metrics::Registry& registry, Random& random,
            ReflectorOptions options, ReflectorHandlers<T> handlers);
  ~Reflector();  // silently: no handler is called any more
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void Start();
  // The resource is found under another path (another version of its group) from the next request on.
  void MoveTo(std::string path);
  std::size_t size() const;
  // Calls `done` once on the loop, when everything that was written before this call has gone to on_change.
  // One at a time. See FreshnessBarrier.
  void ProveFresh(std::move_only_function<void(std::string_view how)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::client
