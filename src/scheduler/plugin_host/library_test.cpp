#include "scheduler/plugin_host/library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace berth::plugin_host {
namespace {

using ::testing::HasSubstr;

void* Create(const berth_host*, berth_scheduler*, const char*, berth_reply*) { return nullptr; }
void Destroy(void*) {}
std::int32_t PreFilter(void*, const berth_attempt*, berth_reply*) { return BERTH_SUCCESS; }
std::int32_t FilterNode(void*, const berth_attempt*, std::uint32_t, berth_reply*) { return BERTH_SUCCESS; }
std::int32_t Filter(void*, const berth_attempt*, const std::uint64_t*, berth_rejections*, berth_reply*) {
  return BERTH_SUCCESS;
}
std::int32_t Score(void*, const berth_attempt*, const std::uint64_t*, std::int64_t*, berth_reply*) {
  return BERTH_SUCCESS;
}
std::int32_t OfPlacement(void*, const berth_placement*, berth_reply*) { return BERTH_SUCCESS; }

berth_plugin Sound() {
  berth_plugin plugin{};
  plugin.size = sizeof plugin;
  plugin.name = "Sound";
  plugin.create = Create;
  plugin.destroy = Destroy;
  plugin.pre_filter = PreFilter;
  return plugin;
}

std::string ErrorOf(const berth_plugin& plugin) {
  const berth_plugin* const plugins[] = {&plugin};
  const berth_library library{sizeof(berth_library), 1, plugins};
  const auto read = ReadLibrary(&library);
  return read ? "no error" : read.error().message;
}

TEST(Library, AValidLibraryIsAccepted) {
  const berth_plugin one = Sound();
  berth_plugin two = Sound();
  two.name = "example.com/Two_2";
  const berth_plugin* const plugins[] = {&one, &two};
  const berth_library library{sizeof(berth_library), 2, plugins};
  const auto read = ReadLibrary(&library);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), 2u);
  EXPECT_STREQ((*read)[1].name, "example.com/Two_2");
  EXPECT_EQ((*read)[1].pre_filter, &PreFilter);
}

TEST(Library, InconsistentTablesAreRejected) {
  static const berth_event unknown_resource[] = {{77, BERTH_ADDED}};
  static const berth_event unknown_action[] = {{BERTH_ON_NODE, BERTH_ADDED}, {BERTH_ON_NODE, 1u << 20}};
  static const char* const null_annotation[] = {nullptr};
  const struct {
    const char* what;
    std::function<void(berth_plugin&)> spoil;
    const char* text;
  } cases[] = {
      {"a table too small", [](auto& p) { p.size = 16; }, "plugins[0].size: 16 is not the size"},
      {"a table of nonsense", [](auto& p) { p.size = 1u << 30; }, "plugins[0].size"},
      {"no name", [](auto& p) { p.name = nullptr; }, "plugins[0].name: is NULL"},
      {"a name with blanks", [](auto& p) { p.name = "a b"; }, "plugins[0].name: \"a b\" is not a valid name"},
      {"no create", [](auto& p) { p.create = nullptr; }, "plugin \"Sound\": create: is NULL"},
      {"no destroy", [](auto& p) { p.destroy = nullptr; }, "destroy: is NULL"},
      {"no extension point", [](auto& p) { p.pre_filter = nullptr; }, "implements no extension point"},
      {"both forms of filter", [](auto& p) { p.filter = Filter, p.filter_node = FilterNode; },
       "filter and filter_node: only one may be given"},
      {"normalise without score", [](auto& p) { p.normalize = Score; }, "need score or score_node"},
      {"reserve without unreserve", [](auto& p) { p.reserve = OfPlacement; },
       "reserve and unreserve: one is NULL"},
      {"a pre-flight without flight", [](auto& p) { p.pre_bind_pre_flight = OfPlacement; }, "needs pre_bind"},
      {"unknown flags", [](auto& p) { p.flags = 64; }, "flags: 0x40 has unknown bits"},
      {"a count without events", [](auto& p) { p.event_count = 1; },
       "events: is NULL, but event_count is not 0"},
      {"an unknown resource", [](auto& p) { p.events = unknown_resource, p.event_count = 1; },
       "events[0].resource: 77 is not a BERTH_ON_... constant"},
      {"an unknown action", [](auto& p) { p.events = unknown_action, p.event_count = 2; },
       "events[1].actions"},
      {"too many events", [](auto& p) { p.events = unknown_action, p.event_count = 9999; },
       "event_count: 9999"},
      {"an annotation that is none", [](auto& p) { p.annotations = null_annotation, p.annotation_count = 1; },
       "annotations[0]: is NULL"},
  };
  for (const auto& c : cases) {
    berth_plugin plugin = Sound();
    c.spoil(plugin);
    EXPECT_THAT(ErrorOf(plugin), HasSubstr(c.text)) << c.what;
  }
}

TEST(Library, ALibraryDescribesEachPluginOnce) {
  const berth_plugin plugin = Sound();
  const berth_plugin* const twice[] = {&plugin, &plugin};
  const berth_plugin* const null[] = {nullptr};
  const struct {
    berth_library library;
    const char* text;
  } cases[] = {
      {{sizeof(berth_library), 2, twice}, "plugin \"Sound\" is described twice"},
      {{sizeof(berth_library), 1, null}, "plugins[0]: is NULL"},
      {{sizeof(berth_library), 0, twice}, "describes no plugin"},
      {{sizeof(berth_library), 1, nullptr}, "describes no plugin"},
      {{sizeof(berth_library), 1000, twice}, "plugin_count: 1000"},
      {{4, 1, twice}, "size: 4"},
  };
  for (const auto& c : cases) {
    const auto read = ReadLibrary(&c.library);
    ASSERT_FALSE(read) << c.text;
    EXPECT_THAT(read.error().message, HasSubstr(c.text));
  }
  EXPECT_THAT(ReadLibrary(nullptr).error().message, HasSubstr("returned NULL"));
}

TEST(Library, LargerTablesAreReadUpToTheKnownSize) {
  struct Newer {
    berth_plugin known;
    void* added[3];
  } newer{Sound(), {}};
  newer.known.size = sizeof newer;
  const auto* table = reinterpret_cast<const berth_plugin*>(&newer);
  EXPECT_EQ(ErrorOf(*table), "no error");
}

TEST(Version, OnlyTheMajorVersionMustMatch) {
  EXPECT_TRUE(CheckVersion(BERTH_PLUGIN_VERSION));
  EXPECT_TRUE(CheckVersion(BERTH_PLUGIN_VERSION + 7));
  EXPECT_THAT(CheckVersion(9u << 16 | 2).error().message,
              HasSubstr("version 9.2 of berth_plugin.h, this Berth has 1.0"));
}

}  // namespace
}  // namespace berth::plugin_host
