#include "base/crash_report.hpp"

#include <execinfo.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "base/symbols.hpp"

namespace berth::crash_report {
namespace {

// Addresses in the functions on the stack, the innermost one first.
struct Stack {
  static constexpr int kLimit = 64;
  std::array<void*, kLimit> frames{};
  int depth = ::backtrace(frames.data(), kLimit);

  std::uintptr_t at(int i) const {
    return reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
  }
};

// A return address may be the first one after a function that does not return.
std::uintptr_t CallBefore(std::uintptr_t return_address) { return return_address - 1; }

void WriteFrame(int number, std::uintptr_t address, std::string_view name) {
  std::array<char, 64> buffer;
  const auto end = fmt::format_to_n(buffer.data(), buffer.size(), "    #{} {:#x} ", number, address).out;
  Write({buffer.data(), end});
  Write(name.empty() ? "?" : name);
  Write("\n");
}

}  // namespace

std::string_view Header(std::span<char> buffer, std::string_view file, int line) {
  // Not gmtime_r, which locks.
  using std::chrono::duration_cast, std::chrono::days, std::chrono::microseconds;
  const auto now = std::chrono::floor<microseconds>(std::chrono::system_clock::now());
  const auto day = std::chrono::floor<days>(now);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(now - day);
  file.remove_prefix(file.rfind('/') + 1);  // npos + 1 is 0
  const auto end =
      fmt::format_to_n(buffer.data(), buffer.size(), "F{:02}{:02} {:02}:{:02}:{:02}.{:06} {:7} {}:{}] ",
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       time.hours().count(), time.minutes().count(), time.seconds().count(),
                       time.subseconds().count(), ::getpid(), file, line)
          .out;
  return {buffer.data(), end};
}

void Write(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Not inlined: their own frame is the first one of the stack.
[[gnu::noinline]] void WriteStack(int skipped) {
  const Stack stack;
  const Symbols symbols;
  int number = 0;
  for (int i = 1 + skipped; i < stack.depth; ++i)
    WriteFrame(++number, stack.at(i), symbols.NameOf(CallBefore(stack.at(i))));
}

[[gnu::noinline]] void WriteStackOfSignal(std::uintptr_t instruction) {
  const Stack stack;
  const MappedProgram program;
  int begin = 1;  // all but this function, if the instruction is not found: for example a call to address 0
  for (int i = 1; i < stack.depth; ++i) {
    if (stack.at(i) == instruction) begin = i + 1;
  }
  const auto name = [&](std::uintptr_t address) {
    const char* found = program.MangledNameOf(address);
    return std::string_view(found == nullptr ? "" : found);
  };
  int number = 0;
  WriteFrame(++number, instruction, name(instruction));
  for (int i = begin; i < stack.depth; ++i) WriteFrame(++number, stack.at(i), name(CallBefore(stack.at(i))));
}

void PrepareStack() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
}

}  // namespace berth::crash_report
