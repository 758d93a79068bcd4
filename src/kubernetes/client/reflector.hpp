// Keeps a copy of one kind of object up to date with the API server, by list and watch.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/encoding.hpp"
#include "kubernetes/client/object_store.hpp"
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
  std::string group{};                  // API group; empty: the core group
  std::string kind{};                   // "Pod"
  std::string path;                     // "/api/v1/pods"
  std::string field_selector{};         // not URL-encoded; empty: all objects
  Encoding encoding = Encoding::kJson;  // protobuf for the kinds that api::Decoder reads from it
  bool streaming = true;                // request a streamed list first, as client-go 0.35 and newer
  // No scheduling happens before on_synced: the first list may be passed to on_change in pieces as it
  // arrives.
  bool awaited = false;
  // A watch without data for this time is reopened. API servers send a bookmark every minute, so a watch that
  // is silent for longer is stuck. For other servers this costs an occasional request.
  Duration idle_timeout = std::chrono::seconds(90);
};

// Why a kind cannot be listed.
enum class Unavailable : std::uint8_t { kForbidden, kUnreadable };

// OnChange: the function that receives the changes.
template <class OnChange>
struct ReflectorHandlersOf {
  OnChange on_change;
  std::function<void()> on_synced;    // called once, after the first full state has been passed to on_change
  std::function<void()> on_absent{};  // a list failed with 404: the resource does not exist; may be empty
  // A list failed with 403 (missing permission), or cannot be decoded as a whole; may be empty.
  std::function<void(Unavailable)> on_unavailable{};
};
template <class T>
using ReflectorHandlers = ReflectorHandlersOf<std::function<void(ports::Change<T>)>>;

// Follows client-go 0.37's Reflector and informers (see reflector_state.hpp and object_store.hpp). Changes
// arrive in the order of the API server; after a lost watch the differences are delivered as changes, so
// nothing is missed. An object that cannot be decoded is skipped, counted in
// berth_objects_skipped_total{resource}, and logged once; its last decoded version is kept.
//
// Lives on the loop: constructed and destroyed there, handlers called there; arguments must outlive it.
// Reflectors of one loop may share a `decoder`.
class AnyReflector {
 public:
  using Handlers = ReflectorHandlersOf<ObjectStore::Emit>;

  AnyReflector(http::Loop& loop, Api& api, api::Decoder& decoder, metrics::Registry& registry, Random& random,
               const api::Decoder::Kind& kind, ReflectorOptions options, Handlers handlers);
  ~AnyReflector();  // calls no handler
  AnyReflector(const AnyReflector&) = delete;
  AnyReflector& operator=(const AnyReflector&) = delete;

  void Start();
  // Uses another path for the resource (another version of its group) from the next request on.
  void MoveTo(std::string path);
  std::size_t size() const;
  // Whether the whole state was delivered at least once.
  bool synced() const;
  // Calls `done` once on the loop, when everything written before this call has been passed to on_change. One
  // call at a time. See FreshnessBarrier.
  void ProveFresh(std::move_only_function<void(std::string_view how)> done);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The reflector of objects of type T.
template <class T>
class Reflector : public AnyReflector {
 public:
  Reflector(http::Loop& loop, Api& api, api::Decoder& decoder, metrics::Registry& registry, Random& random,
            ReflectorOptions options, ReflectorHandlers<T> handlers)
      : AnyReflector(
            loop, api, decoder, registry, random, api::Decoder::KindOf<T>(), std::move(options),
            {.on_change = [on_change = std::move(handlers.on_change)](
                              const api::AnyObject& before,
                              const api::AnyObject& after) { on_change({before.As<T>(), after.As<T>()}); },
             .on_synced = std::move(handlers.on_synced),
             .on_absent = std::move(handlers.on_absent),
             .on_unavailable = std::move(handlers.on_unavailable)}) {}
};

}  // namespace berth::client
