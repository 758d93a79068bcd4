/* The C interface for plugins that Berth loads at run time: `berth scheduler --berth-plugin=/path/plugin.so`.
 * A plugin is written in C99 or C++ and needs only this header.
 *
 *   cc  -std=c99   -O2 -shared -fPIC -I<prefix>/include my_plugin.c   -o my_plugin.so
 *   c++ -std=c++17 -O2 -shared -fPIC -I<prefix>/include my_plugin.cpp -o my_plugin.so
 *
 * A library exports two functions: berth_plugin_version returns the version of this header, and
 * berth_plugin_describe returns its plugins as tables of functions. Berth first calls both in a child
 * process. A library that crashes, hangs or has another major version is rejected with an error before it is
 * loaded into the scheduler.
 *
 * Versions. Within a major version, tables are only extended at their end. Every table begins with its size
 * in the header its author used; members beyond this size do not exist. Check host->size with BERTH_HAS
 * before you call a function that was added after minor version 0. Berth does the same with your tables.
 *
 * Threads. All functions of a plugin are called on the scheduler loop's thread, one call at a time, and must
 * not block. The exception is pre_bind: it is called on worker threads, for several pods concurrently, and
 * may block. The allowed thread of each host function is documented with the function. A plugin may have
 * threads of its own; destroy must end them.
 *
 * Lifetimes. Strings, arrays and handles from the host are valid until the call for which they were passed
 * returns, unless stated otherwise; berth_host and berth_scheduler are valid until destroy returns. The
 * tables and strings of a plugin's description must be valid as long as the process runs. The host copies
 * every string that it receives.
 *
 * Strings are UTF-8 and NUL-terminated. No exception, longjmp or thread cancellation may leave a function of
 * a plugin: C++ plugins must catch exceptions and return BERTH_ERROR.
 */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_PLUGIN_MAJOR 1
#define BERTH_PLUGIN_MINOR 0
#define BERTH_PLUGIN_VERSION (((uint32_t)BERTH_PLUGIN_MAJOR << 16) | (uint32_t)BERTH_PLUGIN_MINOR)
#define BERTH_PLUGIN_EXPORT __attribute__((visibility("default")))
/* Whether the table contains the member; tables of an older host or plugin may be smaller. */
#define BERTH_HAS(table, member) \
  ((size_t)((const char*)&(table)->member - (const char*)(table)) + sizeof((table)->member) <= (table)->size)

/* --- handles: opaque objects of the host --- */
typedef struct berth_scheduler berth_scheduler;   /* one plugin in one profile */
typedef struct berth_attempt berth_attempt;       /* one attempt to place one pod */
typedef struct berth_placement berth_placement;   /* a pod with the node selected for it */
typedef struct berth_pod berth_pod;               /* a pod */
typedef struct berth_reply berth_reply;           /* reasons and error texts of a call's result */
typedef struct berth_rejections berth_rejections; /* a filter's result for all nodes */

/* --- status codes: those of Kubernetes. Reasons of a rejection and the text of an error are added to the
 * reply with host->add_reason. --- */
#define BERTH_SUCCESS 0
#define BERTH_ERROR 1         /* failure: the attempt fails, the pod is retried after a back-off */
#define BERTH_UNSCHEDULABLE 2 /* rejected; evicting pods may help */
#define BERTH_UNRESOLVABLE 3  /* rejected; evicting pods cannot help */
#define BERTH_WAIT 4          /* permit only: the plugin will allow or deny the pod later */
#define BERTH_SKIP 5          /* pre_filter, pre_score, pre_bind_pre_flight: nothing to do for this pod */
#define BERTH_PENDING 6       /* rejected; waits for an external component, no back-off after an event */

#define BERTH_MAX_SCORE 100

/* --- rows: nodes are rows of a table, numbered 0 .. rows-1; some rows may have no node. A set of rows is an
 * array of BERTH_WORDS(rows) words with one bit per row: row r is bit r%64 of word r/64. --- */
#define BERTH_WORDS(rows) (((size_t)(rows) + 63) / 64)
#define BERTH_HAS_ROW(words, row) ((int)(((words)[(size_t)(row) / 64] >> ((size_t)(row) % 64)) & 1))
#define BERTH_ADD_ROW(words, row) ((words)[(size_t)(row) / 64] |= (uint64_t)1 << ((size_t)(row) % 64))

/* --- resources: numbers returned by host->resource. Units: milli-cores, bytes, counts --- */
#define BERTH_CPU ((uint32_t)0)
#define BERTH_MEMORY ((uint32_t)1)
#define BERTH_EPHEMERAL_STORAGE ((uint32_t)2)
#define BERTH_PODS ((uint32_t)0xFFFFFFFEu)        /* number of pods: allocatable and present */
#define BERTH_NO_RESOURCE ((uint32_t)0xFFFFFFFFu) /* a name that scheduling ignores; all amounts are 0 */

/* --- events after which a pod that the plugin rejected is retried --- */
#define BERTH_ON_ASSIGNED_POD 1 /* a pod on a node */
#define BERTH_ON_TARGET_POD 2   /* the waiting pod itself */
#define BERTH_ON_UNSCHEDULED_POD 3
#define BERTH_ON_NODE 4
#define BERTH_ON_PERSISTENT_VOLUME 5
#define BERTH_ON_PERSISTENT_VOLUME_CLAIM 6
#define BERTH_ON_STORAGE_CLASS 7
#define BERTH_ON_CSI_NODE 8
#define BERTH_ON_MEASUREMENT 9 /* load metrics of a node */
#define BERTH_ON_ANYTHING 10

#define BERTH_ADDED ((uint32_t)1 << 0)
#define BERTH_DELETED ((uint32_t)1 << 1)
#define BERTH_NODE_ALLOCATABLE ((uint32_t)1 << 2)
#define BERTH_NODE_LABEL ((uint32_t)1 << 3)
#define BERTH_NODE_TAINT ((uint32_t)1 << 4)
#define BERTH_NODE_CONDITION ((uint32_t)1 << 5)
#define BERTH_NODE_ANNOTATION ((uint32_t)1 << 6)
#define BERTH_POD_LABEL ((uint32_t)1 << 9)
#define BERTH_POD_SCALED_DOWN ((uint32_t)1 << 10)
#define BERTH_POD_SCALED_UP ((uint32_t)1 << 11)
#define BERTH_POD_TOLERATION ((uint32_t)1 << 12)
#define BERTH_UPDATED (((uint32_t)1 << 15) - 4) /* any update: all actions except added and deleted */
#define BERTH_ALL_ACTIONS (((uint32_t)1 << 15) - 1)

typedef struct berth_event {
  uint32_t resource; /* BERTH_ON_... */
  uint32_t actions;  /* BERTH_ADDED | ... */
} berth_event;

/* A metric with one value per node, queried from a Prometheus server in the background. */
typedef struct berth_signal {
  uint32_t size;
  uint32_t hold_seconds;  /* validity of the last value when queries fail; 0: five minutes */
  const char* name;       /* for logs and explanations */
  const char* source;     /* the server's address, or its name in the file of --berth-metric-sources */
  const char* expression; /* PromQL; "$node" is replaced by the labels that identify nodes at this server */
} berth_signal;

/* --- the functions of the host. "Loop": may be called on the scheduler loop's thread only. --- */
typedef struct berth_host {
  uint32_t size;
  uint32_t version; /* major << 16 | minor, of the host */

  /* Any thread. Level -2: error, -1: warning, 0: always shown, n > 0: shown with -v=n or higher. */
  void (*log)(const berth_scheduler*, int32_t level, const char* text);
  int32_t (*log_wanted)(int32_t level);
  /* Adds a text to the result of the current call: a reason or an error text. */
  void (*add_reason)(berth_reply*, const char* text);

  /* Loop, in create only: reads a field of the arguments into a variable, which is unchanged if the field is
   * absent. If a plugin reads any field, unknown fields and values of a wrong type are errors with a text by
   * the host: the plugin is rejected, whatever create returns. Strings are valid until create returns. */
  void (*take_int)(berth_reply*, const char* field, int64_t* value);
  void (*take_bool)(berth_reply*, const char* field, int32_t* value);
  void (*take_number)(berth_reply*, const char* field, double* value);
  void (*take_text)(berth_reply*, const char* field, const char** value);

  /* Loop, in create only: the number of a resource; the number of a signal, or UINT32_MAX with an error text
   * in the reply. */
  uint32_t (*resource)(berth_scheduler*, const char* name);
  uint32_t (*register_signal)(berth_scheduler*, const berth_signal*, berth_reply*);

  /* A pod, in the last version received from the API server. Labels and annotations: NULL if absent. Only
   * annotations listed in the plugin's table are available. All other strings are never NULL. */
  const char* (*pod_name)(const berth_pod*);
  const char* (*pod_namespace)(const berth_pod*);
  const char* (*pod_uid)(const berth_pod*);
  const char* (*pod_scheduler_name)(const berth_pod*);
  int32_t (*pod_priority)(const berth_pod*);
  const char* (*pod_label)(const berth_pod*, const char* key);
  const char* (*pod_annotation)(const berth_pod*, const char* key);

  /* The attempt: its pod, the pod's requests, and a pointer for data of the plugin. The data is kept from
   * pre_filter until the pod is bound or the attempt has failed; then `destroy` is called with it (NULL: no
   * call). It is shared with the dry runs of preemption: write it in pre_filter and pre_score only. */
  const berth_pod* (*pod)(const berth_attempt*);
  int64_t (*request)(const berth_attempt*, uint32_t resource);
  void* (*data)(const berth_attempt*);
  void (*set_data)(const berth_attempt*, void* data, void (*destroy)(void* data));
  /* In pre_filter: limits the attempt to these nodes; they need not exist. */
  void (*only_nodes)(berth_reply*, const char* const* names, size_t count);

  /* One node: for the functions that are called per node. The row must have a node. */
  const char* (*node_name)(const berth_attempt*, uint32_t row);
  const char* (*node_label)(const berth_attempt*, uint32_t row, const char* key);
  const char* (*node_annotation)(const berth_attempt*, uint32_t row, const char* key);
  int64_t (*node_allocatable)(const berth_attempt*, uint32_t row, uint32_t resource);
  int64_t (*node_requested)(const berth_attempt*, uint32_t row, uint32_t resource);
  size_t (*node_pods)(const berth_attempt*, uint32_t row);
  const berth_pod* (*node_pod)(const berth_attempt*, uint32_t row, size_t index);
  int64_t (*node_pod_request)(const berth_attempt*, uint32_t row, size_t index, uint32_t resource);

  /* All nodes: contiguous columns of `rows` entries, without a call or allocation per node. NULL: no node
   * has the resource. */
  size_t (*rows)(const berth_attempt*);
  const int64_t* (*allocatable)(const berth_attempt*, uint32_t resource);
  const int64_t* (*requested)(const berth_attempt*, uint32_t resource);
  /* Adds the rows of the nodes with the label (value NULL: with any value) to a set of BERTH_WORDS(rows)
   * words. */
  void (*add_rows_with_label)(const berth_attempt*, const char* key, const char* value, uint64_t* words);
  /* The values of a signal by row, NaN where unknown; `count` entries, possibly fewer than rows. */
  const double* (*signal)(const berth_attempt*, uint32_t signal, size_t* count);

  /* A filter's result for all nodes. `reject` returns an empty set; add to it the rows that the reason
   * rejects. A row may have several reasons. Rows that are not candidates are ignored. A plugin may have at
   * most 256 different reasons; beyond that NULL is returned and the attempt fails. */
  uint64_t* (*reject)(berth_rejections*, const char* reason);
  void (*reject_rows)(berth_rejections*, const char* reason, const uint32_t* rows, size_t count);
  /* The set of rejected rows on which evicting pods cannot help. */
  uint64_t* (*unresolvable)(berth_rejections*);
  /* The rejection waits for an external component, as BERTH_PENDING. */
  void (*mark_pending)(berth_rejections*);
  /* Reports an error for the row: the attempt fails, unless an earlier plugin rejected the row. */
  void (*fail_row)(berth_rejections*, uint32_t row, const char* text);

  /* A placement: loop; in pre_bind, the thread of the call. */
  const berth_pod* (*placement_pod)(const berth_placement*);
  const char* (*placement_node)(const berth_placement*);
  void* (*placement_data)(const berth_placement*);
  /* Loop: stores data as set_data does, for plugins whose first extension point is reserve or permit. */
  void (*set_placement_data)(const berth_placement*, void* data, void (*destroy)(void* data));
  /* In pre_bind: non-zero if it must return early, because a pod of higher priority needs the node. */
  int32_t (*stop_requested)(const berth_placement*);

  /* Any thread, after this plugin's permit returned BERTH_WAIT: allows or rejects the pod with that UID. No
   * effect if the pod no longer waits. */
  void (*allow)(berth_scheduler*, const char* pod_uid);
  void (*deny)(berth_scheduler*, const char* pod_uid, const char* reason);
} berth_host;

/* --- a plugin. A function that is NULL disables its extension point. Filter, score and normalize have two
 * forms, of which at most one may be given: per node, or for all nodes at once (`words` is the set of rows to
 * evaluate). The extension points and the effect of each status: docs/guide/plugins.md. --- */
typedef struct berth_plugin {
  uint32_t size;
  uint32_t flags;            /* BERTH_FLAG_... */
  const char* name;          /* in profiles; must differ from the names of Berth's plugins */
  const char* version;       /* for the log; may be NULL */
  const berth_event* events; /* NULL: rejected pods are retried after every event */
  size_t event_count;        /* 0 with non-NULL events: no event helps */
  const char* const*
      annotations; /* keys of annotations that the plugin reads; others are not stored. May be NULL */
  size_t annotation_count;

  /* Called for each profile that enables the plugin, before the cluster is watched. `arguments` is the JSON
   * object of pluginConfig, "{}" if there is none. The result is passed as `self` to all other functions.
   * NULL: the configuration is rejected; every text in the reply has the form "field: problem". */
  void* (*create)(const berth_host* host, berth_scheduler* scheduler, const char* arguments,
                  berth_reply* reply);
  void (*destroy)(void* self);

  /* Returns SUCCESS, SKIP (filter is not called), UNSCHEDULABLE, UNRESOLVABLE, PENDING or ERROR. */
  int32_t (*pre_filter)(void* self, const berth_attempt*, berth_reply*);
  /* Returns SUCCESS, UNSCHEDULABLE, UNRESOLVABLE, PENDING or ERROR. */
  int32_t (*filter_node)(void* self, const berth_attempt*, uint32_t row, berth_reply*);
  /* Returns SUCCESS (also if rows are rejected) or ERROR. */
  int32_t (*filter)(void* self, const berth_attempt*, const uint64_t* words, berth_rejections*, berth_reply*);
  /* Returns SUCCESS, SKIP (score is not called and does not contribute to the total) or ERROR. */
  int32_t (*pre_score)(void* self, const berth_attempt*, const uint64_t* words, berth_reply*);
  /* Returns SUCCESS or ERROR. Scores must be 0 to BERTH_MAX_SCORE after normalization; initially 0. */
  int32_t (*score_node)(void* self, const berth_attempt*, uint32_t row, int64_t* score, berth_reply*);
  int32_t (*score)(void* self, const berth_attempt*, const uint64_t* words, int64_t* scores, berth_reply*);
  /* Returns SUCCESS or ERROR. Replaces *score; lowest and highest are those of all feasible nodes. */
  int32_t (*normalize_node)(void* self, const berth_attempt*, uint32_t row, int64_t lowest, int64_t highest,
                            int64_t* score, berth_reply*);
  int32_t (*normalize)(void* self, const berth_attempt*, const uint64_t* words, int64_t* scores,
                       berth_reply*);
  /* Returns SUCCESS, UNSCHEDULABLE, UNRESOLVABLE, PENDING or ERROR. unreserve is called if the placement
   * fails later, also if this plugin's reserve was not called or failed. */
  int32_t (*reserve)(void* self, const berth_placement*, berth_reply*);
  void (*unreserve)(void* self, const berth_placement*);
  /* Returns SUCCESS, WAIT (at most *timeout_ms, initially 15 minutes), UNSCHEDULABLE, UNRESOLVABLE, PENDING
   * or ERROR. */
  int32_t (*permit)(void* self, const berth_placement*, int64_t* timeout_ms, berth_reply*);
  /* Returns SUCCESS, SKIP (nothing to do before this pod is bound) or ERROR. */
  int32_t (*pre_bind_pre_flight)(void* self, const berth_placement*, berth_reply*);
  /* Called on a worker thread; may block, at most 15 minutes. Returns SUCCESS, UNSCHEDULABLE, UNRESOLVABLE or
   * ERROR. */
  int32_t (*pre_bind)(void* self, const berth_placement*, berth_reply*);
  void (*post_bind)(void* self, const berth_placement*);
} berth_plugin;

/* pre_bind may run in parallel with adjacent plugins for the same pod that allow it too. */
#define BERTH_FLAG_PARALLEL_PRE_BIND ((uint32_t)1)

typedef struct berth_library {
  uint32_t size;
  uint32_t plugin_count; /* at least 1 */
  const berth_plugin* const* plugins;
} berth_library;

/* The functions that a library must define. */
BERTH_PLUGIN_EXPORT uint32_t berth_plugin_version(void); /* returns BERTH_PLUGIN_VERSION */
BERTH_PLUGIN_EXPORT const berth_library* berth_plugin_describe(void);

#ifdef __cplusplus
}
#endif
#endif
