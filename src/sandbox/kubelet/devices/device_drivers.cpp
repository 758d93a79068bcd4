#include "sandbox/kubelet/devices/device_drivers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/check.hpp"
#include "sandbox/controllers/controller.hpp"
#include "sandbox/controllers/fields.hpp"
#include "sandbox/controllers/kinds.hpp"
#include "sandbox/kubelet/node_failure.hpp"

namespace berth::sandbox {
namespace {

constexpr std::chrono::seconds kRepairDelay{30};  // of a slice that a client has changed
constexpr std::size_t kIndexDigits = 5;           // at least; hexadecimal, at the beginning of a slice's name
// Positions in Object::fields of a slice.
constexpr std::size_t kNodeField = 0, kDriverField = 1;

std::string_view DevicesAnnotation(const json::object& node) {
  const json::value* value = Find(ObjectOrEmpty(node, "metadata.annotations"), kDevices);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

bool IsSimulated(const Object& slice) { return slice.Label(kSimulatedDriver) != nullptr; }

std::size_t IndexDigits(std::size_t slices) {
  return std::max(kIndexDigits, fmt::format("{:x}", slices - 1).size());
}

std::optional<std::size_t> IndexOf(std::string_view slice_name, std::size_t digits) {
  std::size_t index = 0;
  const char* end = slice_name.data() + std::min(digits, slice_name.size());
  const auto parsed = std::from_chars(slice_name.data(), end, index, 16);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end && slice_name.size() > digits;
  return whole && slice_name[digits] == '-' ? std::optional(index) : std::nullopt;
}

// Sets the times of taints that the stored slice has, too. The server sets those of new taints.
void KeepTaintTimes(const json::object& stored_spec, json::object& content) {
  for (auto& value : ArrayAt(content, "devices")) {
    json::object& device = value.get_object();
    if (!device.contains("taints")) continue;
    for (const auto& stored : ArrayOrEmpty(stored_spec, "devices")) {
      if (FindString(stored.get_object(), "name") != FindString(device, "name")) continue;
      for (auto& taint : device.at("taints").get_array()) {
        for (const auto& old : ArrayOrEmpty(stored.get_object(), "taints")) {
          json::object with_time = taint.get_object();
          with_time["timeAdded"] = FindString(old.get_object(), "timeAdded");
          if (with_time == old.get_object()) taint = with_time;
        }
      }
    }
  }
}

json::object ContentFor(const json::object& stored_spec, const json::object& wanted) {
  json::object content = wanted;
  if (content.contains("devices")) KeepTaintTimes(stored_spec, content);
  return content;
}

void SetContent(json::object& spec, const json::object& content) {
  for (const std::string_view key : {"devices", "sharedCounters"}) CopyMember(content, spec, key);
}

// The stored slice as if it had this content.
bool HasContent(const json::object& spec, const json::object& content) {
  json::object wanted = spec;
  SetContent(wanted, content);
  return wanted == spec;
}

}  // namespace

DeviceDrivers::DeviceDrivers(Verbs& verbs, TimerQueue& timers, EventRecorder& events)
    : verbs_(verbs),
      events_(events),
      queue_(timers, verbs.clock(), [this](const std::string& node) { return Sync(node); }) {
  for (const ResourceType* type : {&Kinds().resource_slices, &Known().nodes}) {
    for (const auto& [_, object] : verbs.store().All(*type)) {
      OnChange(*type, {.version = 0, .before = nullptr, .after = object, .removed = nullptr});
    }
  }
  verbs.store().Observe(*this);
}

void DeviceDrivers::OnChange(const ResourceType& type, const Change& change) {
  const Object& subject = change.subject();
  if (&type == &Known().nodes) {
    const auto described = [](const ObjectPtr& node) {
      return node && node->text.find(kDevices) != std::string::npos;
    };
    if (described(change.before) || described(change.after) || slices_.contains(subject.name))
      queue_.Add(subject.name);
    return;
  }
  if (&type != &Kinds().resource_slices) return;
  const bool was_simulated = change.before && IsSimulated(*change.before);
  if (!IsSimulated(subject) && !was_simulated) return;
  const std::string& node = subject.fields[kNodeField];  // immutable
  if (change.after && IsSimulated(*change.after)) {
    slices_[node].insert(subject.key);
  } else if (const auto found = slices_.find(node); found != slices_.end()) {
    found->second.erase(subject.key);
    if (found->second.empty()) slices_.erase(found);
  }
  if (!writing_) queue_.AddAfter(node, kRepairDelay);
}

std::vector<ObjectPtr> DeviceDrivers::SlicesOf(const std::string& node) const {
  std::vector<ObjectPtr> slices;
  const auto found = slices_.find(node);
  if (found == slices_.end()) return slices;
  for (const auto& key : found->second) {
    slices.push_back(verbs_.store().Get(Kinds().resource_slices, key));
    BERTH_CHECK(slices.back() != nullptr, key);
  }
  return slices;
}

DeviceDrivers::Outcome DeviceDrivers::Sync(const std::string& name) {
  const ObjectPtr node = verbs_.store().Get(Known().nodes, name);
  if (node && FailureOf(*node).silent) return {};  // the mended node is synchronised
  std::vector<ObjectPtr> slices = SlicesOf(name);
  std::vector<DevicePool> pools;
  if (node) {
    const Document document = node->Parse();
    if (const auto annotation = DevicesAnnotation(document.root()); !annotation.empty()) {
      const auto groups = ParseDevices(annotation);
      if (!groups) {
        events_.Record(*node, "Warning", "InvalidDevices",
                       fmt::format("annotation {}: {}", kDevices, groups.error().message), "device-driver",
                       name);
        return {};
      }
      pools = PoolsOf(*groups);
    }
  }
  writing_ = true;
  bool done = true;
  for (const auto& pool : pools) {
    const auto [first, last] = std::ranges::stable_partition(
        slices, [&](const ObjectPtr& slice) { return slice->fields[kDriverField] != pool.driver; });
    done = Publish(*node, pool, {first, last}) && done;
    slices.erase(first, last);
  }
  done = Remove(slices) && done;  // of drivers that the node has no longer
  writing_ = false;
  return {.failed = !done};
}

// Deletes obsolete slices, then updates the others, then creates the missing ones. A new generation makes the
// pool incomplete until all its slices have it, so that no scheduler sees parts of two states. It is not
// needed if one update is all that changes.
bool DeviceDrivers::Publish(const Object& node, const DevicePool& pool,
                            const std::vector<ObjectPtr>& slices) {
  const std::size_t digits = IndexDigits(pool.slices.size());
  std::int64_t generation = 0;
  for (const auto& slice : slices)
    generation = std::max(generation, IntAt(slice->Parse().root(), "spec.pool.generation"));
  std::vector<ObjectPtr> current(pool.slices.size()), obsolete;  // current: by index
  for (const auto& slice : slices) {
    const Document document = slice->Parse();
    const auto index = IndexOf(slice->name, digits);
    const bool fits = index && *index < current.size() && !current[*index] &&
                      IntAt(document.root(), "spec.pool.generation") == generation &&
                      OwnerUids(*slice) == std::vector{node.uid};
    if (fits)
      current[*index] = slice;
    else
      obsolete.push_back(slice);
  }
  json::object pool_fields{{"name", node.name},
                           {"generation", generation},
                           {"resourceSliceCount", static_cast<std::int64_t>(pool.slices.size())}};
  std::vector<bool> changed(current.size());
  for (std::size_t i = 0; i < current.size(); ++i) {
    if (!current[i]) continue;
    const Document document = current[i]->Parse();
    const json::object& spec = ObjectOrEmpty(document.root(), "spec");
    changed[i] =
        ObjectOrEmpty(spec, "pool") != pool_fields || !HasContent(spec, ContentFor(spec, pool.slices[i]));
  }
  const bool missing = std::ranges::any_of(current, [](const ObjectPtr& slice) { return !slice; });
  const bool new_generation = missing || std::ranges::count(changed, true) > 1;
  if (new_generation) pool_fields["generation"] = generation + 1;
  bool done = Remove(obsolete);
  for (std::size_t i = 0; i < current.size(); ++i) {
    if (current[i] && (changed[i] || new_generation))
      done = Update(*current[i], pool.slices[i], pool_fields) && done;
  }
  for (std::size_t i = 0; i < current.size(); ++i) {
    if (!current[i]) done = Create(node, pool, i, pool_fields) && done;
  }
  return done;
}

bool DeviceDrivers::Create(const Object& node, const DevicePool& pool, std::size_t index,
                           const json::object& pool_fields) {
  Document slice;
  slice.root()["metadata"] = json::object{
      {"generateName",
       fmt::format("{:0{}x}-{}-{}-", index, IndexDigits(pool.slices.size()), pool.driver, node.name)},
      {"labels", json::object{{kSimulatedDriver, "true"}}},
      {"ownerReferences", json::array{json::object{{"apiVersion", "v1"},
                                                   {"kind", "Node"},
                                                   {"name", node.name},
                                                   {"uid", node.uid},
                                                   {"controller", true}}}}};
  json::object& spec = ObjectAt(slice.root(), "spec");
  spec["driver"] = pool.driver;
  spec["pool"] = pool_fields;
  spec["nodeName"] = node.name;
  SetContent(spec, pool.slices[index]);
  return verbs_.Create(Kinds().resource_slices, "", std::move(slice)).has_value();
}

bool DeviceDrivers::Update(const Object& slice, const json::object& content,
                           const json::object& pool_fields) {
  const auto change = [&](json::object& document) -> ApiResult<> {
    json::object& spec = ObjectAt(document, "spec");
    spec["pool"] = pool_fields;
    SetContent(spec, ContentFor(spec, content));
    return {};
  };
  return verbs_.Edit(PlaceOf(slice), Part::kMain, change).has_value();
}

bool DeviceDrivers::Remove(const std::vector<ObjectPtr>& slices) {
  bool done = true;
  for (const auto& slice : slices) {
    const auto deleted = verbs_.Delete(PlaceOf(*slice), {});
    done = (deleted || deleted.error().code == 404) && done;
  }
  return done;
}

}  // namespace berth::sandbox
