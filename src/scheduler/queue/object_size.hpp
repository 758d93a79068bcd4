// The size of the objects that hints read.
#pragma once

#include <cstddef>

#include "scheduler/framework/cluster_event.hpp"

namespace berth::queue {

struct ObjectSize {
  // Memory, approximately. Parts that are shared with other objects count, too.
  std::size_t bytes = 0;
  // Elements of lists that hints iterate over: labels, resources, volumes, terms, ...
  std::size_t items = 0;
  // Memory of what hints compute from the pods on nodes of an event, at most: compiled labels, affinity
  // terms, disks and ports.
  std::size_t computed = 0;
};

ObjectSize SizeOfPod(const api::Pod& pod);
// Of the object of the event before and after.
ObjectSize SizeOfObjects(const framework::ClusterEvent& event, const framework::EventObjects& objects);

// A hint counts as one evaluation, and as one more for each of so many items and bytes that it reads, which
// take some microseconds. Ordinary pods and nodes have fewer.
inline constexpr std::size_t kItemsPerEvaluation = 128;
inline constexpr std::size_t kBytesPerEvaluation = 128 << 10;
constexpr std::size_t ExtraEvaluations(const ObjectSize& size) {
  return size.items / kItemsPerEvaluation + size.bytes / kBytesPerEvaluation;
}

// The memory of a stored event, with what hints compute from its objects (event_cache.hpp): from those of
// other kinds no more than a few bytes.
constexpr std::size_t StoredBytes(const ObjectSize& size) { return 256 + size.bytes + size.computed; }

}  // namespace berth::queue
