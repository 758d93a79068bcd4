// Function names for addresses in this process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The file of the executable, mapped into memory; empty if that failed. Neither allocates memory nor takes a
// lock of Berth, so it can be used in signal handlers.
class MappedProgram {
 public:
  MappedProgram();
  ~MappedProgram();
  MappedProgram(const MappedProgram&) = delete;
  MappedProgram& operator=(const MappedProgram&) = delete;

  std::string_view bytes() const { return bytes_; }
  // The mangled name of the function at an address, found by a linear search; null if unknown. For other
  // addresses (shared libraries, a stripped program) the dynamic linker is used. Valid as long as this
  // object.
  const char* MangledNameOf(std::uint64_t address) const;

 private:
  std::string_view bytes_;
};

// The executable's own symbol table, read once. For other addresses (shared libraries, a stripped program)
// the dynamic linker is used. Any thread.
class Symbols {
 public:
  Symbols();
  // The demangled name without parameters; empty if unknown.
  std::string NameOf(std::uint64_t address) const;

 private:
  struct Symbol {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::string name;  // mangled
  };
  std::vector<Symbol> own_;  // by address
};

// A part of the address space that a file is mapped to.
struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string file;
};
// The executable mappings of this process, the program itself first.
std::vector<Mapping> ExecutableMappings();

}  // namespace berth
