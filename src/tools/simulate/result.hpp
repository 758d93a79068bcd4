// What one run of a workload has shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "tools/simulate/histogram.hpp"

namespace berth::simulate {

// Mean and greatest value of the samples.
struct SampledValue {
  double sum = 0, most = 0;
  std::uint64_t count = 0;
  void Add(double value) {
    sum += value;
    most = count == 0 ? value : std::max(most, value);
    ++count;
  }
  double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
};

struct KindResult {
  std::string name;
  std::uint64_t created = 0;  // replacements of evicted pods included
  std::uint64_t bound = 0;
  std::uint64_t completed = 0;  // reached the end of their lifetime
  std::uint64_t preempted = 0;
  std::uint64_t lost = 0;     // with their node
  std::uint64_t stopped = 0;  // because another member of their group was preempted or lost
  std::uint64_t pending = 0;  // at the end
  std::string reason;         // of the last failed attempt; empty: none
  Histogram time_to_bind;     // from the creation to the binding
  SampledValue zone_skew;     // the most pods in a zone minus the fewest; only with two zones or more
  SampledValue most_on_node;
};

// The state at one time. Shares are from 0 to 1, by resource as in Result::resources.
struct Sample {
  Duration at{};
  std::uint64_t active = 0, backoff = 0, unschedulable = 0, gated = 0;  // pods in the scheduler's queue
  std::uint64_t running = 0;                                            // bound pods
  std::uint64_t waiting_groups = 0;
  std::uint64_t nodes = 0;         // that are ready
  std::vector<double> used;        // requested by bound pods, of the allocatable amount of ready nodes
  std::vector<double> fragmented;  // see Result
  double hot_nodes = 0;            // share of ready nodes with at least 90 % of their CPU requested
  double imbalance = 0;            // standard deviation of the share of CPU requested, over ready nodes
};

// Groups of pods. They start when the last member is bound.
struct GroupResult {
  bool any = false;           // the workload has kinds of groups
  std::uint64_t created = 0;  // replacements of stopped groups included
  std::uint64_t started = 0;
  std::uint64_t completed = 0;
  std::uint64_t stopped = 0;  // because a member was preempted or lost
  std::uint64_t waiting = 0;  // at the end
  Duration longest_wait{};    // of these
  // Of the last group that completed, since the start of the simulation. If all have completed, the makespan.
  Duration last_completed{};
  Histogram time_to_start;  // from the creation
  // Over the time, by resource, of the allocatable amount of ready nodes: requested by bound members of
  // groups that have not started; free while a group waits.
  std::vector<double> mean_held, mean_idle;
};

struct Result {
  std::string configuration;
  bool complete = false;  // false: interrupted
  Duration simulated{};
  std::vector<std::string> resources;
  std::uint64_t attempts = 0;  // of scheduling
  std::uint64_t failed_attempts = 0;
  std::uint64_t nodes_failed = 0, nodes_added = 0, nodes_removed = 0;
  Histogram time_to_bind;
  std::vector<KindResult> kinds;
  GroupResult groups;
  std::vector<Sample> samples;
  std::vector<double> mean_used;  // over the time, by resource
  // Of the free amount of a resource, the share on nodes where a pod that requests the resource does not fit;
  // the mean over the pods that were created, and over the samples.
  std::vector<double> mean_fragmented;

  std::uint64_t Sum(std::uint64_t KindResult::* member) const {
    std::uint64_t sum = 0;
    for (const KindResult& kind : kinds) sum += kind.*member;
    return sum;
  }
};

}  // namespace berth::simulate
