// Addresses of this program by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth {

// The executable's own symbol table, read once; what it does not know (shared libraries, a stripped program)
// is asked of the dynamic linker. Any thread.
class Symbols {
 public:
  Symbols();
  // Demangled, without parameters; empty if nothing is known.
  std::string NameOf(std::uint64_t address) const;

 private:
  struct Symbol {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::string name;  // mangled
  };
  std::vector<Symbol> own_;  // by address
};

// A piece of the address space that a file was mapped to.
struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string file;
};
// The executable ones, the program itself first.
std::vector<Mapping> ExecutableMappings();

}  // namespace berth
