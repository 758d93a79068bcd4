#include "kubernetes/client/reflector.hpp"

#include <optional>
#include <utility>

#include "base/random.hpp"
#include "base/text_map.hpp"
#include "http/loop.hpp"
#include "kubernetes/client/freshness_barrier.hpp"
#include "kubernetes/client/informer_metrics.hpp"
#include "kubernetes/client/reflector_requests.hpp"
#include "kubernetes/client/reflector_state.hpp"
#include "observability/log/log.hpp"
#include "observability/metrics/registry.hpp"

namespace berth::client {
namespace {

using Kind = ReflectorAction::Kind;

// Objects of a first list are delivered in batches of this size, so that the receiver is not woken for each.
constexpr std::size_t kHandedOnTogether = 1024;

}  // namespace

struct AnyReflector::Impl {
  Impl(http::Loop& loop, Api& api, api::Decoder& decoder, metrics::Registry& registry, Random& random,
       const api::Decoder::Kind& decoded_kind, ReflectorOptions options, Handlers handlers)
      : loop(loop),
        api(api),
        decoder(decoder),
        registry(registry),
        random(random),
        decoded_kind(decoded_kind),
        options(std::move(options)),
        handlers(std::move(handlers)),
        state(this->options.streaming, random),
        encoding(this->options.encoding),
        store([this](const api::AnyObject& before, const api::AnyObject& after) { HandOn(before, after); }),
        skipped(registry.Counter("berth_objects_skipped_total",
                                 "[ALPHA] Objects from the API server that could not be decoded.",
                                 {{"resource", this->options.resource}})) {
    if (!this->options.kind.empty())
      meters.emplace(registry, this->options.group, this->options.kind, this->options.path);
  }

  http::Loop& loop;
  Api& api;
  api::Decoder& decoder;
  metrics::Registry& registry;
  Random& random;
  const api::Decoder::Kind& decoded_kind;
  ReflectorOptions options;
  const Handlers handlers;
  ReflectorState state;
  ReflectorAction doing{};
  Encoding encoding;
  ObjectStore store;
  // The pages of a list, or the objects received from a streamed list.
  std::vector<api::AnyObject> collected{};
  bool first_list = false;  // the current list may be delivered in pieces
  std::vector<std::string> unreadable{};
  metrics::Counter& skipped;
  std::optional<InformerMetrics> meters{};
  log::Once skipped_once{};
  FlatTextSet refusals{};      // logged since the last list
  FlatTextSet skipped_keys{};  // keys of skipped objects, missing in the store
  std::unique_ptr<FreshnessBarrier> catch_up{};
  bool synced = false;
  Api::CallId call = 0;
  http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  // Of the current stream:
  bool streaming_list = false;
  MonoTime opened_at{};
  StreamEnd end{};

  void Do(const ReflectorAction& action);
  void List(const ReflectorAction& action);
  void OnListed(Reply reply);
  void OpenStream(const ReflectorAction& action);
  void ReadVersion();
  void OnVersion(Reply reply);
  bool OnLine(std::string_view line);
  void OnInitial(const api::AnyEvent& event);
  void OnChange(const api::AnyEvent& event);
  void OnStreamEnd(Reply reply);
  void BeginList();
  void Collect(api::AnyObject object);
  void HandOnCollected();
  void Complete();
  void HandOn(const api::AnyObject& before, const api::AnyObject& after);
  void Skip(const std::string& key, const std::string& why);
  void ProveFresh(std::move_only_function<void(std::string_view)> done);
  bool MakesDoWithJson(const RequestError& error);
  void ReportUnavailable(Unavailable why);
  void LogFailure(std::string_view what, const RequestError& error);
  void Count(const RequestError& error);
};

void AnyReflector::Impl::Do(const ReflectorAction& action) {
  doing = action;
  switch (action.kind) {
    case Kind::kStreamList:
    case Kind::kWatch:
      return OpenStream(action);
    case Kind::kList:
      return List(action);
    case Kind::kReadVersion:
      return ReadVersion();
    case Kind::kWait:
      timer = loop.After(action.delay, [this] {
        timer = http::Loop::TimerId::kNone;
        Do(state.Resume());
      });
  }
}

void AnyReflector::Impl::List(const ReflectorAction& action) {
  if (action.continue_token.empty()) BeginList();
  call =
      api.Send(ListRequest(options, action, encoding), [this](Reply reply) { OnListed(std::move(reply)); });
}

void AnyReflector::Impl::OnListed(Reply reply) {
  call = 0;
  if (!reply && MakesDoWithJson(reply.error())) return Do(ReflectorAction(doing));
  if (!reply) {
    LogFailure("Failed to list", reply.error());
    if (reply.error().http_code == 404 && handlers.on_absent) handlers.on_absent();
    if (reply.error().http_code == 403) ReportUnavailable(Unavailable::kForbidden);
    return Do(state.OnListFailed(reply.error(), loop.Now()));
  }
  auto list = decoder.List(decoded_kind, *reply);
  reply = std::string();  // the text is larger than the objects kept from it
  if (!list) {
    const RequestError error{.code = list.error().code, .message = list.error().message};
    LogFailure("Failed to read the list", error);
    ReportUnavailable(Unavailable::kUnreadable);
    return Do(state.OnListFailed(error, loop.Now()));
  }
  for (auto& item : list->items) Collect(std::move(item));
  for (const auto& item : list->skipped) {
    Skip(item.key, item.error);
    unreadable.push_back(item.key);
  }
  const auto taken = state.OnPage(list->resource_version, list->continue_token);
  if (taken.complete) Complete();
  Do(taken.next);
}

void AnyReflector::Impl::BeginList() {
  collected.clear();
  unreadable.clear();
  first_list = options.awaited && !synced && store.size() == 0;
}

// Deletions are known only when a list is complete. If the store is empty, nothing can be deleted; and if
// nothing is scheduled before on_synced, the receiver may process objects while the rest arrives. If such a
// list is interrupted, the next one corrects its result.
void AnyReflector::Impl::Collect(api::AnyObject object) {
  collected.push_back(std::move(object));
  if (first_list && collected.size() >= kHandedOnTogether) HandOnCollected();
}

void AnyReflector::Impl::HandOnCollected() {
  for (const api::AnyObject& object : collected) store.Put(object);
  collected.clear();
}

void AnyReflector::Impl::Complete() {
  if (first_list) {
    HandOnCollected();
  } else {
    store.Replace(collected, unreadable);
  }
  collected = {};
  first_list = false;
  unreadable.clear();
  refusals.clear();
  if (meters) meters->At(state.last_version());
  if (!std::exchange(synced, true)) handlers.on_synced();
  if (catch_up) catch_up->OnProgress(/*replaced=*/true);
}

void AnyReflector::Impl::HandOn(const api::AnyObject& before, const api::AnyObject& after) {
  if (!meters) return handlers.on_change(before, after);
  const MonoTime begin = loop.Now();
  handlers.on_change(before, after);
  meters->Took(loop.Now() - begin);
}

void AnyReflector::Impl::OpenStream(const ReflectorAction& action) {
  streaming_list = action.kind == Kind::kStreamList;
  if (streaming_list) BeginList();
  opened_at = loop.Now();
  end = {};
  call = api.Watch(WatchRequest(options, action, encoding),
                   {.on_open = [this] { end.opened = true; },
                    .on_line = [this](std::string_view line) { return OnLine(line); }},
                   [this](Reply reply) { OnStreamEnd(std::move(reply)); });
}

void AnyReflector::Impl::ReadVersion() {
  call = api.Send(VersionsRequest(options.path, options.field_selector),
                  [this](Reply reply) { OnVersion(std::move(reply)); });
}

void AnyReflector::Impl::OnVersion(Reply reply) {
  call = 0;
  if (!reply) {
    LogFailure("Failed to read the server's version", reply.error());
    return Do(state.OnVersionFailed(reply.error(), loop.Now()));
  }
  const auto list = decoder.Versions(*reply);
  if (!list) {
    const RequestError error{.code = list.error().code, .message = list.error().message};
    LogFailure("Failed to read the server's version", error);
    return Do(state.OnVersionFailed(error, loop.Now()));
  }
  if (VersionBefore(list->resource_version, state.last_version())) {
    log::Warning("The API server is at an older version than the watch, as after a restore; listing again",
                 {{"resource", options.resource},
                  {"version", list->resource_version},
                  {"watch", state.last_version()}});
  }
  Do(state.OnVersion(list->resource_version));
}

bool AnyReflector::Impl::OnLine(std::string_view line) {
  const auto event = decoder.Event(decoded_kind, line);
  if (!event) {
    end.error = UndecodableEvent(event.error().message);
    return false;
  }
  if (event->type == api::WatchEventType::kError) {
    end.error = FromStatus(event->status);
    return false;
  }
  // An older version would revert known state; a fresh list is better. Initial events are unordered, and so
  // are those of a watch that began without a version.
  if (!streaming_list && state.Ordered(event->type == api::WatchEventType::kAdded) &&
      VersionBefore(event->resource_version, state.last_version())) {
    end.error = EventOutOfOrder(event->resource_version, state.last_version());
    return false;
  }
  ++end.events;
  if (!event->skipped.empty()) Skip(event->key, event->skipped);
  streaming_list ? OnInitial(*event) : OnChange(*event);
  return true;
}

// The initial events form a list until the bookmark that completes it. They arrive in key order and are
// nearly all additions, so a vector stores them; other operations may search.
void AnyReflector::Impl::OnInitial(const api::AnyEvent& event) {
  const auto is_it = [&](const api::AnyObject& object) { return object.metadata().Key() == event.key; };
  switch (event.type) {
    case api::WatchEventType::kModified:
      if (event.object) std::erase_if(collected, is_it);
      [[fallthrough]];
    case api::WatchEventType::kAdded:
      if (event.object) {
        Collect(event.object);
      } else {
        unreadable.push_back(event.key);
      }
      return;
    case api::WatchEventType::kDeleted:
      std::erase_if(collected, is_it);
      if (first_list) store.Remove(event.key);
      std::erase(unreadable, event.key);
      return;
    case api::WatchEventType::kBookmark:
      if (!event.initial_events_end) return;
      streaming_list = false;
      state.OnStreamSynced(event.resource_version);
      Complete();
      return;
    case api::WatchEventType::kError:
      return;
  }
}

void AnyReflector::Impl::OnChange(const api::AnyEvent& event) {
  switch (event.type) {
    case api::WatchEventType::kAdded:
    case api::WatchEventType::kModified:
      if (!event.object) break;
      if (!skipped_keys.empty()) skipped_keys.erase(event.key);
      store.Put(event.object);
      break;
    case api::WatchEventType::kDeleted:
      store.Remove(event.key);
      break;
    case api::WatchEventType::kBookmark:
    case api::WatchEventType::kError:
      break;
  }
  state.OnEvent(event.resource_version, event.type == api::WatchEventType::kAdded);
  if (meters) meters->At(state.last_version());
  if (!catch_up) return;
  if (event.type == api::WatchEventType::kBookmark) return catch_up->OnProgress(/*replaced=*/false);
  catch_up->OnEvent(event.key, event.resource_version, event.type == api::WatchEventType::kDeleted);
}

void AnyReflector::Impl::ProveFresh(std::move_only_function<void(std::string_view)> done) {
  FreshnessView view{
      .version_of = [this](std::string_view ns, std::string_view name) -> const std::string* {
        const api::ObjectMeta* object = store.Find({ns, name});
        return object == nullptr ? nullptr : &object->resource_version;
      },
      .each =
          [this](const auto& visit) {
            store.ForEach(
                [&](const api::ObjectMeta& object) { visit(object.Key(), object.resource_version); });
          },
      .size = [this] { return store.size(); },
      .last_version = [this] { return synced ? std::string_view(state.last_version()) : std::string_view(); },
      .unreadable = [this](std::string_view key) { return skipped_keys.contains(std::string(key)); },
      .list_again =
          [this] {
            loop.Cancel(std::exchange(timer, http::Loop::TimerId::kNone));
            if (call != 0) api.Cancel(std::exchange(call, 0));
            Do(state.OnRestored());
          }};
  catch_up = std::make_unique<FreshnessBarrier>(
      loop, api, decoder, random,
      FreshnessBarrierOptions{
          .resource = options.resource, .path = options.path, .field_selector = options.field_selector},
      std::move(view), [this, done = std::move(done)](std::string_view how) mutable {
        auto ended = std::move(catch_up);  // a call to it is in progress
        loop.Post([ended = std::move(ended)] {});
        auto callback = std::move(done);
        callback(how);
      });
  catch_up->Start();
}

void AnyReflector::Impl::OnStreamEnd(Reply reply) {
  call = 0;
  if (!reply && MakesDoWithJson(reply.error())) return Do(ReflectorAction(doing));
  end.lasted = loop.Now() - opened_at;
  if (!reply && !end.error) end.error = std::move(reply).error();
  if (end.error) LogFailure("Watch failed", *end.error);
  if (end.error && streaming_list && ReasonOf(*end.error) == "undecodable")
    ReportUnavailable(Unavailable::kUnreadable);
  Do(state.OnStreamEnd(end, loop.Now()));
}

void AnyReflector::Impl::Skip(const std::string& key, const std::string& why) {
  skipped.Add();
  skipped_keys.insert(key);
  if (!skipped_once.First(key)) return;
  log::Error("Skipped an object that cannot be decoded",
             {{"resource", options.resource}, {"object", key}, {"err", why}});
}

// Every server supports JSON; a proxy may not support protobuf.
bool AnyReflector::Impl::MakesDoWithJson(const RequestError& error) {
  if (encoding == Encoding::kJson || !RefusesEncoding(error)) return false;
  encoding = Encoding::kJson;
  log::Warning("The API server rejects protobuf; using JSON instead",
               {{"resource", options.resource}, {"err", error.message}});
  return true;
}

void AnyReflector::Impl::ReportUnavailable(Unavailable why) {
  if (handlers.on_unavailable) handlers.on_unavailable(why);
}

void AnyReflector::Impl::LogFailure(std::string_view what, const RequestError& error) {
  if (error.code == ErrorCode::kCancelled) return;
  Count(error);
  // Watches regularly end with errors; like kube-scheduler, these are not logged as warnings. An unreachable
  // server is reported once for all resources (outage_log.hpp).
  const bool ordinary = error.not_sent() || error.expired() || error.ambiguous() ||
                        (error.answered() && error.http_code == 422);
  // A missing permission is logged once, since it rarely changes within seconds.
  const bool already_logged = error.http_code == 403 && !refusals.insert(error.message).second;
  if ((ordinary || already_logged) && !log::V(2)) return;
  log::Warning(what, {{"resource", options.resource}, {"err", error.message}});
}

void AnyReflector::Impl::Count(const RequestError& error) {
  registry
      .Counter("berth_reflector_failures_total",
               "[ALPHA] Lists and watches that failed or were interrupted, by resource and reason.",
               {{"resource", options.resource}, {"reason", std::string(ReasonOf(error))}})
      .Add();
}

AnyReflector::AnyReflector(http::Loop& loop, Api& api, api::Decoder& decoder, metrics::Registry& registry,
                           Random& random, const api::Decoder::Kind& kind, ReflectorOptions options,
                           Handlers handlers)
    : impl_(std::make_unique<Impl>(loop, api, decoder, registry, random, kind, std::move(options),
                                   std::move(handlers))) {}

AnyReflector::~AnyReflector() {
  impl_->loop.Cancel(impl_->timer);
  if (impl_->call != 0) impl_->api.Cancel(impl_->call);
}

void AnyReflector::Start() { impl_->Do(impl_->state.Start()); }

void AnyReflector::MoveTo(std::string path) { impl_->options.path = std::move(path); }

void AnyReflector::ProveFresh(std::move_only_function<void(std::string_view how)> done) {
  impl_->ProveFresh(std::move(done));
}

std::size_t AnyReflector::size() const { return impl_->store.size(); }

bool AnyReflector::synced() const { return impl_->synced; }

}  // namespace berth::client
