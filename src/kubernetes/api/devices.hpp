// Dynamic resource allocation (resource.k8s.io, read as v1, v1beta2 or v1beta1): devices, claims and
// allocations. meta.hpp describes the conventions for all objects.
#pragma once

#include "kubernetes/api/meta.hpp"

namespace berth::api {

struct DeviceClass {
  static constexpr std::string_view kKind = "DeviceClass";
  static constexpr bool kNamespaced = false;
  ObjectMeta metadata;
  std::optional<std::string> extended_resource_name;
};

struct ResourceClaim {
  static constexpr std::string_view kKind = "ResourceClaim";
  static constexpr bool kNamespaced = true;
  struct Request {
    std::string name;               // "request", or "request/alternative" for each entry of firstAvailable
    std::string device_class_name;  // empty: an unknown kind of request
  };
  struct Consumer {
    std::string resource;
    std::string name;
    std::string uid;
    friend bool operator==(const Consumer&, const Consumer&) = default;
  };
  struct Device {
    std::string request;
    std::string driver;
    std::string pool;
    std::string device;
    bool admin_access = false;
    friend bool operator==(const Device&, const Device&) = default;
  };
  struct Allocation {
    std::vector<Device> devices;
    CowPtr<NodeSelector> node_selector;  // absent: available everywhere
    friend bool operator==(const Allocation&, const Allocation&) = default;
  };

  ObjectMeta metadata;
  std::vector<Request> requests;
  CowPtr<Allocation> allocation;  // absent: not allocated
  std::vector<Consumer> reserved_for;
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
  std::vector<std::string> devices;  // names
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
  Taint taint;
};

}  // namespace berth::api
