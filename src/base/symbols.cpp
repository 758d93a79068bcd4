#include "base/symbols.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

namespace berth {
namespace {

std::string ReadProgram() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Reads a structure at an offset in the file; all zero if the offset is out of range.
template <class T>
T At(const std::string& file, std::uint64_t offset) {
  T value{};
  if (offset <= file.size() && sizeof(T) <= file.size() - offset) {
    std::memcpy(&value, file.data() + offset, sizeof(T));
  }
  return value;
}

// The load offset of a position-independent executable.
std::uint64_t LoadBias() {
  std::uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uint64_t*>(out) = info->dlpi_addr;
        return 1;  // the first one is the program itself
      },
      &bias);
  return bias;
}

std::string Demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

Symbols::Symbols() {
  const std::string file = ReadProgram();
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
      own_.push_back({symbol.st_value + bias, symbol.st_size, file.c_str() + name});
    }
  }
  std::ranges::sort(own_, {}, &Symbol::begin);
}

std::string Symbols::NameOf(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(own_, address, {}, &Symbol::begin);
  if (after != own_.begin()) {
    const Symbol& symbol = *(after - 1);
    if (address < symbol.begin + std::max<std::uint64_t>(symbol.size, 1))
      return Demangled(symbol.name.c_str());
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
