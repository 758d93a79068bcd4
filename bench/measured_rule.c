/* The rule of bench_plugin_interfaces, loaded at run time: keep a tenth of each node's cpu free, prefer nodes with more
 * of it. Once for all nodes at once, once for one node at a time. */
#include <berth_plugin.h>

static const berth_host* host;

static void* create(const berth_host* given, berth_scheduler* scheduler, const char* arguments,
                    berth_reply* reply) {
  (void)scheduler;
  (void)arguments;
  (void)reply;
  host = given;
  return (void*)&host;
}
static void destroy(void* self) { (void)self; }

static int64_t left_of(int64_t allocatable, int64_t requested, int64_t request) {
  return allocatable - requested - request;
}
static int64_t score_of(int64_t left, int64_t allocatable) {
  return left > 0 ? left * BERTH_MAX_SCORE / allocatable : 0;
}

/* --- all nodes */

static int32_t filter(void* self, const berth_attempt* attempt, const uint64_t* words,
                      berth_rejections* rejections, berth_reply* reply) {
  const int64_t* allocatable = host->allocatable(attempt, BERTH_CPU);
  const int64_t* requested = host->requested(attempt, BERTH_CPU);
  const int64_t request = host->request(attempt, BERTH_CPU);
  uint64_t* rejected = host->reject(rejections, "node(s) had to keep cpu free");
  size_t row, rows = host->rows(attempt);
  (void)self;
  (void)words;
  (void)reply;
  for (row = 0; row < rows; ++row) {
    if (left_of(allocatable[row], requested[row], request) < allocatable[row] / 10)
      BERTH_ADD_ROW(rejected, row);
  }
  return BERTH_SUCCESS;
}

static int32_t score(void* self, const berth_attempt* attempt, const uint64_t* words, int64_t* scores,
                     berth_reply* reply) {
  const int64_t* allocatable = host->allocatable(attempt, BERTH_CPU);
  const int64_t* requested = host->requested(attempt, BERTH_CPU);
  const int64_t request = host->request(attempt, BERTH_CPU);
  size_t row, rows = host->rows(attempt);
  (void)self;
  (void)words;
  (void)reply;
  for (row = 0; row < rows; ++row)
    scores[row] = score_of(left_of(allocatable[row], requested[row], request), allocatable[row]);
  return BERTH_SUCCESS;
}

/* --- one node */

static int32_t filter_node(void* self, const berth_attempt* attempt, uint32_t row, berth_reply* reply) {
  const int64_t allocatable = host->node_allocatable(attempt, row, BERTH_CPU);
  const int64_t requested = host->node_requested(attempt, row, BERTH_CPU);
  (void)self;
  if (left_of(allocatable, requested, host->request(attempt, BERTH_CPU)) >= allocatable / 10)
    return BERTH_SUCCESS;
  host->add_reason(reply, "node(s) had to keep cpu free");
  return BERTH_UNSCHEDULABLE;
}

static int32_t score_node(void* self, const berth_attempt* attempt, uint32_t row, int64_t* score,
                          berth_reply* reply) {
  const int64_t allocatable = host->node_allocatable(attempt, row, BERTH_CPU);
  const int64_t requested = host->node_requested(attempt, row, BERTH_CPU);
  (void)self;
  (void)reply;
  *score = score_of(left_of(allocatable, requested, host->request(attempt, BERTH_CPU)), allocatable);
  return BERTH_SUCCESS;
}

uint32_t berth_plugin_version(void) { return BERTH_PLUGIN_VERSION; }

const berth_library* berth_plugin_describe(void) {
  static const berth_plugin columns = {.size = sizeof(berth_plugin),
                                       .name = "LoadedAllNodes",
                                       .create = create,
                                       .destroy = destroy,
                                       .filter = filter,
                                       .score = score};
  static const berth_plugin nodes = {.size = sizeof(berth_plugin),
                                     .name = "LoadedOneNode",
                                     .create = create,
                                     .destroy = destroy,
                                     .filter_node = filter_node,
                                     .score_node = score_node};
  static const berth_plugin* const plugins[] = {&columns, &nodes};
  static const berth_library library = {.size = sizeof(berth_library), .plugin_count = 2, .plugins = plugins};
  return &library;
}
