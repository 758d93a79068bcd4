// Dynamic resource allocation (resource.k8s.io, read as v1, v1beta2 or v1beta1): devices, classes of devices,
// claims and allocations. meta.hpp describes the conventions for all objects.
//
// Names of attributes and capacities have a domain ("gpu.example.com/model") or none, which stands for the
// domain of the driver.
#pragma once

#include <map>
#include <variant>

#include "kubernetes/api/meta.hpp"

namespace berth::api {

inline constexpr std::string_view kExtendedResourceClaimAnnotation =
    "resource.kubernetes.io/extended-resource-claim";
// Followed by the name of a DeviceClass: an extended resource that the class provides.
inline constexpr std::string_view kDeviceClassResourcePrefix = "deviceclass.resource.kubernetes.io/";

// Amounts by name.
using QuantityMap = std::map<std::string, Quantity, std::less<>>;

// A condition that a device must meet. Absent: a kind of selector that this release does not know.
struct DeviceSelector {
  std::optional<std::string> cel_expression;
  friend bool operator==(const DeviceSelector&, const DeviceSelector&) = default;
};

// Parameters for a driver, passed through to the allocation.
struct DeviceConfiguration {
  std::vector<std::string> requests;  // "request" or "request/alternative"; empty: all requests
  std::string parameters;             // the other members of the object, as JSON: {"opaque":{...}}
  friend bool operator==(const DeviceConfiguration&, const DeviceConfiguration&) = default;
};

struct DeviceClass {
  static constexpr std::string_view kKind = "DeviceClass";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
  std::string creation_timestamp;  // RFC 3339, UTC, whole seconds
  std::vector<DeviceSelector> selectors;
  std::vector<DeviceConfiguration> config;  // without requests
  std::optional<std::string> extended_resource_name;
};

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;
  friend bool operator==(const DeviceTaint&, const DeviceTaint&) = default;
};

struct DeviceToleration {
  std::string key;
  std::string op;  // empty means Equal
  std::string value;
  std::string effect;  // empty means every effect
  std::optional<std::int64_t> toleration_seconds;
  friend bool operator==(const DeviceToleration&, const DeviceToleration&) = default;
};

// What a request or one of its alternatives asks for.
struct ExactDeviceRequest {
  std::string device_class_name;  // empty: an unknown kind of request
  std::vector<DeviceSelector> selectors;
  // The API server's defaults are filled in: ExactCount, and a count of 1.
  std::string allocation_mode;  // ExactCount, All
  std::int64_t count = 0;       // with ExactCount
  std::optional<bool> admin_access;
  std::vector<DeviceToleration> tolerations;
  std::optional<QuantityMap> capacity;  // capacity.requests
  bool derived_attributes = false;      // has an entry that this release does not evaluate
  friend bool operator==(const ExactDeviceRequest&, const ExactDeviceRequest&) = default;
};

struct ResourceClaim {
  static constexpr std::string_view kKind = "ResourceClaim";
  static constexpr bool kNamespaced = true;

  using DeviceRequest = ExactDeviceRequest;
  struct Alternative {
    std::string name;
    DeviceRequest devices;
    friend bool operator==(const Alternative&, const Alternative&) = default;
  };
  // One of `exactly` and `first_available`; neither: an unknown kind of request.
  struct Request {
    std::string name;
    std::optional<DeviceRequest> exactly;
    std::vector<Alternative> first_available;
    friend bool operator==(const Request&, const Request&) = default;
  };
  // At most one attribute; none: an unknown kind of constraint.
  struct Constraint {
    std::vector<std::string> requests;  // "request" or "request/alternative"; empty: all requests
    std::optional<std::string> match_attribute;
    std::optional<std::string> distinct_attribute;
    friend bool operator==(const Constraint&, const Constraint&) = default;
  };

  // An entry of status.reservedFor.
  struct Consumer {
    std::string api_group;
    std::string resource;
    std::string name;
    std::string uid;
    friend bool operator==(const Consumer&, const Consumer&) = default;
  };
  // A device that the claim got.
  struct AllocatedDevice {
    std::string request;  // "request" or "request/alternative"
    std::string driver;
    std::string pool;
    std::string device;
    bool admin_access = false;
    std::vector<DeviceToleration> tolerations;
    std::vector<std::string> binding_conditions;
    std::vector<std::string> binding_failure_conditions;
    std::optional<std::string> share_id;
    QuantityMap consumed_capacity;
    friend bool operator==(const AllocatedDevice&, const AllocatedDevice&) = default;
  };
  struct AllocatedConfiguration {
    std::string source;  // FromClass, FromClaim
    DeviceConfiguration configuration;
    friend bool operator==(const AllocatedConfiguration&, const AllocatedConfiguration&) = default;
  };
  struct Allocation {
    std::vector<AllocatedDevice> devices;
    std::vector<AllocatedConfiguration> config;
    CowPtr<NodeSelector> node_selector;  // absent: available everywhere
    std::string timestamp;               // RFC 3339; empty: not set
    friend bool operator==(const Allocation&, const Allocation&) = default;
  };
  // An entry of status.devices, written by the driver.
  struct DeviceStatus {
    struct Condition {
      std::string type, status, reason, message;
      friend bool operator==(const Condition&, const Condition&) = default;
    };
    std::string driver;
    std::string pool;
    std::string device;
    std::vector<Condition> conditions;
    friend bool operator==(const DeviceStatus&, const DeviceStatus&) = default;
  };

  ObjectMeta metadata;
  // The annotation resource.kubernetes.io/extended-resource-claim is "true": a scheduler created the claim
  // for extended resources of its controller, a pod.
  bool for_extended_resources = false;
  std::vector<std::string> finalizers;
  std::vector<Request> requests;
  std::vector<Constraint> constraints;
  std::vector<DeviceConfiguration> config;
  CowPtr<Allocation> allocation;  // absent: not allocated
  std::vector<Consumer> reserved_for;
  std::vector<DeviceStatus> device_statuses;
};

struct DeviceAttribute {
  struct Version {
    std::string text;  // semantic version 2.0.0
    friend bool operator==(const Version&, const Version&) = default;
  };
  // monostate: a type that this release does not know.
  std::variant<std::monostate, std::int64_t, bool, std::string, Version> value;
  friend bool operator==(const DeviceAttribute&, const DeviceAttribute&) = default;
};

// How much of a capacity a request consumes.
struct CapacityRequestPolicy {
  struct Range {
    std::optional<Quantity> min, max, step;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::optional<Quantity> default_request;
  std::vector<Quantity> valid_values;  // ascending
  std::optional<Range> valid_range;
  friend bool operator==(const CapacityRequestPolicy&, const CapacityRequestPolicy&) = default;
};

struct DeviceCapacity {
  Quantity value;
  std::optional<CapacityRequestPolicy> request_policy;
  friend bool operator==(const DeviceCapacity&, const DeviceCapacity&) = default;
};

struct CounterConsumption {
  std::string counter_set;
  QuantityMap counters;
  bool compatibility_groups = false;  // names some, which this release does not evaluate
  friend bool operator==(const CounterConsumption&, const CounterConsumption&) = default;
};

struct Device {
  std::string name;
  std::map<std::string, DeviceAttribute, std::less<>> attributes;
  std::map<std::string, DeviceCapacity, std::less<>> capacity;
  std::vector<CounterConsumption> consumes_counters;
  // With perDeviceNodeSelection of the slice.
  std::string node_name;
  CowPtr<NodeSelector> node_selector;
  bool all_nodes = false;
  std::vector<DeviceTaint> taints;
  bool binds_to_node = false;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  bool allow_multiple_allocations = false;
  friend bool operator==(const Device&, const Device&) = default;
};

struct CounterSet {
  std::string name;
  QuantityMap counters;
  friend bool operator==(const CounterSet&, const CounterSet&) = default;
};

struct ResourceSlice {
  static constexpr std::string_view kKind = "ResourceSlice";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
  std::string driver;
  std::string pool;
  std::int64_t pool_generation = 0;
  std::int64_t pool_slice_count = 0;
  std::string node_name;
  CowPtr<NodeSelector> node_selector;
  bool all_nodes = false;
  bool per_device_node_selection = false;
  std::vector<Device> devices;
  std::vector<CounterSet> shared_counters;
};

// Adds a taint to devices. Absent parts of the selector match everything.
struct DeviceTaintRule {
  static constexpr std::string_view kKind = "DeviceTaintRule";
  static constexpr bool kNamespaced = false;
  struct Selector {
    std::optional<std::string> driver, pool, device;
  };
  ObjectMeta metadata;
  CowPtr<Selector> selector;  // absent: no device
  DeviceTaint taint;
};

}  // namespace berth::api
