#include "kubernetes/client/api_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>

#include "base/check.hpp"
#include "base/json_text.hpp"
#include "base/random.hpp"
#include "base/text_map.hpp"
#include "http/loop.hpp"
#include "kubernetes/api/decode.hpp"
#include "kubernetes/client/api.hpp"
#include "kubernetes/client/backoff.hpp"
#include "kubernetes/client/claim_patch.hpp"
#include "kubernetes/client/fair_queue.hpp"
#include "kubernetes/client/resources.hpp"
#include "kubernetes/client/status_patch.hpp"

namespace berth::client {
namespace {

using namespace std::chrono_literals;

constexpr int kMaxWriteTries = 4;
constexpr BackoffOptions kConflictBackoff{.initial = 10ms, .factor = 5, .jitter = 0.1};
constexpr std::chrono::seconds kLongestRetryAfter{30};

// The namespace in the key of a write, which is NAMESPACE/NAME or KIND:NAMESPACE/NAME; empty for KIND:NAME.
std::string NamespaceOf(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {};
  key = key.substr(0, slash);
  return std::string(key.substr(key.find(':') + 1));
}

std::string BindingBody(const ports::Binding& binding) {
  std::string body;
  {
    JsonObject root(body);
    root.Add("kind", "Binding").Add("apiVersion", "v1");
    JsonObject(root.Key("metadata"))
        .Add("name", binding.name)
        .Add("namespace", binding.ns)
        .Add("uid", binding.uid);
    JsonObject(root.Key("target")).Add("kind", "Node").Add("name", binding.node);
  }
  return body;
}

// Copies the parts that only the earlier patch contains and that are not out of date.
void Inherit(ports::PodStatusPatch& later, const ports::PodStatusPatch& earlier) {
  if (!later.nomination) later.nomination = earlier.nomination;
  if (!later.reason.empty()) return;
  later.reason = earlier.reason;
  later.message = earlier.message;
  later.observed_generation = earlier.observed_generation;
}

std::string DeletionBody(const std::string& uid) {
  std::string body;
  {
    JsonObject root(body);
    root.Add("kind", "DeleteOptions").Add("apiVersion", "v1");
    JsonObject(root.Key("preconditions")).Add("uid", uid);
  }
  return body;
}

std::string PodPath(const std::string& ns, const std::string& name) {
  return fmt::format("/api/v1/namespaces/{}/pods/{}", ns, name);
}

constexpr const Resource& kClaims = ResourceOf<api::ResourceClaim>();
constexpr const Resource& kGroups = ResourceOf<api::PodGroup>();
constexpr std::string_view kMergePatch = "application/merge-patch+json";
constexpr std::string_view kStrategicMergePatch = "application/strategic-merge-patch+json";

// A patch of one object, usually rejected if the object no longer has the version that the patch names; or a
// new object.
struct ObjectPatch {
  std::string path;
  std::string body;
  std::string_view content_type = kMergePatch;
  bool creates = false;
  bool idempotent = false;  // repeated after a conflict and after a lost response
};

void AddMetadata(JsonObject& root, const std::string& version, std::string_view annotation,
                 std::string_view value) {
  JsonObject metadata(root.Key("metadata"));
  metadata.Add("resourceVersion", version);
  if (!annotation.empty()) JsonObject(metadata.Key("annotations")).Add(annotation, value);
}

ObjectPatch PatchOf(const ports::VolumeClaimed& write) {
  ObjectPatch patch{"/api/v1/persistentvolumes/" + write.name, {}};
  JsonObject root(patch.body);
  AddMetadata(root, write.resource_version,
              write.bound_by_controller ? "pv.kubernetes.io/bound-by-controller" : "", "yes");
  if (!write.claim) return patch;
  JsonObject spec(root.Key("spec"));
  JsonObject(spec.Key("claimRef"))
      .Add("kind", "PersistentVolumeClaim")
      .Add("namespace", write.claim->ns)
      .Add("name", write.claim->name)
      .Add("uid", write.claim->uid)
      .Add("apiVersion", "v1")
      .Add("resourceVersion", write.claim->resource_version);
  spec.Close();
  root.Close();
  return patch;
}

ObjectPatch PatchOf(const ports::NodeSelected& write) {
  ObjectPatch patch{fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", write.ns, write.name), {}};
  JsonObject root(patch.body);
  AddMetadata(root, write.resource_version, "volume.kubernetes.io/selected-node", write.node);
  root.Close();
  return patch;
}

}  // namespace

// All on the loop's thread.
struct ApiWriter::Impl {
  struct Deletion {
    std::string path, uid;
  };
  // One write: a binding, a patch of a pod's status, a deletion, or a patch or creation of another object.
  struct Write {
    std::string key;
    std::optional<ports::Binding> binding;
    std::optional<ports::PodStatusPatch> patch;
    std::optional<Deletion> deletion;
    std::optional<ObjectPatch> object;
    ports::CreatedClaim written;  // the object after the patch
    ports::WriteDone done;
    Backoff backoff{kConflictBackoff};
    int tries = 0;
    bool settled_before = false;  // an earlier attempt may have taken effect
    Api::CallId call = 0;
    http::Loop::TimerId timer = http::Loop::TimerId::kNone;
  };
  using WritePtr = std::shared_ptr<Write>;
  // A pod has an entry while a write to it is waiting or in flight; the first write is the current or next
  // one.
  struct Line {
    std::deque<WritePtr> writes;
    bool going = false;
  };

  http::Loop& loop;
  Api& api;
  const Clock& clock;
  const LeaseFence& fence;
  const ApiWriterOptions options;
  Random random{options.seed};
  api::Decoder decoder{};
  FlatTextMap<Line> lines{};
  FairQueue ready{options.max_in_flight, options.max_of_namespace};  // of lines whose first write may be sent
  std::vector<std::move_only_function<void()>> idle{};               // callbacks of WhenIdle
  std::atomic<std::size_t> claim_version{0};  // index in Resource::versions; any thread

  std::string_view ClaimVersion() const { return kClaims.versions[claim_version.load()]; }

  // Sends writes; reads do not pass the fence.
  Api::CallId Send(ApiRequest request, std::move_only_function<void(Reply)> done) {
    request.refused = RefusedUnlessOpen(fence);
    return api.Send(std::move(request), std::move(done));
  }
  void NotifyIdle() {
    if (!lines.empty()) return;
    for (auto& callback : std::exchange(idle, {})) callback();
  }
  // From any thread.
  void Patch(std::string key, ObjectPatch patch, ports::ClaimDone done);
  void Delete(std::string key, Deletion deletion, ports::WriteDone done);
  void Accept(const WritePtr& write);
  void Pump();
  void Try(const WritePtr& write);
  void PostBinding(const WritePtr& write);
  void SendPatch(const WritePtr& write);
  void SendDeletion(const WritePtr& write);
  static bool MakesOutdated(const WritePtr& later, const WritePtr& earlier);
  void SendObject(const WritePtr& write);
  void OnObject(const WritePtr& write, Reply reply);
  void OnBound(const WritePtr& write, Reply reply);
  void ResolveOutcome(const WritePtr& write, RequestError why);
  void OnSeen(const WritePtr& write, const RequestError& why, Reply reply);
  void OnPatched(const WritePtr& write, Reply reply);
  void OnDeleted(const WritePtr& write, Reply reply);
  void Again(const WritePtr& write, const RequestError& why, Duration at_least = {});
  void Finish(const WritePtr& write, Expected<> result);
  void Shutdown();
};

void ApiWriter::Impl::Delete(std::string key, Deletion deletion, ports::WriteDone done) {
  auto write = std::make_shared<Write>();
  write->key = std::move(key);
  write->deletion = std::move(deletion);
  write->done = std::move(done);
  loop.Post([this, write = std::move(write)] { Accept(write); });
}

void ApiWriter::Impl::Patch(std::string key, ObjectPatch patch, ports::ClaimDone done) {
  auto write = std::make_shared<Write>();
  write->key = std::move(key);
  write->object = std::move(patch);
  // The write owns this callback, so the callback must not own the write.
  write->done = [raw = write.get(), done = std::move(done)](Expected<> result) mutable {
    if (!result) return done(std::unexpected(std::move(result).error()));
    done(std::move(raw->written));
  };
  loop.Post([this, write = std::move(write)] { Accept(write); });
}

void ApiWriter::Impl::Accept(const WritePtr& write) {
  Line& line = lines[write->key];
  // Only the current write matters to the API server; a patch that waits behind it is out of date now.
  std::vector<WritePtr> outdated;
  while (line.writes.size() > (line.going ? 1U : 0U) && MakesOutdated(write, line.writes.back())) {
    outdated.push_back(std::move(line.writes.back()));
    line.writes.pop_back();
    if (write->patch) Inherit(*write->patch, *outdated.back()->patch);
  }
  const bool was_empty = line.writes.empty() && outdated.empty();
  line.writes.push_back(write);
  if (was_empty) ready.Add({NamespaceOf(write->key), write->key});
  for (const WritePtr& old : outdated) {
    old->done(Fail(ErrorCode::kCancelled, "superseded by a later write to the same pod"));
  }
  Pump();
}

bool ApiWriter::Impl::MakesOutdated(const WritePtr& later, const WritePtr& earlier) {
  return earlier->patch && (!later->patch || later->patch->type == earlier->patch->type);
}

void ApiWriter::Impl::Pump() {
  while (const auto next = ready.Next()) {
    Line& line = lines.at(next->key);
    line.going = true;
    Try(WritePtr(line.writes.front()));
  }
}

void ApiWriter::Impl::Try(const WritePtr& write) {
  ++write->tries;
  if (write->binding) {
    PostBinding(write);
  } else if (write->patch) {
    SendPatch(write);
  } else if (write->deletion) {
    SendDeletion(write);
  } else {
    SendObject(write);
  }
}

void ApiWriter::Impl::PostBinding(const WritePtr& write) {
  const auto& binding = *write->binding;
  write->call = Send({.method = "POST",
                      .path = PodPath(binding.ns, binding.name) + "/binding",
                      .body = BindingBody(binding)},
                     [this, write](Reply reply) { OnBound(write, std::move(reply)); });
}

void ApiWriter::Impl::OnBound(const WritePtr& write, Reply reply) {
  write->call = 0;
  if (reply) return Finish(write, {});
  const RequestError& error = reply.error();
  if (error.ambiguous()) return ResolveOutcome(write, error);
  if (error.server_failed() || error.repeated) write->settled_before = true;
  const bool again = error.server_failed() || error.not_sent();
  if (again && write->tries < kMaxWriteTries) return Again(write, error);
  // "already assigned" after an attempt with unknown effect may refer to that attempt's success. After any
  // other rejection, and after the last attempt, too, the pod may be bound.
  if (write->settled_before && (again || error.answered())) return ResolveOutcome(write, error);
  Finish(write, std::unexpected(error.ToError()));
}

// Reads the pod to determine whether the binding took effect.
void ApiWriter::Impl::ResolveOutcome(const WritePtr& write, RequestError why) {
  write->call =
      api.Send({.path = PodPath(write->binding->ns, write->binding->name)},
               [this, write, why = std::move(why)](Reply reply) { OnSeen(write, why, std::move(reply)); });
}

void ApiWriter::Impl::OnSeen(const WritePtr& write, const RequestError& why, Reply reply) {
  write->call = 0;
  const auto& binding = *write->binding;
  if (!reply) {
    const RequestError& error = reply.error();
    // Neither a failure of the server nor its overload shows anything about the pod.
    const bool is_final = error.answered() && !error.server_failed() && error.code != ErrorCode::kThrottled;
    if (is_final) return Finish(write, std::unexpected(error.ToError()));
    if (write->tries >= kMaxWriteTries) {
      return Finish(write,
                    Fail(ErrorCode::kAmbiguous, fmt::format("{}; and then: {}", why.message, error.message)));
    }
    ++write->tries;
    write->timer = loop.After(write->backoff.Next(loop.Now(), random),
                              [this, write, why] { ResolveOutcome(write, why); });
    return;
  }
  const auto pod = decoder.Object<api::Pod>(*reply);
  if (!pod)
    return Finish(write, Fail(ErrorCode::kAmbiguous, why.message + "; and then: " + pod.error().message));
  if (pod->metadata.uid != binding.uid) {
    return Finish(write, Fail(ErrorCode::kConflict, "the pod was deleted and created again"));
  }
  if (pod->spec.node_name == binding.node) return Finish(write, {});
  if (!pod->spec.node_name.empty()) {
    return Finish(write, Fail(ErrorCode::kConflict, fmt::format("pod {} is already assigned to node \"{}\"",
                                                                binding.name, pod->spec.node_name)));
  }
  // Not bound: a rejection is final, and so is the last attempt. After a lost response the uid makes a retry
  // safe.
  if (!why.ambiguous()) return Finish(write, std::unexpected(why.ToError()));
  write->settled_before = true;
  Again(write, why);
}

void ApiWriter::Impl::SendPatch(const WritePtr& write) {
  const auto& patch = *write->patch;
  std::string body = StatusPatchBody(patch, clock.WallNow());
  if (body.empty()) {
    // Posted, because callers expect no callback from within a call.
    loop.Post([this, write] {
      if (write->done) Finish(write, {});
    });
    return;
  }
  write->call = Send({.method = "PATCH",
                      .path = PodPath(patch.ns, patch.name) + "/status",
                      .body = std::move(body),
                      .content_type = std::string(kStrategicMergePatch)},
                     [this, write](Reply reply) { OnPatched(write, std::move(reply)); });
}

void ApiWriter::Impl::OnPatched(const WritePtr& write, Reply reply) {
  write->call = 0;
  if (reply) return Finish(write, {});
  const RequestError& error = reply.error();
  const bool again = error.temporary_server_failure() || error.not_sent() || error.ambiguous() ||
                     error.code == ErrorCode::kConflict;
  again ? Again(write, error) : Finish(write, std::unexpected(error.ToError()));
}

void ApiWriter::Impl::SendDeletion(const WritePtr& write) {
  const auto& deletion = *write->deletion;
  write->call = Send({.method = "DELETE", .path = deletion.path, .body = DeletionBody(deletion.uid)},
                     [this, write](Reply reply) { OnDeleted(write, std::move(reply)); });
}

void ApiWriter::Impl::OnDeleted(const WritePtr& write, Reply reply) {
  write->call = 0;
  if (reply) return Finish(write, {});
  const RequestError& error = reply.error();
  if (error.temporary_server_failure() || error.not_sent() || error.ambiguous()) return Again(write, error);
  // The precondition failed: there is another object with that name.
  if (error.code == ErrorCode::kConflict) return Finish(write, Fail(ErrorCode::kNotFound, error.message));
  Finish(write, std::unexpected(error.ToError()));
}

void ApiWriter::Impl::SendObject(const WritePtr& write) {
  if (write->object->creates) {
    // A repetition would create a second object if the first attempt took effect.
    write->call = Send(
        {.method = "POST", .path = write->object->path, .body = write->object->body, .single_attempt = true},
        [this, write](Reply reply) { OnObject(write, std::move(reply)); });
    return;
  }
  write->call = Send({.method = "PATCH",
                      .path = write->object->path,
                      .body = write->object->body,
                      .content_type = std::string(write->object->content_type)},
                     [this, write](Reply reply) { OnObject(write, std::move(reply)); });
}

void ApiWriter::Impl::OnObject(const WritePtr& write, Reply reply) {
  write->call = 0;
  if (!reply) {
    const RequestError& error = reply.error();
    // After a failure of the server a new object may exist; a second one has another name.
    const bool safe = !write->object->creates;
    // A throttled request was not executed. The client does not repeat a creation, so that is done here.
    if (!safe && error.code == ErrorCode::kThrottled && error.retry_after_seconds > 0) {
      return Again(write, error,
                   std::min(std::chrono::seconds(error.retry_after_seconds), kLongestRetryAfter));
    }
    const bool repeat =
        write->object->idempotent && (error.code == ErrorCode::kConflict || error.ambiguous());
    if ((error.temporary_server_failure() && safe) || error.not_sent() || repeat) return Again(write, error);
    return Finish(write, std::unexpected(error.ToError()));
  }
  // Any kind with metadata can be decoded this way; a claim is used.
  const auto object = decoder.Object<api::PersistentVolumeClaim>(*reply);
  if (!object) return Finish(write, std::unexpected(object.error()));
  const api::ObjectMeta& meta = object->metadata;
  write->written = {meta.name, meta.uid, meta.resource_version};
  Finish(write, {});
}

void ApiWriter::Impl::Again(const WritePtr& write, const RequestError& why, Duration at_least) {
  if (write->tries >= kMaxWriteTries) return Finish(write, std::unexpected(why.ToError()));
  const Duration delay = std::max(write->backoff.Next(loop.Now(), random), at_least);
  write->timer = loop.After(delay, [this, write] {
    write->timer = http::Loop::TimerId::kNone;
    Try(write);
  });
}

void ApiWriter::Impl::Finish(const WritePtr& write, Expected<> result) {
  const std::string ns = NamespaceOf(write->key);
  ready.Release(ns);
  const auto line = lines.find(write->key);
  line->second.writes.pop_front();
  line->second.going = false;
  if (line->second.writes.empty()) {
    lines.erase(line);
  } else {
    ready.Add({ns, write->key});
  }
  auto done = std::exchange(write->done, nullptr);
  Pump();
  done(std::move(result));
  NotifyIdle();
}

void ApiWriter::Impl::Shutdown() {
  auto left = std::exchange(lines, {});
  for (auto& [key, line] : left) {
    for (const WritePtr& write : line.writes) {
      if (write->call != 0) api.Cancel(write->call);
      loop.Cancel(write->timer);
      auto done = std::exchange(write->done, nullptr);
      done(Fail(ErrorCode::kCancelled, "the writer is closing"));
    }
  }
}

ApiWriter::ApiWriter(http::Loop& loop, Api& api, const Clock& clock, const LeaseFence& fence,
                     ApiWriterOptions options)
    : impl_(new Impl{loop, api, clock, fence, options}) {}

ApiWriter::~ApiWriter() {
  impl_->loop.Sync([this] { impl_->Shutdown(); });
}

void ApiWriter::Bind(ports::Binding binding, ports::WriteDone done) {
  auto write = std::make_shared<Impl::Write>();
  write->key = binding.ns + "/" + binding.name;
  write->binding = std::move(binding);
  write->done = std::move(done);
  impl_->loop.Post([impl = impl_.get(), write = std::move(write)] { impl->Accept(write); });
}

void ApiWriter::PatchPodStatus(ports::PodStatusPatch patch, ports::WriteDone done) {
  auto write = std::make_shared<Impl::Write>();
  write->key = patch.ns + "/" + patch.name;
  write->patch = std::move(patch);
  write->done = std::move(done);
  impl_->loop.Post([impl = impl_.get(), write = std::move(write)] { impl->Accept(write); });
}

void ApiWriter::DeletePod(ports::PodDeletion deletion, ports::WriteDone done) {
  impl_->Delete(deletion.ns + "/" + deletion.name, {PodPath(deletion.ns, deletion.name), deletion.uid},
                std::move(done));
}

namespace {
// Passes the version of the written object on.
ports::ClaimDone VersionOnly(ports::VersionDone done) {
  return [done = std::move(done)](Expected<ports::CreatedClaim> written) mutable {
    if (!written) return done(std::unexpected(std::move(written).error()));
    done(std::move(written->resource_version));
  };
}
std::string ClaimKey(const std::string& ns, const std::string& name) {
  return fmt::format("resourceclaim:{}/{}", ns, name);
}
}  // namespace

void ApiWriter::ClaimVolume(ports::VolumeClaimed write, ports::VersionDone done) {
  impl_->Patch("persistentvolume:" + write.name, PatchOf(write), VersionOnly(std::move(done)));
}
void ApiWriter::SelectNode(ports::NodeSelected write, ports::VersionDone done) {
  impl_->Patch(fmt::format("persistentvolumeclaim:{}/{}", write.ns, write.name), PatchOf(write),
               VersionOnly(std::move(done)));
}

void ApiWriter::ChangeClaim(ports::ClaimChange change, ports::VersionDone done) {
  ObjectPatch patch{ClaimPath(change, impl_->ClaimVersion()), ClaimPatchBody(change, impl_->clock.WallNow()),
                    kMergePatch};
  if (std::holds_alternative<ports::ClaimChange::Release>(change.change))
    patch.content_type = kStrategicMergePatch;
  impl_->Patch(ClaimKey(change.ns, change.name), std::move(patch), VersionOnly(std::move(done)));
}

void ApiWriter::CreateClaim(ports::NewClaim claim, ports::ClaimDone done) {
  const std::string_view version = impl_->ClaimVersion();
  ObjectPatch object{
      .path = ClaimsPath(claim.ns, version), .body = NewClaimBody(claim, version), .creates = true};
  impl_->Patch(ClaimKey(claim.ns, "of " + claim.pod_uid), std::move(object), std::move(done));
}

void ApiWriter::DeleteClaim(ports::ClaimDeletion deletion, ports::WriteDone done) {
  impl_->Delete(ClaimKey(deletion.ns, deletion.name),
                {ClaimPath(deletion.ns, deletion.name, impl_->ClaimVersion()), deletion.uid},
                std::move(done));
}

void ApiWriter::PatchPodGroupStatus(ports::PodGroupStatusPatch patch, ports::WriteDone done) {
  std::string body = StatusPatchBody(patch, impl_->clock.WallNow());
  if (body.empty()) return impl_->loop.Post([done = std::move(done)]() mutable { done({}); });
  const api::ObjectMeta& group = patch.current->metadata;
  impl_->Patch(fmt::format("podgroup:{}/{}", group.ns.str(), group.name),
               {.path = fmt::format("{}/namespaces/{}/{}/{}/status",
                                    Resource::GroupPath(kGroups.group, kGroups.versions[0]), group.ns.str(),
                                    kGroups.plural, group.name),
                .body = std::move(body),
                .content_type = kStrategicMergePatch,
                .idempotent = true},
               [done = std::move(done)](Expected<ports::CreatedClaim> written) mutable {
                 if (!written) return done(std::unexpected(std::move(written).error()));
                 done({});
               });
}

void ApiWriter::SetClaimVersion(std::string_view version) {
  const auto found = std::ranges::find(kClaims.versions, version);
  BERTH_CHECK(found != kClaims.versions.end(), version);
  impl_->claim_version = static_cast<std::size_t>(found - kClaims.versions.begin());
}

void ApiWriter::WhenIdle(std::move_only_function<void()> idle) {
  impl_->loop.Post([impl = impl_.get(), idle = std::move(idle)]() mutable {
    impl->idle.push_back(std::move(idle));
    impl->NotifyIdle();
  });
}

std::size_t ApiWriter::Backlog() const { return impl_->ready.size(); }

}  // namespace berth::client
