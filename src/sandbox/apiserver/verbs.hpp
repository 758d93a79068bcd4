// The operations on objects, with the rules and texts of kube-apiserver v1.37: the layer between HTTP and the
// store. Simulated nodes and controllers write through it too, so that the same rules apply to them.
#pragma once

#include <functional>
#include <optional>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "sandbox/apiserver/apply/ownership.hpp"
#include "sandbox/apiserver/patch/patch.hpp"
#include "sandbox/apiserver/status.hpp"
#include "sandbox/store/store.hpp"

namespace berth::sandbox {

// The resource, namespace and name of an object.
struct Place {
  const ResourceType& type;
  std::string ns;  // empty for cluster-scoped objects
  std::string name;

  std::string key() const { return ObjectKey(ns, name); }
};

// The part of an object that a write may change.
enum class Part { kMain, kStatus };

enum class DryRun : bool { kNo, kYes };

// The treatment of fields that a kind does not have: drop them silently, drop them with a warning, or reject.
enum class FieldValidation { kIgnore, kWarn, kStrict };

// The options of a write. Converts from DryRun for callers that need no other option.
struct WriteOptions {
  DryRun dry_run = DryRun::kNo;
  std::string manager = {};  // the owner of the written fields; empty: ownership is unchanged
  std::string subresource = {};
  bool force = false;  // apply: take ownership of conflicting fields
  FieldValidation validation = FieldValidation::kIgnore;
  std::vector<std::string>* warnings = nullptr;  // receives the warnings of kWarn

  WriteOptions() = default;
  WriteOptions(DryRun dry) : dry_run(dry) {}  // NOLINT(google-explicit-constructor)
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds;
  std::string uid;  // preconditions; empty: none
  std::string resource_version;
  std::string propagation;  // Foreground, Background, Orphan or empty
  DryRun dry_run = DryRun::kNo;
};

struct Written {
  ObjectPtr object;
  bool created = false;
};

// One thread.
class Verbs {
 public:
  Verbs(Store& store, const Clock& clock, Random& random) : store_(store), clock_(clock), random_(random) {}

  // `ns` is the namespace of the URL. Generates a name if the object has only a generateName.
  ApiResult<ObjectPtr> Create(const ResourceType& type, std::string_view ns, Document document,
                              const WriteOptions& options = {});
  // Replaces the object. Creates it if its kind allows creation by PUT.
  ApiResult<Written> Update(const Place& place, Document document, Part part,
                            const WriteOptions& options = {});
  ApiResult<Written> Patch(const Place& place, PatchType type, std::string_view body, Part part,
                           const WriteOptions& options = {});
  // Read, modify, write: applies the change to the current state under the rules of an update. A change
  // without effect writes nothing.
  using Change = std::function<ApiResult<>(json::object& document)>;
  ApiResult<ObjectPtr> Edit(const Place& place, Part part, const Change& change,
                            const WriteOptions& options = {});

  // The same for the server's own parts, without validation, restored fields or comparison. Null if the
  // object is gone or was replaced by another one of the same name.
  ObjectPtr Rewrite(const Place& place, std::string_view uid,
                    const std::function<void(json::object& document)>& change);

  // Returns the object's last state. The object may still exist, waiting for its grace period or finalizers.
  ApiResult<ObjectPtr> Delete(const Place& place, const DeleteOptions& options);

  // pods/binding. `binding` is a v1 Binding; `place` is the pod's.
  ApiResult<> Bind(const Place& place, const json::object& binding, DryRun dry_run = DryRun::kNo);
  // pods/eviction; respects the disruption budgets.
  ApiResult<> Evict(const Place& place, const DeleteOptions& options);

  // Makes the names and uids generated from now on depend on that text, too. For a store that contains uids
  // of an earlier process with the same seed.
  void MixIntoRandom(std::string_view text);

  Store& store() { return store_; }
  const Clock& clock() const { return clock_; }

 private:
  ApiResult<> CheckNamespace(const Place& place) const;
  ApiResult<Place> PlaceFor(const ResourceType& type, std::string_view ns, const json::object& document);
  void StampNew(const Place& place, json::object& document);
  std::string RandomSuffix();
  std::string RandomUid();

  // `applied`: the managers after a server-side apply; otherwise computed from the change.
  ApiResult<ObjectPtr> Finish(const Object& current, json::object& before, json::object& after, Part part,
                              const WriteOptions& options, FieldManagers* applied = nullptr);
  ApiResult<Written> Apply(const Place& place, std::string_view body, Part part, const WriteOptions& options);
  ApiResult<ObjectPtr> CreateOwned(const ResourceType& type, std::string_view ns, Document document,
                                   const WriteOptions& options, FieldManagers* applied);
  FieldWriter WriterOf(const ResourceType& type, Part part, const WriteOptions& options) const;
  ObjectPtr Commit(const ResourceType& type, json::object& document, DryRun dry_run);

  ApiResult<> CheckPreconditions(const Object& object, const DeleteOptions& options) const;
  ApiResult<ObjectPtr> DeleteGracefully(const Object& object, std::int64_t grace_seconds,
                                        const DeleteOptions& options);
  ApiResult<ObjectPtr> DeleteNow(const Object& object, const DeleteOptions& options);
  ApiResult<> TakeFromBudget(const Object& pod, DryRun dry_run);

  Store& store_;
  const Clock& clock_;
  Random& random_;
};

}  // namespace berth::sandbox
