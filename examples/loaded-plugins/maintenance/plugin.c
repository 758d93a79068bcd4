/* The tables of the plugin Maintenance, whose functions are in maintenance.go. Host functions are pointers, which Go
 * cannot call. */
#include <stddef.h>

#include "_cgo_export.h"

const char* pod_annotation(const berth_host* host, const berth_attempt* attempt, const char* key) {
  return host->pod_annotation(host->pod(attempt), key);
}
const char* node_annotation(const berth_host* host, const berth_attempt* attempt, uint32_t row, const char* key) {
  return host->node_annotation(attempt, row, key);
}
void add_reason(const berth_host* host, berth_reply* reply, const char* text) { host->add_reason(reply, text); }
void take_int(const berth_host* host, berth_reply* reply, const char* field, int64_t* value) {
  host->take_int(reply, field, value);
}

static void* create(const berth_host* host, berth_scheduler* scheduler, const char* arguments, berth_reply* reply) {
  (void)scheduler;
  (void)arguments;
  return (void*)maintenanceCreate((berth_host*)host, reply);
}
static void destroy(void* self) { maintenanceDestroy((uintptr_t)self); }
static int32_t filter_node(void* self, const berth_attempt* attempt, uint32_t row, berth_reply* reply) {
  return maintenanceFilter((uintptr_t)self, (berth_attempt*)attempt, row, reply);
}

BERTH_PLUGIN_EXPORT uint32_t berth_plugin_version(void) { return BERTH_PLUGIN_VERSION; }

BERTH_PLUGIN_EXPORT const berth_library* berth_plugin_describe(void) {
  static const char* const annotations[] = {MAINTENANCE_FROM, EXPECTED_MINUTES};
  static const berth_event events[] = {{BERTH_ON_NODE, BERTH_ADDED | BERTH_NODE_ANNOTATION}};
  static const berth_plugin maintenance = {.size = sizeof(berth_plugin),
                                           .name = "Maintenance",
                                           .version = "1.0",
                                           .events = events,
                                           .event_count = sizeof events / sizeof *events,
                                           .annotations = annotations,
                                           .annotation_count = sizeof annotations / sizeof *annotations,
                                           .create = create,
                                           .destroy = destroy,
                                           .filter_node = filter_node};
  static const berth_plugin* const plugins[] = {&maintenance};
  static const berth_library library = {.size = sizeof(berth_library), .plugin_count = 1, .plugins = plugins};
  return &library;
}
