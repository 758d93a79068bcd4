// Libraries that must be rejected; a macro selects the defect.
#include <berth_plugin.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <unistd.h>

namespace {

[[maybe_unused]] void Hang() {
  while (true) pause();
}
[[maybe_unused]] void Crash() { std::raise(SIGSEGV); }

struct AtStart {
  AtStart() {
#ifdef CRASHES_AT_START
    Crash();
#endif
#ifdef HANGS_AT_START
    Hang();
#endif
  }
} at_start;

void* Create(const berth_host*, berth_scheduler*, const char*, berth_reply*) { return &at_start; }
std::int32_t FilterNode(void*, const berth_attempt*, std::uint32_t, berth_reply*) { return BERTH_SUCCESS; }
std::int32_t Filter(void*, const berth_attempt*, const std::uint64_t*, berth_rejections*, berth_reply*) {
  return BERTH_SUCCESS;
}

berth_plugin Table() {
  berth_plugin table{};
  table.size = sizeof table;
  table.name = "Bad";
  table.create = Create;
  table.destroy = [](void*) {};
  table.filter_node = FilterNode;
#ifdef BOTH_FORMS
  table.filter = Filter;
#endif
  (void)Filter;
  return table;
}

}  // namespace

#ifndef NO_VERSION
std::uint32_t berth_plugin_version() {
#ifdef OTHER_VERSION
  return 7u << 16 | 3;
#else
  return BERTH_PLUGIN_VERSION;
#endif
}
#endif

#ifndef NO_DESCRIBE
const berth_library* berth_plugin_describe() {
#ifdef CRASHES
  Crash();
#endif
#ifdef HANGS
  Hang();
#endif
#ifdef EXITS
  std::_Exit(3);
#endif
#ifdef THROWS
  throw std::runtime_error("no licence");
#endif
#ifdef NO_TABLES
  return nullptr;
#endif
  static const berth_plugin bad = Table();
  static const berth_plugin* const plugins[] = {&bad};
  static const berth_library library = {sizeof(berth_library), 1, plugins};
  return &library;
}
#endif
