// What the disk of a simulated machine does with the next write to a recording.
#pragma once

namespace berth::faults {

enum class DiskFault {
  kNone,
  kSlow,  // it waits
  kFull,  // it fails after a part of the data
};
inline constexpr int kDiskFaults = 2;  // beside kNone

}  // namespace berth::faults
