/* Headroom, a plugin in C that evaluates all nodes at once: keeps a share of every node free for urgent pods,
 * so that these find a place without preemption. A pod below the priority is kept off nodes of which it would
 * leave less than that share of cpu or memory free; of the others those with the most room left are
 * preferred.
 *
 *   pluginConfig:
 *   - name: Headroom
 *     args: {percent: 20, urgentPriority: 1000}
 *
 * Build: cc -std=c99 -O2 -shared -fPIC -I<prefix>/include headroom.c -o headroom.so
 */
#include <berth_plugin.h>
#include <stdlib.h>

struct headroom {
  const berth_host* host;
  int64_t percent;
  int64_t urgent_priority;
};

static void* create(const berth_host* host, berth_scheduler* scheduler, const char* arguments,
                    berth_reply* reply) {
  struct headroom* self = malloc(sizeof *self);
  (void)scheduler;
  (void)arguments; /* as JSON; taken field by field instead */
  if (self == NULL) return NULL;
  self->host = host;
  self->percent = 10;
  self->urgent_priority = 1000000;
  host->take_int(reply, "percent", &self->percent);
  host->take_int(reply, "urgentPriority", &self->urgent_priority);
  if (self->percent >= 0 && self->percent < 100) return self;
  host->add_reason(reply, "percent: Invalid value: must be between 0 and 99");
  free(self);
  return NULL;
}

/* Urgent pods may have the last of a node: the filter is not called for them. */
static int32_t pre_filter(void* plugin, const berth_attempt* attempt, berth_reply* reply) {
  const struct headroom* self = plugin;
  (void)reply;
  return self->host->pod_priority(self->host->pod(attempt)) >= self->urgent_priority ? BERTH_SKIP
                                                                                     : BERTH_SUCCESS;
}

static void reject_full(const struct headroom* self, const berth_attempt* attempt, uint32_t resource,
                        const char* reason, berth_rejections* rejections) {
  const berth_host* host = self->host;
  const int64_t* allocatable = host->allocatable(attempt, resource);
  const int64_t* requested = host->requested(attempt, resource);
  const int64_t requested_amount = host->request(attempt, resource);
  const size_t rows = host->rows(attempt);
  uint64_t* rejected;
  size_t row;
  if (allocatable == NULL || requested == NULL) return;
  rejected = host->reject(rejections, reason);
  if (rejected == NULL) return;
  for (row = 0; row < rows; ++row) {
    const int64_t keep = allocatable[row] / 100 * self->percent;
    rejected[row / 64] |= (uint64_t)(allocatable[row] - requested[row] - requested_amount < keep)
                          << (row % 64);
  }
}

static int32_t filter(void* plugin, const berth_attempt* attempt, const uint64_t* words,
                      berth_rejections* rejections, berth_reply* reply) {
  (void)words; /* rows outside of this set may be rejected, too */
  (void)reply;
  reject_full(plugin, attempt, BERTH_CPU, "node(s) had to keep cpu free for urgent pods", rejections);
  reject_full(plugin, attempt, BERTH_MEMORY, "node(s) had to keep memory free for urgent pods", rejections);
  return BERTH_SUCCESS;
}

/* The share of cpu that stays free, in percent. */
static int32_t score(void* plugin, const berth_attempt* attempt, const uint64_t* words, int64_t* scores,
                     berth_reply* reply) {
  const berth_host* host = ((const struct headroom*)plugin)->host;
  const int64_t* allocatable = host->allocatable(attempt, BERTH_CPU);
  const int64_t* requested = host->requested(attempt, BERTH_CPU);
  const int64_t requested_amount = host->request(attempt, BERTH_CPU);
  const size_t rows = host->rows(attempt);
  size_t row;
  (void)words;
  (void)reply;
  if (allocatable == NULL || requested == NULL) return BERTH_SUCCESS;
  for (row = 0; row < rows; ++row) {
    const int64_t left = allocatable[row] - requested[row] - requested_amount;
    scores[row] = left > 0 ? left * BERTH_MAX_SCORE / allocatable[row] : 0;
  }
  return BERTH_SUCCESS;
}

static void destroy(void* plugin) { free(plugin); }

uint32_t berth_plugin_version(void) { return BERTH_PLUGIN_VERSION; }

const berth_library* berth_plugin_describe(void) {
  static const berth_event events[] = {{BERTH_ON_ASSIGNED_POD, BERTH_DELETED | BERTH_POD_SCALED_DOWN},
                                       {BERTH_ON_TARGET_POD, BERTH_POD_SCALED_DOWN},
                                       {BERTH_ON_NODE, BERTH_ADDED | BERTH_NODE_ALLOCATABLE}};
  static const berth_plugin headroom = {.size = sizeof(berth_plugin),
                                        .name = "Headroom",
                                        .version = "1.0",
                                        .events = events,
                                        .event_count = sizeof events / sizeof *events,
                                        .create = create,
                                        .destroy = destroy,
                                        .pre_filter = pre_filter,
                                        .filter = filter,
                                        .score = score};
  static const berth_plugin* const plugins[] = {&headroom};
  static const berth_library library = {.size = sizeof(berth_library), .plugin_count = 1, .plugins = plugins};
  return &library;
}
