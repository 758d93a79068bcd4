/* What maintenance.go and plugin.c have in common. */
#ifndef MAINTENANCE_PLUGIN_H
#define MAINTENANCE_PLUGIN_H

#include <berth_plugin.h>

#define MAINTENANCE_FROM "example.com/maintenance-from"
#define EXPECTED_MINUTES "example.com/expected-minutes"

const char* pod_annotation(const berth_host*, const berth_attempt*, const char* key);
const char* node_annotation(const berth_host*, const berth_attempt*, uint32_t row, const char* key);
void add_reason(const berth_host*, berth_reply*, const char* text);
void take_int(const berth_host*, berth_reply*, const char* field, int64_t* value);

#endif
