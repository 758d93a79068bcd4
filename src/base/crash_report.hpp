// Parts of the report about a defect (a broken invariant, a fatal signal) on the standard error stream.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace berth::crash_report {

// The functions below are async-signal-safe except where they say otherwise: the state of the process is not
// to be trusted.

// Writes the start of a fatal log line in klog's format to `buffer`: "F1125 15:22:52.000000    1234
// check.cpp:12] ". Truncated if it is longer than the buffer.
std::string_view Header(std::span<char> buffer, std::string_view file, int line);

void Write(std::string_view text);

// Writes the stack of the calling thread without this function and `skipped` callers, one function per line
// with its demangled name. Allocates memory: not async-signal-safe.
void WriteStack(int skipped);

// The same for a signal handler, from the instruction at which the signal arrived. The names are those of the
// symbol table (mangled; c++filt demangles them). PrepareStack must have been called before.
void WriteStackOfSignal(std::uintptr_t instruction);

// Loads the library that the functions above need. Not async-signal-safe.
void PrepareStack();

}  // namespace berth::crash_report
