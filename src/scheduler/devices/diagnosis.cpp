// Why the devices of a node do not suffice for claims.
//
// First each request by itself: how many devices could be allocated, and what excludes the others. If every
// request has enough of them, their combination is the cause: searches without a constraint, without
// counters, or without the other requests show which part prevents the allocation.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/utf8_prefix.hpp"
#include "scheduler/devices/allocator.hpp"
#include "scheduler/devices/capacity.hpp"
#include "scheduler/devices/properties.hpp"
#include "scheduler/devices/taints.hpp"

namespace berth::devices {
namespace {

using api::ResourceClaim;
using DeviceRequest = ResourceClaim::DeviceRequest;
using Claims = std::span<const ResourceClaim* const>;

constexpr std::size_t kMostTexts = 4;      // of one cause that differ, for example values of attributes
constexpr std::size_t kMostLines = 32;     // of one diagnosis
constexpr std::size_t kLongestText = 160;  // of an expression, in bytes

// Counts devices by text, in the order in which the texts were added.
class Tally {
 public:
  void Add(std::string text) {
    const auto found = std::ranges::find(counts_, text, &std::pair<std::string, std::size_t>::first);
    if (found != counts_.end()) {
      ++found->second;
    } else if (counts_.size() < kMostTexts) {
      counts_.emplace_back(std::move(text), 1);
    } else {
      ++others_;
    }
  }
  bool empty() const { return counts_.empty(); }
  std::string Texts() const {
    return Text([](std::size_t, const std::string& text) { return text; });
  }
  std::string CountedTexts() const {
    return Text([](std::size_t count, const std::string& text) { return fmt::format("{} {}", count, text); });
  }
  // form(count, text) for each text, separated by ", ".
  std::string Text(const std::function<std::string(std::size_t, const std::string&)>& form) const {
    std::string result;
    for (const auto& [text, count] : counts_) result += (result.empty() ? "" : ", ") + form(count, text);
    if (others_ > 0) result += fmt::format(", {} others", others_);
    return result;
  }

 private:
  std::vector<std::pair<std::string, std::size_t>> counts_;
  std::size_t others_ = 0;
};

std::string Shortened(std::string text) {
  if (text.size() <= kLongestText) return text;
  return std::string(Utf8Prefix(text, kLongestText)) + "...";
}

std::string TaintText(const api::DeviceTaint& taint) {
  return fmt::format("{}{}{}:{}", taint.key, taint.value.empty() ? "" : "=", taint.value, taint.effect);
}

const api::Quantity* Find(const api::QuantityMap& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? nullptr : &found->second;
}

std::string AmountText(const api::Quantity* amount) { return amount == nullptr ? "0" : amount->Canonical(); }

// The capacity that excludes the device although nothing else does.
std::string CapacityText(const api::Device& device, const std::optional<api::QuantityMap>& requested,
                         const api::QuantityMap& used, bool fractional) {
  if (requested) {
    for (const auto& [name, amount] : *requested) {
      if (!device.capacity.contains(name)) return fmt::format("without capacity {}", name);
    }
  }
  const auto consumed = ConsumedCapacity(device, requested, fractional);
  if (!consumed) return consumed.error().message;
  for (const auto& [name, capacity] : device.capacity) {
    const api::Quantity& needed = consumed->at(name);
    api::Quantity total = needed;
    if (const api::Quantity* amount = Find(used, name)) total += *amount;
    if (total.Compare(capacity.value) <= 0) continue;
    // The suffix of a running sum depends on shares that have ended.
    api::Quantity in_use;
    if (const api::Quantity* amount = Find(used, name)) in_use = *amount;
    in_use.FormatAs(capacity.value);
    return fmt::format("with too little {} ({} of {} in use, {} needed)", name, in_use.Canonical(),
                       capacity.value.Canonical(), needed.Canonical());
  }
  return "whose request policy forbids the requested capacity";
}

// A counter that the device alone would exceed; nullopt: none.
std::optional<std::string> CounterText(const NodePool& pool, const api::Device& device) {
  if (device.consumes_counters.empty()) return std::nullopt;
  Counters own;
  for (const api::CounterConsumption& consumption : device.consumes_counters) {
    for (const auto& [name, amount] : consumption.counters) own[consumption.counter_set][name] += amount;
  }
  const auto find = [](const Counters& counters, const std::string& set, const std::string& name) {
    const auto found = counters.find(set);
    return found == counters.end() ? nullptr : Find(found->second, name);
  };
  for (const auto& [set, counters] : pool.counters) {
    for (const auto& [name, value] : counters) {
      const api::Quantity* used = find(pool.consumed, set, name);
      const api::Quantity* needed = find(own, set, name);
      api::Quantity total;
      if (used != nullptr) total += *used;
      if (needed != nullptr) total += *needed;
      if (value.Compare(total) >= 0) continue;
      return fmt::format("exceeding counter {}/{} ({} of {} in use, {} needed)", set, name, AmountText(used),
                         value.Canonical(), AmountText(needed));
    }
  }
  return std::nullopt;
}

// The devices of a node as one request or alternative sees them: each counts once, at its first cause.
struct Census {
  std::size_t devices = 0;
  std::size_t of_class = 0;
  std::size_t in_use = 0;
  std::size_t unsupported = 0;                          // a feature gate is off
  std::size_t incomplete_pools = 0, invalid_pools = 0;  // their devices are unknown
  Tally errors;                                         // of selectors
  Tally taints, capacities, counters;
  struct Selector {
    std::string expression;
    std::size_t rejected = 0;
    Tally values;
  };
  std::vector<Selector> selectors;  // of the request; those that reject devices
  struct Available {
    const NodePool* pool;
    const api::Device* device;
  };
  std::vector<Available> available;
};

}  // namespace

// The state of one diagnosis.
class Allocator::Diagnostician {
 public:
  Diagnostician(const Allocator& allocator, const NodeDevices& node, Claims claims)
      : allocator_(allocator), features_(allocator.features_), node_(node), claims_(claims) {}

  Diagnosis Run() {
    bool some_short = false;
    for (const ResourceClaim* claim : claims_) {
      for (const ResourceClaim::Request& request : claim->requests)
        some_short = ReportShortage(*claim, request) || some_short;
    }
    if (!some_short) ReportCombination();
    if (result_.lines.size() > kMostLines) result_.lines.resize(kMostLines);
    return std::move(result_);
  }

 private:
  using Kind = AllocationOutcome::Kind;

  // Calls visit(name, devices) for the request, or for each of its alternatives.
  template <class Visit>
  static void ForEachOption(const ResourceClaim::Request& request, Visit&& visit) {
    if (request.exactly) visit(request.name, *request.exactly);
    for (const auto& [name, devices] : request.first_available) visit(request.name + "/" + name, devices);
  }

  // --- one request by itself ---

  // False if the request, or one of its alternatives, has enough devices.
  bool ReportShortage(const ResourceClaim& claim, const ResourceClaim::Request& request) {
    std::vector<std::string> lines;
    bool enough = false;
    ForEachOption(request, [&](const std::string& name, const DeviceRequest& devices) {
      const Census census = Count(devices);
      const bool all = devices.allocation_mode == "All";
      const std::size_t matching = census.available.size() + census.in_use + Excluded(census);
      enough = enough || (all ? matching > 0 && matching == census.available.size()
                              : std::cmp_greater_equal(census.available.size(), devices.count));
      lines.push_back(
          fmt::format("claim {}, request {}: {}", claim.metadata.Key(), name, ShortageText(devices, census)));
    });
    if (enough) return false;
    std::ranges::move(lines, std::back_inserter(result_.lines));
    return true;
  }

  // Devices that the selectors match and that cannot be allocated though they are free.
  static std::size_t Excluded(const Census& census) {
    return census.of_class - census.available.size() - census.in_use - RejectedBySelectors(census);
  }
  static std::size_t RejectedBySelectors(const Census& census) {
    std::size_t rejected = 0;
    for (const Census::Selector& selector : census.selectors) rejected += selector.rejected;
    return rejected;
  }

  Census Count(const DeviceRequest& request) {
    Census census;
    const api::DeviceClass* device_class = allocator_.classes_(request.device_class_name);
    if (device_class == nullptr) return census;
    for (const NodePool& pool : node_.pools) {
      census.incomplete_pools += pool.incomplete;
      census.invalid_pools += pool.invalid;
      for (std::size_t s = 0; s < pool.slices.size(); ++s) {
        for (std::size_t d = 0; d < pool.slices[s]->devices.size(); ++d) {
          if (pool.IsUsable(s, d))
            CountDevice(request, *device_class, pool, pool.slices[s]->devices[d], census);
        }
      }
    }
    return census;
  }

  void CountDevice(const DeviceRequest& request, const api::DeviceClass& device_class, const NodePool& pool,
                   const SliceDevice& device, Census& census) {
    ++census.devices;
    for (const api::DeviceSelector& selector : device_class.selectors) {
      if (!Matches(selector, pool, device, census)) return;
    }
    ++census.of_class;
    for (const api::DeviceSelector& selector : request.selectors) {
      if (Matches(selector, pool, device, census)) continue;
      return Reject(selector, pool, device, census);
    }
    const AllocatedDevices::Use& use = allocator_.allocated_.use(device.id);
    if (use.claims > 0 && !request.admin_access.value_or(false)) return void(++census.in_use);
    if (IsUnsupported(*device.device)) return void(++census.unsupported);
    if (features_.device_taints) {
      if (const api::DeviceTaint* taint = UntoleratedTaint(device, request))
        return census.taints.Add(TaintText(*taint));
    }
    if (features_.consumable_capacity) {
      const bool fractional = features_.fractional_capacity_range;
      const auto room = HasCapacity(*device.device, request.capacity, use.consumed, {}, fractional);
      if (!room || !*room)
        return census.capacities.Add(
            CapacityText(*device.device, request.capacity, use.consumed, fractional));
    }
    // A further share of a device charges no counters.
    const bool shared = features_.consumable_capacity && device.device->allow_multiple_allocations;
    if (!shared || use.shares == 0) {
      if (auto counter = CounterText(pool, *device.device)) return census.counters.Add(*std::move(counter));
    }
    census.available.push_back({&pool, device.device});
  }

  bool IsUnsupported(const api::Device& device) const {
    return (!features_.binding_conditions && !device.binding_conditions.empty()) ||
           (!features_.partitionable_devices && !device.consumes_counters.empty());
  }

  bool Matches(const api::DeviceSelector& selector, const NodePool& pool, const SliceDevice& device,
               Census& census) {
    if (!selector.cel_expression) return false;
    const auto& answer = allocator_.selectors_.Evaluate(*selector.cel_expression, pool.driver, device);
    result_.steps += answer.steps;
    if (!answer.error.empty()) census.errors.Add(Shortened(answer.error));
    return answer.kind == SelectorEvaluator::Answer::Kind::kMatch;
  }

  void Reject(const api::DeviceSelector& selector, const NodePool& pool, const SliceDevice& device,
              Census& census) {
    const std::string expression = selector.cel_expression.value_or("");
    auto found = std::ranges::find(census.selectors, expression, &Census::Selector::expression);
    if (found == census.selectors.end())
      found = census.selectors.insert(census.selectors.end(), {.expression = expression, .values = {}});
    ++found->rejected;
    std::string values = allocator_.selectors_.ValuesOf(expression, pool.driver, device);
    if (!values.empty()) found->values.Add(Shortened(std::move(values)));
  }

  // "2 of class gpu requested, 1 of 8 available: 3 in use, 4 rejected by ..."
  static std::string ShortageText(const DeviceRequest& request, const Census& census) {
    std::string text = CausesText(request, census);
    const auto add_pools = [&](std::size_t count, std::string_view state) {
      if (count > 0)
        text += fmt::format("; {} {} of the node {} {}", count, count == 1 ? "pool" : "pools",
                            count == 1 ? "is" : "are", state);
    };
    add_pools(census.incomplete_pools, "being updated");
    add_pools(census.invalid_pools, "invalid");
    if (census.errors.empty()) return text;
    return text + "; selectors cannot be evaluated: " + census.errors.Texts();
  }
  static std::string CausesText(const DeviceRequest& request, const Census& census) {
    const bool all = request.allocation_mode == "All";
    std::string text =
        all ? fmt::format("all devices of class {} requested", request.device_class_name)
            : fmt::format("{} of class {} requested", request.count, request.device_class_name);
    if (census.devices == 0) return text + ", the node has no devices";
    if (census.of_class == 0)
      return text + fmt::format(", none of the node's {} devices is of this class", census.devices);
    text += fmt::format(", {} of {} available", census.available.size(), census.of_class);
    std::string causes;
    const auto add = [&](const std::string& cause) { causes += (causes.empty() ? ": " : ", ") + cause; };
    if (census.in_use > 0) add(fmt::format("{} in use", census.in_use));
    if (!census.taints.empty()) {
      add(census.taints.Text([](std::size_t count, const std::string& taint) {
        return fmt::format("{} with the untolerated taint {}", count, taint);
      }));
    }
    for (const Census::Selector& selector : census.selectors) {
      std::string cause =
          fmt::format("{} rejected by selector `{}`", selector.rejected, Shortened(selector.expression));
      if (!selector.values.empty()) cause += " (" + selector.values.CountedTexts() + ")";
      add(cause);
    }
    if (!census.capacities.empty()) add(census.capacities.CountedTexts());
    if (!census.counters.empty()) add(census.counters.CountedTexts());
    if (census.unsupported > 0) add(fmt::format("{} need a feature gate that is off", census.unsupported));
    return text + causes;
  }

  // --- all requests together ---

  void ReportCombination() {
    // The first request that cannot be allocated beside those before it.
    std::vector<const ResourceClaim*> before;
    for (const ResourceClaim* claim : claims_) {
      for (std::size_t r = 0; r < claim->requests.size(); ++r) {
        ResourceClaim part = *claim;
        part.requests.resize(r + 1);
        before.push_back(&part);
        const auto kind = Search(node_, before);
        if (!kind) return Report(*claim, claim->requests[r], "the search for the cause takes too long");
        if (*kind == Kind::kError) return;
        if (*kind != Kind::kAllocated) return ReportConflict(before, *claim, r);
        before.pop_back();
      }
      before.push_back(claim);
    }
  }

  // `until`: the claims up to the request, which cannot be allocated.
  void ReportConflict(const std::vector<const ResourceClaim*>& until, const ResourceClaim& claim,
                      std::size_t request) {
    const ResourceClaim& last = *until.back();
    for (std::size_t i = 0; i < last.constraints.size(); ++i) {
      ResourceClaim relaxed = last;
      relaxed.constraints.erase(relaxed.constraints.begin() + static_cast<std::ptrdiff_t>(i));
      if (Fits(node_, until, &relaxed)) return ReportConstraint(claim, request, last.constraints[i]);
    }
    NodeDevices without_counters = node_;
    for (NodePool& pool : without_counters.pools) pool.counters.clear();
    if (Fits(without_counters, until, nullptr)) return ReportCounters(claim, request);
    ResourceClaim alone = last;
    alone.requests = {last.requests.back()};
    const ResourceClaim* only = &alone;
    const auto kind = Search(node_, {&only, 1});
    if (kind == Kind::kAllocated) {
      return Report(claim, claim.requests[request],
                    "the requests before it need the same devices" + AvailableText(claim.requests[request]));
    }
    Report(claim, claim.requests[request], "no combination of the available devices meets all conditions");
  }

  void ReportConstraint(const ResourceClaim& claim, std::size_t request,
                        const ResourceClaim::Constraint& constraint) {
    const bool match = constraint.match_attribute.has_value();
    const std::string& name = match ? *constraint.match_attribute : *constraint.distinct_attribute;
    ForEachOption(claim.requests[request], [&](const std::string& option, const DeviceRequest& devices) {
      Tally values;
      for (const auto& [pool, device] : Count(devices).available) {
        const api::DeviceAttribute* attribute = FindQualified(device->attributes, pool->driver, name);
        values.Add(attribute == nullptr ? "without it" : "with " + ValueText(*attribute));
      }
      result_.lines.push_back(
          fmt::format("claim {}, request {}: constraint {} {} cannot be met; available are {}",
                      claim.metadata.Key(), option, match ? "matchAttribute" : "distinctAttribute", name,
                      values.empty() ? "no devices" : values.CountedTexts()));
    });
  }

  void ReportCounters(const ResourceClaim& claim, std::size_t request) {
    Tally left;
    for (const NodePool& pool : node_.pools) {
      for (const auto& [set, counters] : pool.counters) {
        const auto consumed = pool.consumed.find(set);
        for (const auto& [name, value] : counters) {
          const api::Quantity* used =
              consumed == pool.consumed.end() ? nullptr : Find(consumed->second, name);
          left.Add(fmt::format("{}/{} ({} of {} in use)", set, name, AmountText(used), value.Canonical()));
        }
      }
    }
    Report(claim, claim.requests[request],
           "the available devices together exceed the shared counters: " + left.Texts());
  }

  // ": 2 requested, 2 available"
  std::string AvailableText(const ResourceClaim::Request& request) {
    if (!request.exactly) return "";
    return fmt::format(": {} requested, {} available", request.exactly->count,
                       Count(*request.exactly).available.size());
  }

  void Report(const ResourceClaim& claim, const ResourceClaim::Request& request, std::string_view cause) {
    result_.lines.push_back(
        fmt::format("claim {}, request {}: {}", claim.metadata.Key(), request.name, cause));
  }

  // Whether the claims can be allocated, the last one replaced by `relaxed` if it is not null.
  bool Fits(const NodeDevices& node, std::vector<const ResourceClaim*> claims, const ResourceClaim* relaxed) {
    if (relaxed != nullptr) claims.back() = relaxed;
    return Search(node, claims) == Kind::kAllocated;
  }

  // nullopt: too many steps.
  std::optional<Kind> Search(const NodeDevices& node, Claims claims) {
    SearchLimits limits = allocator_.limits_;
    limits.steps -= std::min(limits.steps, result_.steps);
    const Allocator allocator(features_, allocator_.allocated_, allocator_.classes_, allocator_.selectors_,
                              limits);
    const AllocationOutcome outcome = allocator.Allocate(node, claims);
    result_.steps += outcome.steps;
    if (outcome.kind == Kind::kTimeout) return std::nullopt;
    return outcome.kind;
  }

  const Allocator& allocator_;
  const Features& features_;
  const NodeDevices& node_;
  const Claims claims_;
  Diagnosis result_;
};

Allocator::Diagnosis Allocator::Diagnose(const NodeDevices& node, Claims claims) const {
  return Diagnostician(*this, node, claims).Run();
}

}  // namespace berth::devices
