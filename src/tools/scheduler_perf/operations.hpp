// The operations of a performance test of kube-scheduler, with the values of one workload filled in
// (test/integration/scheduler_perf of Kubernetes v1.37.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "kubernetes/api/meta.hpp"
#include "tools/scheduler_perf/object_template.hpp"

namespace berth::scheduler_perf {

// Limits of one test. Files may request less.
inline constexpr std::size_t kMostNodes = 200'000;
inline constexpr std::size_t kMostPods = 1'000'000;     // also other objects
inline constexpr std::size_t kMostOperations = 10'000;  // pod sets count once for each set
inline constexpr Duration kLongestOperation = std::chrono::hours(24);

struct CreateNodes {
  std::size_t count = 0;
  std::optional<ObjectTemplate> model;  // nullopt: 4 CPUs, 32 GiB, 110 pods
  // The node strategies. Allocatable amounts and drivers of the CSINode, as objects.
  std::optional<yaml::Value> allocatable, csi_allocatable;
  std::vector<std::string> migrated_plugins;
  std::string label_key;                  // of both label strategies; empty: none
  std::vector<std::string> label_values;  // assigned in turn; empty: each node has a value of its own
};

struct CreateNamespaces {
  std::size_t count = 0;
  std::string prefix;  // "<prefix>-0", ...
  std::optional<ObjectTemplate> model;
};

struct CreatePods {
  std::size_t count = 0;
  std::string ns;
  std::optional<ObjectTemplate> model;  // nullopt: 100m CPU, 500 MiB
  // Each pod gets a claim that is bound to a volume of its own.
  std::optional<ObjectTemplate> volume, claim;
  std::size_t signature_batch = 1;  // pods in a row with the same label "signature"
  bool measured = false;            // collectMetrics
  bool waits = true;                // not skipWaitToCompletion
  // Instead of `count` pods once: each pod that is bound is removed and replaced until this time has passed.
  std::optional<Duration> steady;
};

struct CreatePodGroups {
  std::size_t count = 0;
  std::string ns;
  ObjectTemplate model;
};

struct CreateObjects {  // createAny, createResourceClaims
  std::size_t count = 1;
  std::string ns;  // empty: cluster-scoped
  ObjectTemplate model;
};

struct UpdateObjects {  // updateAny
  std::size_t count = 1;
  std::string ns;
  ObjectTemplate model;
  std::size_t per_second = 0;  // 0: all at once
};

struct DeletePods {
  std::string ns;
  api::Labels labels;  // empty: all pods of the namespace
  std::size_t per_second = 0;
  bool waits = true;
};

struct Churn {
  bool recreates = false;  // mode: objects are created, then deleted again; else only created
  std::size_t number = 0;  // rounds of creation; 0: no limit
  Duration interval{};
  std::string ns;
  std::vector<ObjectTemplate> models;
};

struct Barrier {
  std::vector<std::string> namespaces;  // empty: all with pods whose operation did not wait
  api::Labels labels;
  bool attempted = false;  // stageRequirement: an attempt is sufficient
};

struct Sleep {
  Duration time{};
};

struct StartMeasuring {
  std::string name;
  std::vector<std::string> namespaces;
  api::Labels labels;
};
struct StopMeasuring {};

struct AllocateClaims {
  std::string ns;  // empty: all
};

// Operations of the benchmark's program that mean nothing here: CPU profiles.
struct Ignored {};

struct Operation {
  std::string opcode;
  std::variant<CreateNodes, CreateNamespaces, CreatePods, CreatePodGroups, CreateObjects, UpdateObjects,
               DeletePods, Churn, Barrier, Sleep, StartMeasuring, StopMeasuring, AllocateClaims, Ignored>
      action;
};

// A test case with one of its workloads.
struct PerformanceTest {
  std::string name;                        // "SchedulingBasic/5Nodes"
  std::vector<std::string> feature_gates;  // "Gate=true"
  std::string scheduler_config;            // path; empty: the default configuration
  std::vector<Operation> operations;
  std::vector<std::string> notes;  // for the user
};

}  // namespace berth::scheduler_perf
