#include "scheduler/devices/allocator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <limits>
#include <ranges>
#include <tuple>

#include "base/check.hpp"
#include "scheduler/devices/capacity.hpp"
#include "scheduler/devices/constraints.hpp"
#include "scheduler/devices/device_groups.hpp"
#include "scheduler/devices/properties.hpp"
#include "scheduler/devices/taints.hpp"

namespace berth::devices {
namespace {

using api::ResourceClaim;
using DeviceRequest = ResourceClaim::DeviceRequest;

// Calls in progress; a call for each device, request and claim. kube-scheduler has no such limit; the API
// server limits the size of a pod only, and with it the number of claims.
constexpr std::size_t kMaxDepth = 4000;
constexpr std::size_t kMostGrouped = 1000;  // comparisons grow with the square

// What takes about as long as a step: comparisons of amounts, taints or names; bytes of an expression, which
// is looked up by its text for each device.
constexpr std::uint64_t kComparisonsPerStep = 16;
constexpr std::uint64_t kOptionsPerStep = 4;  // the preparation of requests and alternatives
constexpr std::uint64_t kExpressionBytesPerStep = 1024;
// Those for a counter that is consumed: it is looked up in three tables, changed, and restored later.
constexpr std::uint64_t kComparisonsPerCounter = 4;
// Those for an amount of a share: it is computed again, added, and subtracted later.
constexpr std::uint64_t kComparisonsPerShare = 4;

std::string DeviceName(const NodePool& pool, const SliceDevice& device) {
  return fmt::format("{}/{}/{}", pool.driver, pool.pool, device.device->name);
}

const api::Quantity* FindCounter(const Counters& sets, const std::string& set, const std::string& counter) {
  const auto found = sets.find(set);
  if (found == sets.end()) return nullptr;
  const auto amount = found->second.find(counter);
  return amount == found->second.end() ? nullptr : &amount->second;
}

// The comparisons of HasCapacity.
std::uint64_t ComparisonsOfCapacity(const api::Device& device) {
  std::uint64_t amounts = device.capacity.size();
  for (const auto& [name, capacity] : device.capacity) {
    if (capacity.request_policy) amounts += capacity.request_policy->valid_values.size();
  }
  return amounts;
}

std::uint64_t ComparisonsOfConstraint(const ResourceClaim::Constraint& constraint, std::size_t chosen) {
  return 2 + 2 * constraint.requests.size() + (constraint.distinct_attribute ? chosen : 0);
}

// Whether the pool has less of the counter than allocated devices and those in `chosen` consume.
bool IsExceeded(const NodePool& pool, const Counters& chosen, const std::string& set,
                const std::string& counter) {
  const api::Quantity* value = FindCounter(pool.counters, set, counter);
  if (value == nullptr) return false;
  api::Quantity total;
  for (const Counters* consumed : {&pool.consumed, &chosen}) {
    if (const api::Quantity* amount = FindCounter(*consumed, set, counter)) total += *amount;
  }
  return value->Compare(total) < 0;
}

}  // namespace

// One search. Members are the state of the search; a choice that does not lead to a solution is undone.
class Allocator::Search {
 public:
  Search(const Allocator& allocator, const NodeDevices& node, std::span<const ResourceClaim* const> claims)
      : allocator_(allocator), features_(allocator.features_), pools_(node.pools), claims_(claims) {}

  AllocationOutcome Run();
  std::uint64_t steps() const { return steps_; }

 private:
  using Outcome = AllocationOutcome;
  // The result of one step of the search.
  enum class Result : std::uint8_t {
    kDone,     // everything is allocated
    kNo,       // no solution from here
    kTooMany,  // no solution, because the claim would have too many devices
    kStop,     // the search must end: failed_ says why
  };

  // What is known about a request or one of its alternatives.
  struct Wanted {
    const DeviceRequest* request = nullptr;
    std::string_view name;  // of the alternative if it is one
    const api::DeviceClass* device_class = nullptr;
    std::int64_t count = 0;
    struct Candidate {
      const NodePool* pool;
      std::size_t slice;
      std::size_t device;
    };
    std::vector<Candidate> all;  // mode All; the first ones if there are more than a claim may have
    // Whether the selectors match a device; filled on demand.
    boost::unordered_flat_map<DeviceId, bool> selectable;
  };
  struct Request {
    std::string_view name;
    bool has_alternatives = false;
    std::vector<Wanted> options;  // one, or one per alternative
  };
  struct Claim {
    const ResourceClaim* object = nullptr;
    std::vector<Request> requests;
    std::vector<ConstraintCheck> constraints;
    std::vector<ChosenDevice> chosen;
  };
  // A device of a request that has to be found.
  struct Position {
    std::size_t claim = 0;
    std::size_t request = 0;
    std::size_t option = 0;
    std::int64_t device = 0;
    std::size_t excluded_from = 0;  // index in excluded_: the groups that the request may not use
  };
  // Where the search for it begins. Devices of one request are chosen in ascending order: combinations, not
  // permutations.
  struct Location {
    std::size_t pool = 0;
    std::size_t slice = 0;
    std::size_t device = 0;
  };
  // What the devices chosen so far do with a device.
  struct Choice {
    std::vector<std::size_t> claims;  // that have chosen the whole device
    std::uint32_t shares = 0;
    api::QuantityMap consumed;  // by the shares
  };
  // What chosen devices consume of a pool's counters.
  struct Consumption {
    Counters sums;
    std::vector<api::Quantity> before;  // the sums that the devices have changed, in the order of changes
    // Counters that are exceeded without them: set and counter. Refers to the pool.
    std::vector<std::pair<const std::string*, const std::string*>> exceeded;
  };

  // --- checks before the search; false: failed_ is set ---
  bool Prepare(const ResourceClaim& object);
  bool PrepareRequest(const ResourceClaim::Request& request, Claim& claim, std::int64_t& devices);
  bool PrepareOption(const DeviceRequest& request, std::string_view name, Claim& claim, Wanted& out);
  bool ListAll(Claim& claim, Wanted& wanted);

  // --- search ---
  Result Next(Position at, Location from, bool option_chosen);
  Result NextRequest(const Position& at);
  Result TryOptions(Position at);
  Result TryAll(const Position& at, Wanted& wanted);
  Result TryEach(const Position& at, Location from, Wanted& wanted);
  // The same in another order than the listed one; `from`: an index in ordered_.
  Result TryEachInOrder(const Position& at, std::size_t from, Wanted& wanted);
  // nullopt: the device leads to no solution. `next`: where the search for another device begins.
  std::optional<Result> TryDevice(const Position& at, const Location& device, const Location& next,
                                  std::size_t excluded_from, Wanted& wanted);
  void OrderDevices();
  bool Selectable(const Claim& claim, Wanted& wanted, const NodePool& pool, std::size_t slice,
                  std::size_t device);
  bool Matches(const Claim& claim, const std::vector<api::DeviceSelector>& selectors,
               const api::DeviceClass* device_class, const NodePool& pool, const SliceDevice& device);
  bool IsTaken(const SliceDevice& device, bool admin, std::size_t claim) const;
  bool IsExcluded(const SliceDevice& device, std::size_t excluded_from) const;
  class Exclusions;
  void Exclude(const SliceDevice& device);
  void GroupDevices();
  std::optional<std::uint32_t> GroupOf(const SliceDevice& device) const;
  Expected<bool> HasRoom(const Wanted& wanted, const SliceDevice& device) const;
  // Chooses a device for a position; `must`: a violated constraint is an error. Returns false if that is not
  // possible.
  bool Choose(const Position& at, const Wanted& wanted, const NodePool& pool, std::size_t slice,
              std::size_t device, bool must);
  void Undo(const Position& at);
  bool TakeCounters(const NodePool& pool, const SliceDevice& device);
  void ReturnCounters(const NodePool& pool, const SliceDevice& device);
  bool AddToConstraints(Claim& claim, const Position& at, const NodePool& pool, const SliceDevice& device);
  void RemoveFromConstraints(Claim& claim, const Position& at, std::size_t count);

  bool failed() const { return failed_.has_value(); }
  bool Fail(std::string error) {
    failed_ = Outcome{Outcome::Kind::kError, std::move(error)};
    return false;
  }
  // The comparisons of Choose.
  std::uint64_t ComparisonsOfChoice(const Claim& claim, const Wanted& wanted, const SliceDevice& device,
                                    bool shared, bool takes_counters) const;
  // False: the search has taken too long.
  bool Spend(std::uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ <= allocator_.limits_.steps) return true;
    failed_ = Outcome{Outcome::Kind::kTimeout};
    return false;
  }
  std::string Where(const Claim& claim, std::string_view request) const {
    return fmt::format("claim {}, request {}", claim.object->metadata.Key(), request);
  }

  const Allocator& allocator_;
  const Features& features_;
  const std::vector<NodePool>& pools_;
  const std::span<const ResourceClaim* const> claims_;
  std::uint64_t steps_ = 0;
  std::size_t depth_ = 0;
  std::vector<Claim> state_;   // by claim
  std::uint64_t options_ = 0;  // the requests and alternatives of all claims that can be reached
  // Calls of Next, at least, that are in progress when the next claim to be prepared is reached.
  std::size_t calls_ = 0;
  boost::unordered_flat_map<DeviceId, Choice> choices_;
  std::map<const NodePool*, Consumption> counters_;
  std::vector<bool> took_counters_;  // by chosen device, in the order of choices
  std::optional<DeviceGroups> groups_;
  std::vector<Location> ordered_;  // in the order of the allocator, unless that is the listed one
  // Groups of which one device has led to no solution, by call of TryEach in progress.
  std::vector<std::uint32_t> excluded_;
  std::optional<Outcome> failed_;
};

double FreeShare(const NodePool& pool, const SliceDevice& device, const AllocatedDevices::Use& use) {
  double sum = 0;
  std::size_t parts = 0;
  const auto add = [&](const api::Quantity& part, const api::Quantity& whole) {
    const auto all = static_cast<double>(whole.MilliValue());
    if (all <= 0) return;
    sum += static_cast<double>(part.MilliValue()) / all;
    ++parts;
  };
  if (use.shares > 0) {
    for (const auto& [name, capacity] : device.device->capacity) {
      const auto consumed = use.consumed.find(name);
      add(consumed == use.consumed.end() ? api::Quantity() : consumed->second, capacity.value);
    }
    return parts == 0 ? 1 : 1 - sum / static_cast<double>(parts);
  }
  for (const api::CounterConsumption& consumption : device.device->consumes_counters) {
    const auto set = pool.counters.find(consumption.counter_set);
    if (set == pool.counters.end()) continue;
    for (const auto& [name, amount] : consumption.counters) {
      if (const auto whole = set->second.find(name); whole != set->second.end()) add(amount, whole->second);
    }
  }
  return parts == 0 ? 1 : sum / static_cast<double>(parts);
}

AllocationOutcome Allocator::Allocate(const NodeDevices& node,
                                      std::span<const ResourceClaim* const> claims) const {
  Search search(*this, node, claims);
  AllocationOutcome outcome = search.Run();
  outcome.steps = search.steps();
  return outcome;
}

AllocationOutcome Allocator::Search::Run() {
  state_.reserve(claims_.size());
  for (const ResourceClaim* claim : claims_) {
    if (!Prepare(*claim)) return *std::move(failed_);
  }
  if (allocator_.order_ != DeviceOrder::kListed) OrderDevices();
  const Result result = Next({}, {}, false);
  if (failed()) return *std::move(failed_);
  if (result == Result::kTooMany) return {Outcome::Kind::kError, "allocation max size exceeded"};
  if (result == Result::kNo) {
    const bool invalid = std::ranges::any_of(pools_, &NodePool::invalid);
    return {invalid ? Outcome::Kind::kInvalidPools : Outcome::Kind::kImpossible};
  }
  Outcome outcome{Outcome::Kind::kAllocated};
  for (Claim& claim : state_) outcome.claims.push_back(std::move(claim.chosen));
  return outcome;
}

// --- checks before the search ---

bool Allocator::Search::Prepare(const ResourceClaim& object) {
  Claim& claim = state_.emplace_back();
  claim.object = &object;
  std::int64_t devices = 0;
  claim.requests.reserve(object.requests.size());
  for (const ResourceClaim::Request& request : object.requests) {
    if (!PrepareRequest(request, claim, devices)) return false;
  }
  for (std::size_t i = 0; i < object.constraints.size(); ++i) {
    const ResourceClaim::Constraint& constraint = object.constraints[i];
    if (!constraint.match_attribute && !constraint.distinct_attribute) {
      return Fail(fmt::format("claim {}, constraint #{}: empty constraint (unsupported constraint type?)",
                              object.metadata.Key(), i));
    }
    claim.constraints.emplace_back(constraint);
  }
  std::uint64_t options = 0;
  for (const Request& request : claim.requests) options += request.options.size();
  // A pod may reference one claim tens of thousands of times.
  const bool reachable = calls_ < kMaxDepth;
  calls_ += 1 + object.requests.size();
  if (reachable) {
    options_ += options;
  } else {
    std::vector<Request>().swap(claim.requests);
    std::vector<ConstraintCheck>().swap(claim.constraints);
  }
  return Spend(1 + options / kOptionsPerStep);
}

bool Allocator::Search::PrepareRequest(const ResourceClaim::Request& request, Claim& claim,
                                       std::int64_t& devices) {
  if (!features_.prioritized_list && !request.first_available.empty()) {
    return Fail(Where(claim, request.name) +
                ": has subrequests, but the DRAPrioritizedList feature is disabled");
  }
  if (!features_.consumable_capacity) {
    constexpr std::string_view kDisabled =
        "has capacity requests, but the DRAConsumableCapacity feature is disabled";
    if (request.exactly && request.exactly->capacity)
      return Fail(fmt::format("{}: {}", Where(claim, request.name), kDisabled));
    for (const auto& [name, alternative] : request.first_available) {
      if (alternative.capacity) {
        return Fail(
            fmt::format("claim {}, subrequest {}: {}", claim.object->metadata.Key(), name, kDisabled));
      }
    }
  }
  Request& prepared = claim.requests.emplace_back();
  prepared.name = request.name;
  prepared.has_alternatives = !request.first_available.empty();
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max();
  if (prepared.has_alternatives) {
    for (const auto& [name, alternative] : request.first_available) {
      if (!PrepareOption(alternative, name, claim, prepared.options.emplace_back())) return false;
      fewest = std::min(fewest, prepared.options.back().count);
    }
  } else {
    static const DeviceRequest kUnknown;
    const DeviceRequest& exactly = request.exactly ? *request.exactly : kUnknown;
    if (!PrepareOption(exactly, request.name, claim, prepared.options.emplace_back())) return false;
    fewest = prepared.options.back().count;
  }
  if (fewest > kMostDevicesOfClaim - devices) {
    return Fail(
        fmt::format("{}: adding {} devices exceeds the claim limit of {}, with {} already accounted for",
                    Where(claim, request.name), fewest, kMostDevicesOfClaim, devices));
  }
  devices += fewest;
  return true;
}

bool Allocator::Search::PrepareOption(const DeviceRequest& request, std::string_view name, Claim& claim,
                                      Wanted& out) {
  out.request = &request;
  out.name = name;
  const auto fail = [&](std::string_view why) { return Fail(fmt::format("{}{}", Where(claim, name), why)); };
  if (request.derived_attributes)
    return fail(": cannot handle request with derived attributes, the feature is disabled");
  for (std::size_t i = 0; i < request.selectors.size(); ++i) {
    if (!request.selectors[i].cel_expression)
      return fail(fmt::format(", selector #{}: CEL expression empty (unsupported selector type?)", i));
  }
  if (!features_.admin_access && request.admin_access)
    return fail(": admin access is requested, but the feature is disabled");
  if (request.device_class_name.empty())
    return fail(": missing device class name (unsupported request type?)");
  out.device_class = allocator_.classes_(request.device_class_name);
  if (out.device_class == nullptr) {
    return fail(
        fmt::format(": could not retrieve device class {0}: deviceclass.resource.k8s.io \"{0}\" not found",
                    request.device_class_name));
  }
  if (request.allocation_mode == "ExactCount") {
    out.count = request.count;
    return true;
  }
  if (request.allocation_mode == "All") return ListAll(claim, out);
  return fail(": unsupported count mode " + request.allocation_mode);
}

bool Allocator::Search::ListAll(Claim& claim, Wanted& wanted) {
  for (const NodePool& pool : pools_) {
    if (pool.incomplete || pool.invalid) {
      return Fail(fmt::format("{}: asks for all devices, but resource pool {}/{} is currently {}",
                              Where(claim, wanted.name), pool.driver, pool.pool,
                              pool.incomplete ? "being updated" : "invalid"));
    }
    for (std::size_t slice = 0; slice < pool.slices.size(); ++slice) {
      for (std::size_t i = 0; i < pool.slices[slice]->devices.size(); ++i) {
        if (!Spend()) return false;
        const bool selectable = Selectable(claim, wanted, pool, slice, i);
        if (failed()) return false;
        if (!selectable) continue;
        if (features_.consumable_capacity) {
          // Devices without room for it now stay in the list, so that the request fails.
          const api::Device& device = *pool.slices[slice]->devices[i].device;
          if (!Spend(ComparisonsOfCapacity(device) / kComparisonsPerStep)) return false;
          const Expected<bool> enough =
              HasCapacity(device, wanted.request->capacity, {}, {}, features_.fractional_capacity_range);
          if (!enough) {
            return Fail(fmt::format("{}: checking capacity for device {}: {}", Where(claim, wanted.name),
                                    device.name, enough.error().message));
          }
          if (!*enough) continue;
        }
        // With more devices, the claim has too many: none of them is chosen.
        if (wanted.count++ < kMostDevicesOfClaim) wanted.all.push_back({&pool, slice, i});
      }
    }
  }
  return true;
}

// --- search ---

Allocator::Search::Result Allocator::Search::Next(Position at, Location from, bool option_chosen) {
  if (!Spend()) return Result::kStop;
  if (at.claim >= state_.size()) return Result::kDone;
  struct Depth {
    explicit Depth(std::size_t& depth) : depth(depth) { ++depth; }
    ~Depth() { --depth; }
    std::size_t& depth;
  } const here(depth_);
  if (depth_ > kMaxDepth) {
    Fail(fmt::format("the claims of the pod have more than {} requests and devices", kMaxDepth));
    return Result::kStop;
  }
  Claim& claim = state_[at.claim];
  if (at.request >= claim.requests.size()) {
    // Another alternative of an earlier claim may need fewer devices of this one.
    const Result result = Next({.claim = at.claim + 1}, {}, false);
    return result == Result::kTooMany ? Result::kNo : result;
  }
  Request& request = claim.requests[at.request];
  if (request.has_alternatives && !option_chosen) return TryOptions(at);
  Wanted& wanted = request.options[at.option];
  const bool all = wanted.request->allocation_mode == "All";
  if (all && wanted.all.empty()) return Result::kNo;
  if (at.device >= wanted.count) return NextRequest(at);
  if (wanted.count - at.device > kMostDevicesOfClaim - static_cast<std::int64_t>(claim.chosen.size()))
    return Result::kTooMany;
  return all ? TryAll(at, wanted) : TryEach(at, from, wanted);
}

Allocator::Search::Result Allocator::Search::NextRequest(const Position& at) {
  return Next({.claim = at.claim, .request = at.request + 1}, {}, false);
}

Allocator::Search::Result Allocator::Search::TryOptions(Position at) {
  bool all_too_many = true;
  for (at.option = 0; at.option < state_[at.claim].requests[at.request].options.size(); ++at.option) {
    const Result result = Next(at, {}, true);
    if (result == Result::kTooMany) continue;
    all_too_many = false;
    if (result != Result::kNo) return result;
  }
  return all_too_many ? Result::kTooMany : Result::kNo;
}

// The devices are known, and their order does not matter: if one cannot be chosen, there is no solution.
Allocator::Search::Result Allocator::Search::TryAll(const Position& at, Wanted& wanted) {
  const Wanted::Candidate candidate = wanted.all[static_cast<std::size_t>(at.device)];
  if (!Choose(at, wanted, *candidate.pool, candidate.slice, candidate.device, true))
    return failed() ? Result::kStop : Result::kNo;
  Position next = at;
  ++next.device;
  const Result result = Next(next, {}, true);
  if (result != Result::kDone) Undo(at);
  return result;
}

// The groups that the devices of a request may not belong to, from an index in excluded_. Those that a call
// of TryEach adds are removed at its end.
class Allocator::Search::Exclusions {
 public:
  Exclusions(std::vector<std::uint32_t>& groups, const Position& at)
      : from(at.device == 0 ? groups.size() : at.excluded_from), groups_(groups), before_(groups.size()) {}
  ~Exclusions() { groups_.resize(before_); }
  Exclusions(const Exclusions&) = delete;
  Exclusions& operator=(const Exclusions&) = delete;
  const std::size_t from;

 private:
  std::vector<std::uint32_t>& groups_;
  const std::size_t before_;
};

Allocator::Search::Result Allocator::Search::TryEach(const Position& at, Location from, Wanted& wanted) {
  if (allocator_.order_ != DeviceOrder::kListed) return TryEachInOrder(at, from.device, wanted);
  const Exclusions exclusions(excluded_, at);
  for (std::size_t p = from.pool; p < pools_.size(); ++p) {
    const NodePool& pool = pools_[p];
    if (pool.incomplete || pool.invalid) continue;
    for (std::size_t s = p == from.pool ? from.slice : 0; s < pool.slices.size(); ++s) {
      const Slice& slice = *pool.slices[s];
      for (std::size_t d = p == from.pool && s == from.slice ? from.device : 0; d < slice.devices.size();
           ++d) {
        const auto result = TryDevice(at, {p, s, d}, {p, s, d + 1}, exclusions.from, wanted);
        if (result) return *result;
      }
    }
  }
  return Result::kNo;
}

Allocator::Search::Result Allocator::Search::TryEachInOrder(const Position& at, std::size_t from,
                                                            Wanted& wanted) {
  const Exclusions exclusions(excluded_, at);
  for (std::size_t i = from; i < ordered_.size(); ++i) {
    const auto result = TryDevice(at, ordered_[i], {.device = i + 1}, exclusions.from, wanted);
    if (result) return *result;
  }
  return Result::kNo;
}

// The order is that before the search: what the search itself takes does not change it, so that the devices
// of a request are combinations, not permutations, in this order, too.
void Allocator::Search::OrderDevices() {
  struct Ordered {
    bool binds_later = false;
    double free = 0;
    Location where;
  };
  std::vector<Ordered> devices;
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    const NodePool& pool = pools_[p];
    if (pool.incomplete || pool.invalid) continue;
    for (std::size_t s = 0; s < pool.slices.size(); ++s) {
      const std::vector<SliceDevice>& in_slice = pool.slices[s]->devices;
      for (std::size_t d = 0; d < in_slice.size(); ++d) {
        devices.push_back({!in_slice[d].device->binding_conditions.empty(),
                           FreeShare(pool, in_slice[d], allocator_.allocated_.use(in_slice[d].id)),
                           {p, s, d}});
      }
    }
  }
  std::ranges::stable_sort(devices, [](const Ordered& a, const Ordered& b) {
    return std::tie(a.binds_later, a.free) < std::tie(b.binds_later, b.free);
  });
  ordered_.reserve(devices.size());
  for (const Ordered& device : devices) ordered_.push_back(device.where);
}

std::optional<Allocator::Search::Result> Allocator::Search::TryDevice(const Position& at,
                                                                      const Location& where,
                                                                      const Location& next_from,
                                                                      std::size_t excluded_from,
                                                                      Wanted& wanted) {
  if (!Spend()) return Result::kStop;
  Claim& claim = state_[at.claim];
  const NodePool& pool = pools_[where.pool];
  const SliceDevice& device = pool.slices[where.slice]->devices[where.device];
  const bool admin = wanted.request->admin_access.value_or(false);
  if (IsTaken(device, admin, at.claim) || IsExcluded(device, excluded_from)) return std::nullopt;
  const bool selectable = Selectable(claim, wanted, pool, where.slice, where.device);
  if (failed()) return Result::kStop;
  if (!selectable) return std::nullopt;
  if (features_.consumable_capacity) {
    if (!Spend(ComparisonsOfCapacity(*device.device) / kComparisonsPerStep)) return Result::kStop;
    const Expected<bool> room = HasRoom(wanted, device);
    if (!room) {
      Fail(fmt::format("{}: checking capacity for device {}: {}", Where(claim, wanted.name),
                       DeviceName(pool, device), room.error().message));
      return Result::kStop;
    }
    if (!*room) return std::nullopt;
  }
  if (!Choose(at, wanted, pool, where.slice, where.device, false))
    return failed() ? std::optional(Result::kStop) : std::nullopt;
  Position next = at;
  ++next.device;
  next.excluded_from = excluded_from;
  const Result result = Next(next, next_from, true);
  if (result == Result::kDone) return result;
  Undo(at);
  if (result != Result::kNo) return result;
  Exclude(device);
  return failed() ? std::optional(Result::kStop) : std::nullopt;
}

// --- interchangeable devices ---

// A device has led to no solution. Then no later choice of this request can contain a device of its group:
// the two could be exchanged. This changes no result, but a claim without a solution is rejected in less
// time.
void Allocator::Search::Exclude(const SliceDevice& device) {
  if (steps_ < allocator_.limits_.group_after) return;
  if (!groups_) GroupDevices();
  if (failed()) return;
  if (const auto group = GroupOf(device)) excluded_.push_back(*group);
}

bool Allocator::Search::IsExcluded(const SliceDevice& device, std::size_t excluded_from) const {
  if (excluded_.size() == excluded_from) return false;
  const auto group = GroupOf(device);
  return group && std::find(excluded_.begin() + static_cast<std::ptrdiff_t>(excluded_from), excluded_.end(),
                            *group) != excluded_.end();
}

// None for devices that another request uses: they differ from the others of their group.
std::optional<std::uint32_t> Allocator::Search::GroupOf(const SliceDevice& device) const {
  const auto choice = choices_.find(device.id);
  const bool chosen =
      choice != choices_.end() && (!choice->second.claims.empty() || choice->second.shares > 0);
  return chosen ? std::nullopt : groups_->Of(device.id);
}

void Allocator::Search::GroupDevices() {
  groups_.emplace();
  BERTH_CHECK(!failed(), steps_);
  std::uint64_t compared = options_;  // of each device
  for (const Claim& claim : state_) compared += claim.object->constraints.size();
  for (const NodePool& pool : pools_) {
    if (pool.incomplete || pool.invalid) continue;
    for (std::size_t s = 0; s < pool.slices.size(); ++s) {
      for (std::size_t d = 0; d < pool.slices[s]->devices.size(); ++d) {
        if (groups_->devices() == kMostGrouped) return;
        if (!Spend((compared + groups_->size()) / kComparisonsPerStep)) return;
        const SliceDevice& device = pool.slices[s]->devices[d];
        DeviceProfile profile{.pool = &pool,
                              .device = &device,
                              .use = &allocator_.allocated_.use(device.id),
                              .usable = pool.IsUsable(s, d),
                              .selectable = {},
                              .attributes = {}};
        bool ordered =
            false;  // mode All takes devices in order, and the order decides between no and an error
        for (Claim& claim : state_) {
          for (Request& request : claim.requests) {
            for (Wanted& wanted : request.options) {
              const bool selectable = Selectable(claim, wanted, pool, s, d);
              profile.selectable.push_back(selectable);
              ordered = ordered || (selectable && wanted.request->allocation_mode == "All");
            }
          }
          for (const ResourceClaim::Constraint& constraint : claim.object->constraints) {
            const auto& name =
                constraint.match_attribute ? constraint.match_attribute : constraint.distinct_attribute;
            profile.attributes.push_back(FindQualified(device.device->attributes, pool.driver, *name));
          }
        }
        // A selector that cannot be evaluated is an error only where the search reaches it.
        if (failed()) {
          if (failed_->kind == Outcome::Kind::kTimeout) return;
          failed_.reset();
          continue;
        }
        if (!ordered) groups_->Add(std::move(profile));
      }
    }
  }
}

// --- one device ---

bool Allocator::Search::Selectable(const Claim& claim, Wanted& wanted, const NodePool& pool,
                                   std::size_t slice, std::size_t index) {
  const SliceDevice& device = pool.slices[slice]->devices[index];
  if (!features_.binding_conditions && !device.device->binding_conditions.empty()) return false;
  if (const auto known = wanted.selectable.find(device.id); known != wanted.selectable.end())
    return known->second;
  const bool matches = Matches(claim, wanted.device_class->selectors, wanted.device_class, pool, device) &&
                       Matches(claim, wanted.request->selectors, nullptr, pool, device) &&
                       pool.IsUsable(slice, index);
  if (failed()) return false;
  wanted.selectable.emplace(device.id, matches);
  return matches;
}

// `device_class` is null for the selectors of the claim.
bool Allocator::Search::Matches(const Claim& claim, const std::vector<api::DeviceSelector>& selectors,
                                const api::DeviceClass* device_class, const NodePool& pool,
                                const SliceDevice& device) {
  if (failed()) return false;
  using Kind = SelectorEvaluator::Answer::Kind;
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    static const std::string kNone;
    const std::string& expression = selectors[i].cel_expression ? *selectors[i].cel_expression : kNone;
    const auto& answer = allocator_.selectors_.Evaluate(expression, pool.driver, device);
    if (!Spend(answer.steps + expression.size() / kExpressionBytesPerStep)) return false;
    if (answer.kind == Kind::kMatch) continue;
    if (answer.kind == Kind::kNoMatch) return false;
    const std::string owner = device_class != nullptr ? "class " + device_class->metadata.name
                                                      : "claim " + claim.object->metadata.Key();
    if (answer.kind == Kind::kCompileError)
      return Fail(fmt::format("{}: selector #{}: CEL compile error: {}", owner, i, answer.error));
    return Fail(fmt::format("{}: selector #{} on device {}: CEL runtime error: {}", owner, i,
                            DeviceName(pool, device), answer.error));
  }
  return true;
}

bool Allocator::Search::IsTaken(const SliceDevice& device, bool admin, std::size_t claim) const {
  const auto choice = choices_.find(device.id);
  if (admin) {
    return choice != choices_.end() &&
           std::ranges::find(choice->second.claims, claim) != choice->second.claims.end();
  }
  return allocator_.allocated_.use(device.id).claims > 0 ||
         (choice != choices_.end() && !choice->second.claims.empty());
}

Expected<bool> Allocator::Search::HasRoom(const Wanted& wanted, const SliceDevice& device) const {
  static const api::QuantityMap kNothing;
  const auto choice = choices_.find(device.id);
  return HasCapacity(*device.device, wanted.request->capacity, allocator_.allocated_.use(device.id).consumed,
                     choice == choices_.end() ? kNothing : choice->second.consumed,
                     features_.fractional_capacity_range);
}

bool Allocator::Search::Choose(const Position& at, const Wanted& wanted, const NodePool& pool,
                               std::size_t slice, std::size_t index, bool must) {
  Claim& claim = state_[at.claim];
  const SliceDevice& device = pool.slices[slice]->devices[index];
  const bool admin = wanted.request->admin_access.value_or(false);
  const bool shared = features_.consumable_capacity && device.device->allow_multiple_allocations;
  if (IsTaken(device, admin, at.claim)) return false;
  if (!features_.partitionable_devices && !device.device->consumes_counters.empty()) return false;
  // A further share of a device charges no counters: they are charged already.
  const auto choice = choices_.find(device.id);
  const bool charged = shared && (allocator_.allocated_.use(device.id).shares > 0 ||
                                  (choice != choices_.end() && choice->second.shares > 0));
  const bool takes_counters = !charged && !device.device->consumes_counters.empty();
  if (!Spend(ComparisonsOfChoice(claim, wanted, device, shared, takes_counters) / kComparisonsPerStep))
    return false;
  if (takes_counters && !TakeCounters(pool, device)) return false;
  const auto give_up = [&] {
    if (takes_counters) ReturnCounters(pool, device);
    return false;
  };
  if (features_.device_taints && UntoleratedTaint(device, *wanted.request) != nullptr) return give_up();
  if (!AddToConstraints(claim, at, pool, device)) {
    give_up();
    if (must) {
      Fail(fmt::format("{}: cannot add device {} because a claim constraint would not be satisfied",
                       Where(claim, wanted.name), DeviceName(pool, device)));
    }
    return false;
  }
  ChosenDevice chosen{at.request, std::nullopt, &pool, pool.slices[slice], &device, admin, std::nullopt};
  if (claim.requests[at.request].has_alternatives) chosen.alternative = at.option;
  if (features_.consumable_capacity) {
    // TryDevice has compared the same amounts a moment ago.
    Expected<bool> room = must ? HasRoom(wanted, device) : true;
    Expected<api::QuantityMap> consumed;
    if (room && *room && shared) {
      consumed =
          ConsumedCapacity(*device.device, wanted.request->capacity, features_.fractional_capacity_range);
      if (!consumed) room = std::unexpected(consumed.error());
    }
    if (!room || !*room) {
      RemoveFromConstraints(claim, at, claim.constraints.size());
      if (!room) {
        Fail(fmt::format("{}: rechecking capacity for device {}: {}", Where(claim, wanted.name),
                         DeviceName(pool, device), room.error().message));
      }
      return give_up();
    }
    if (shared) chosen.consumed = *std::move(consumed);
  }
  Choice& taken = choices_[device.id];
  if (shared) {
    ++taken.shares;
    AddAmounts(taken.consumed, *chosen.consumed);
  } else {
    taken.claims.push_back(at.claim);
  }
  took_counters_.push_back(takes_counters);
  claim.chosen.push_back(std::move(chosen));
  return true;
}

std::uint64_t Allocator::Search::ComparisonsOfChoice(const Claim& claim, const Wanted& wanted,
                                                     const SliceDevice& device, bool shared,
                                                     bool takes_counters) const {
  std::uint64_t comparisons = device.taints.size() * (1 + wanted.request->tolerations.size());
  if (shared) comparisons += kComparisonsPerShare * ComparisonsOfCapacity(*device.device);
  if (takes_counters) {
    for (const api::CounterConsumption& consumption : device.device->consumes_counters)
      comparisons += kComparisonsPerCounter * consumption.counters.size();
  }
  for (const ResourceClaim::Constraint& constraint : claim.object->constraints)
    comparisons += ComparisonsOfConstraint(constraint, claim.chosen.size());
  return comparisons;
}

// Undoes the last choice, which was made at this position.
void Allocator::Search::Undo(const Position& at) {
  Claim& claim = state_[at.claim];
  BERTH_CHECK(!claim.chosen.empty() && !took_counters_.empty(), at.claim, at.request);
  const ChosenDevice chosen = std::move(claim.chosen.back());
  claim.chosen.pop_back();
  Choice& taken = choices_.at(chosen.device->id);
  if (chosen.consumed) {
    SubtractAmounts(taken.consumed, *chosen.consumed);
    if (--taken.shares == 0) taken.consumed.clear();
  } else {
    taken.claims.pop_back();
  }
  RemoveFromConstraints(claim, at, claim.constraints.size());
  if (took_counters_.back()) ReturnCounters(*chosen.pool, *chosen.device);
  took_counters_.pop_back();
}

// A counter of the pool that is exceeded refuses every device, also those that do not consume it. Those that
// are not exceeded without chosen devices are compared when one changes them.
bool Allocator::Search::TakeCounters(const NodePool& pool, const SliceDevice& device) {
  const auto [at, first] = counters_.try_emplace(&pool);
  Consumption& taken = at->second;
  if (first) {
    for (const auto& [set, counters] : pool.counters) {
      for (const auto& [counter, value] : counters) {
        if (IsExceeded(pool, {}, set, counter)) taken.exceeded.emplace_back(&set, &counter);
      }
    }
  }
  const std::vector<api::CounterConsumption>& wanted = device.device->consumes_counters;
  for (const api::CounterConsumption& consumption : wanted) {
    api::QuantityMap& sums = taken.sums[consumption.counter_set];
    for (const auto& [counter, amount] : consumption.counters) {
      api::Quantity& sum = sums[counter];
      taken.before.push_back(sum);
      sum += amount;
    }
  }
  const auto is_exceeded = [&](const std::string& set, const std::string& counter) {
    return IsExceeded(pool, taken.sums, set, counter);
  };
  const bool refused =
      std::ranges::any_of(taken.exceeded,
                          [&](const auto& entry) { return is_exceeded(*entry.first, *entry.second); }) ||
      std::ranges::any_of(wanted, [&](const api::CounterConsumption& consumption) {
        return std::ranges::any_of(consumption.counters, [&](const auto& entry) {
          return is_exceeded(consumption.counter_set, entry.first);
        });
      });
  if (refused) ReturnCounters(pool, device);
  return !refused;
}

// `device` took its counters last.
void Allocator::Search::ReturnCounters(const NodePool& pool, const SliceDevice& device) {
  Consumption& taken = counters_.at(&pool);
  for (const api::CounterConsumption& consumption : std::views::reverse(device.device->consumes_counters)) {
    api::QuantityMap& sums = taken.sums.at(consumption.counter_set);
    for (const auto& [counter, amount] : std::views::reverse(consumption.counters)) {
      BERTH_CHECK(!taken.before.empty(), pool.driver, pool.pool);
      sums.at(counter) = std::move(taken.before.back());
      taken.before.pop_back();
    }
  }
}

bool Allocator::Search::AddToConstraints(Claim& claim, const Position& at, const NodePool& pool,
                                         const SliceDevice& device) {
  const Request& request = claim.requests[at.request];
  const std::string_view alternative = request.has_alternatives ? request.options[at.option].name : "";
  for (std::size_t i = 0; i < claim.constraints.size(); ++i) {
    if (claim.constraints[i].Add(request.name, alternative, *device.device, pool.driver)) continue;
    RemoveFromConstraints(claim, at, i);
    return false;
  }
  return true;
}

// Removes the last device from the first `count` constraints.
void Allocator::Search::RemoveFromConstraints(Claim& claim, const Position& at, std::size_t count) {
  const Request& request = claim.requests[at.request];
  const std::string_view alternative = request.has_alternatives ? request.options[at.option].name : "";
  for (std::size_t i = count; i-- > 0;) claim.constraints[i].Remove(request.name, alternative);
}

}  // namespace berth::devices
