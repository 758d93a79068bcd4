// Copies of records for other threads.
#pragma once

#include <memory>

#include "scheduler/record/attempt_record.hpp"

namespace berth::record {

// A copy of a record and the texts of its reasons, without references to what the scheduler loop changes.
// Plugin names still refer to the strings of Plugin::Name().
struct DetachedRecord {
  AttemptRecord record;
  framework::Reasons reasons;
};

// Scheduler loop only. Takes time and memory in proportion to the nodes and the score plugins. The result may
// be used on any thread.
std::unique_ptr<const DetachedRecord> Detach(const AttemptRecord& record, const framework::Reasons& reasons);

}  // namespace berth::record
