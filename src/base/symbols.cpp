#include "base/symbols.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

namespace berth {
namespace {

// Reads a structure at an offset in the file; all zero if the offset is out of range.
template <class T>
T At(std::string_view file, std::uint64_t offset) {
  T value{};
  if (offset <= file.size() && sizeof(T) <= file.size() - offset) {
    std::memcpy(&value, file.data() + offset, sizeof(T));
  }
  return value;
}

// The load offset of a position-independent executable.
std::uint64_t LoadBias() {
  const auto* headers = reinterpret_cast<const Elf64_Phdr*>(::getauxval(AT_PHDR));
  for (std::uint64_t i = 0; i < ::getauxval(AT_PHNUM); ++i) {
    if (headers[i].p_type == PT_PHDR) return reinterpret_cast<std::uintptr_t>(headers) - headers[i].p_vaddr;
  }
  return 0;
}

// Calls visit(first address, size, mangled name) for the functions of the executable.
template <class Visit>
void ForEachFunction(std::string_view file, const Visit& visit) {
  const auto head = At<Elf64_Ehdr>(file, 0);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) return;
  const std::uint64_t bias = LoadBias();
  for (unsigned i = 0; i < head.e_shnum; ++i) {
    const auto section = At<Elf64_Shdr>(file, head.e_shoff + std::uint64_t{i} * head.e_shentsize);
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto names = At<Elf64_Shdr>(file, head.e_shoff + std::uint64_t{section.sh_link} * head.e_shentsize);
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = At<Elf64_Sym>(file, section.sh_offset + at);
      const std::uint64_t name = names.sh_offset + symbol.st_name;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_value == 0 || name >= file.size()) continue;
      visit(symbol.st_value + bias, symbol.st_size, file.data() + name);
    }
  }
}

bool Contains(std::uint64_t begin, std::uint64_t size, std::uint64_t address) {
  return address >= begin && address - begin < std::max<std::uint64_t>(size, 1);
}

std::string Demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

MappedProgram::MappedProgram() {
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat about{};
  if (::fstat(file, &about) == 0 && about.st_size > 0) {
    const auto size = static_cast<std::size_t>(about.st_size);
    void* begin = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (begin != MAP_FAILED) bytes_ = {static_cast<const char*>(begin), size};
  }
  ::close(file);
}

MappedProgram::~MappedProgram() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

const char* MappedProgram::MangledNameOf(std::uint64_t address) const {
  const char* found = nullptr;
  ForEachFunction(bytes_, [&](std::uint64_t begin, std::uint64_t size, const char* name) {
    if (Contains(begin, size, address)) found = name;
  });
  if (found != nullptr) return found;
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(address), &info) != 0 ? info.dli_sname : nullptr;
}

Symbols::Symbols() {
  const MappedProgram program;
  ForEachFunction(program.bytes(), [&](std::uint64_t begin, std::uint64_t size, const char* name) {
    own_.push_back({begin, size, name});
  });
  std::ranges::sort(own_, {}, &Symbol::begin);
}

std::string Symbols::NameOf(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(own_, address, {}, &Symbol::begin);
  if (after != own_.begin()) {
    const Symbol& symbol = *(after - 1);
    if (Contains(symbol.begin, symbol.size, address)) return Demangled(symbol.name.c_str());
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address), &info) != 0 && info.dli_sname != nullptr) {
    return Demangled(info.dli_sname);
  }
  return {};
}

std::vector<Mapping> ExecutableMappings() {
  std::vector<Mapping> mappings;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    Mapping mapping;
    char dash = 0;
    std::string permissions, device, inode;
    fields >> std::hex >> mapping.begin >> dash >> mapping.end >> permissions >> mapping.offset >> device >>
        inode;
    std::getline(fields >> std::ws, mapping.file);
    if (permissions.size() > 2 && permissions[2] == 'x' && mapping.file.starts_with('/')) {
      mappings.push_back(std::move(mapping));
    }
  }
  return mappings;
}

}  // namespace berth
