// The limit of open files of this process.
#pragma once

namespace berth {

// Raises the soft limit to the hard limit, as Go's runtime does at the start: the usual soft limit of 1,024
// is for programs that use select(2). Does nothing if that fails.
void RaiseOpenFileLimit();

}  // namespace berth
