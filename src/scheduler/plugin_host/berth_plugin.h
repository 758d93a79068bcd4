/* Plugins that Berth loads at run time: `berth scheduler --berth-plugin=/path/plugin.so`. C99 and C++; this
 * header is all that a plugin is built with.
 *
 *   cc  -std=c99   -O2 -shared -fPIC -I<prefix>/include my_plugin.c   -o my_plugin.so
 *   c++ -std=c++17 -O2 -shared -fPIC -I<prefix>/include my_plugin.cpp -o my_plugin.so
 *
 * A library exports two functions: berth_plugin_version, what it was compiled with, and
 * berth_plugin_describe, its plugins as tables of functions. Both are asked in a process of their own first:
 * a library that crashes, hangs or is built for another major version is refused with an error and the
 * scheduler never sees it.
 *
 * Versions. Within a major version tables only grow, at their ends. Every table begins with its size as its
 * author knew it; what lies beyond it does not exist: look at host->size before you use a function that came
 * with a later minor version than the first (BERTH_HAS does). Berth does the same with your tables.
 *
 * Threads. All functions of a plugin are called on the scheduler's one loop, one call at a time, and must not
 * wait; only pre_bind runs on a thread of its own, several pods at a time, and may wait. What a host function
 * may be called from is said beside it. A plugin may have threads; destroy must end them.
 *
 * Lifetimes. Texts, arrays and handles that the host gives are lent until the call that was made with them
 * returns, unless it says otherwise; berth_host and berth_scheduler last until destroy returns. The tables
 * and texts of a plugin's description last as long as the process. The host copies every text that it is
 * given.
 *
 * Texts are UTF-8 and end with a NUL. No exception, longjmp or thread cancellation may leave a plugin's
 * function: C++ plugins catch, and answer BERTH_ERROR.
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
/* Is the member in a table of a host or plugin that may be older than this header? */
#define BERTH_HAS(table, member) \
  ((size_t)((const char*)&(table)->member - (const char*)(table)) + sizeof((table)->member) <= (table)->size)

/* --- handles: what they are is the host's business */
typedef struct berth_scheduler berth_scheduler;   /* one plugin in one profile */
typedef struct berth_attempt berth_attempt;       /* one attempt to place one pod */
typedef struct berth_placement berth_placement;   /* a pod with the node that was chosen for it */
typedef struct berth_pod berth_pod;               /* a pod */
typedef struct berth_reply berth_reply;           /* the words of an answer */
typedef struct berth_rejections berth_rejections; /* a filter's answer about all nodes */

/* --- how a plugin answers: Kubernetes' codes. The words go into the reply with host->say: reasons of a
 * rejection, the text of an error. */
#define BERTH_SUCCESS 0
#define BERTH_ERROR 1 /* something broke: the attempt fails, the pod is tried again after a back-off */
#define BERTH_UNSCHEDULABLE 2 /* no; evicting pods could help */
#define BERTH_UNRESOLVABLE 3  /* no; evicting pods cannot help */
#define BERTH_WAIT 4          /* permit only */
#define BERTH_SKIP 5          /* pre_filter, pre_score, pre_bind_pre_flight: nothing to do for this pod */
#define BERTH_PENDING 6       /* no; waits for somebody outside, tried without back-off when an event comes */

#define BERTH_MAX_SCORE 100

/* --- rows: the nodes are rows of a table, 0 .. rows-1; rows of nodes that went are empty for a while. A set
 * of rows is a bit for each, row r in word r/64 at bit r%64, BERTH_WORDS(rows) words. */
#define BERTH_WORDS(rows) (((size_t)(rows) + 63) / 64)
#define BERTH_HAS_ROW(words, row) ((int)(((words)[(size_t)(row) / 64] >> ((size_t)(row) % 64)) & 1))
#define BERTH_ADD_ROW(words, row) ((words)[(size_t)(row) / 64] |= (uint64_t)1 << ((size_t)(row) % 64))

/* --- resources have numbers, given by host->resource: milli-cores, bytes, counts */
#define BERTH_CPU ((uint32_t)0)
#define BERTH_MEMORY ((uint32_t)1)
#define BERTH_EPHEMERAL_STORAGE ((uint32_t)2)
#define BERTH_PODS ((uint32_t)0xFFFFFFFEu) /* allowed pods; pods that are there */
#define BERTH_NO_RESOURCE \
  ((uint32_t)0xFFFFFFFFu) /* a name that scheduling ignores; every amount of it is 0 */

/* --- events: after which a pod that the plugin rejected is tried again */
#define BERTH_ON_ASSIGNED_POD 1 /* a pod on a node */
#define BERTH_ON_TARGET_POD 2   /* the waiting pod itself */
#define BERTH_ON_UNSCHEDULED_POD 3
#define BERTH_ON_NODE 4
#define BERTH_ON_PERSISTENT_VOLUME 5
#define BERTH_ON_PERSISTENT_VOLUME_CLAIM 6
#define BERTH_ON_STORAGE_CLASS 7
#define BERTH_ON_CSI_NODE 8
#define BERTH_ON_MEASUREMENT 9 /* what is measured about a node */
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
#define BERTH_UPDATED (((uint32_t)1 << 15) - 4) /* anything but a beginning or an end */
#define BERTH_ALL_ACTIONS (((uint32_t)1 << 15) - 1)

typedef struct berth_event {
  uint32_t resource; /* BERTH_ON_... */
  uint32_t actions;  /* BERTH_ADDED | ... */
} berth_event;

/* A number per node that a Prometheus server is asked for in the background. */
typedef struct berth_signal {
  uint32_t size;
  uint32_t hold_seconds;  /* how long the last answer counts when no newer one comes; 0: five minutes */
  const char* name;       /* for people */
  const char* source;     /* the server's address, or its name in the file of --berth-metric-sources */
  const char* expression; /* PromQL; "$node" stands for the labels that tell nodes apart there */
} berth_signal;

/* --- what a plugin may ask and say. "Loop": on the loop only. */
typedef struct berth_host {
  uint32_t size;
  uint32_t version; /* major << 16 | minor, of the host */

  /* Any thread. -2: an error, -1: a warning, 0: always shown, more: with -v of at least that. */
  void (*log)(const berth_scheduler*, int32_t level, const char* text);
  int32_t (*log_wanted)(int32_t level);
  /* Adds a text to the answer that is being given. */
  void (*say)(berth_reply*, const char* text);

  /* Loop, in create: a member of the arguments into a variable, which keeps its default if there is none.
   * Once one was taken, members that were not, and values of the wrong type, are errors that the host words:
   * the plugin is refused whatever create returns. A text is lent until create returns. */
  void (*take_int)(berth_reply*, const char* field, int64_t* value);
  void (*take_bool)(berth_reply*, const char* field, int32_t* value);
  void (*take_number)(berth_reply*, const char* field, double* value);
  void (*take_text)(berth_reply*, const char* field, const char** value);

  /* Loop, in create: numbers of resources; a signal's number, or UINT32_MAX with words in the reply. */
  uint32_t (*resource)(berth_scheduler*, const char* name);
  uint32_t (*measure)(berth_scheduler*, const berth_signal*, berth_reply*);

  /* A pod, as the API server last showed it. NULL: no such label or annotation; annotations are those that
   * the plugin's table names. Texts are never NULL else. */
  const char* (*pod_name)(const berth_pod*);
  const char* (*pod_namespace)(const berth_pod*);
  const char* (*pod_uid)(const berth_pod*);
  const char* (*pod_scheduler_name)(const berth_pod*);
  int32_t (*pod_priority)(const berth_pod*);
  const char* (*pod_label)(const berth_pod*, const char* key);
  const char* (*pod_annotation)(const berth_pod*, const char* key);

  /* The attempt: its pod, what that asks for, and a memory of the plugin's own, from pre_filter on until the
   * pod is bound or the attempt has failed; then `destroy` is called with it (NULL: nothing is). It is shared
   * with the what-ifs of preemption: write it in pre_filter and pre_score, read it elsewhere. */
  const berth_pod* (*pod)(const berth_attempt*);
  int64_t (*request)(const berth_attempt*, uint32_t resource);
  void* (*memory)(const berth_attempt*);
  void (*set_memory)(const berth_attempt*, void* memory, void (*destroy)(void* memory));
  /* In pre_filter: only these nodes can be considered; they need not exist. */
  void (*only_nodes)(berth_reply*, const char* const* names, size_t count);

  /* One node: for the forms that are called per node, with the row of a node that is there. */
  const char* (*node_name)(const berth_attempt*, uint32_t row);
  const char* (*node_label)(const berth_attempt*, uint32_t row, const char* key);
  const char* (*node_annotation)(const berth_attempt*, uint32_t row, const char* key);
  int64_t (*node_allocatable)(const berth_attempt*, uint32_t row, uint32_t resource);
  int64_t (*node_requested)(const berth_attempt*, uint32_t row, uint32_t resource);
  size_t (*node_pods)(const berth_attempt*, uint32_t row);
  const berth_pod* (*node_pod)(const berth_attempt*, uint32_t row, size_t index);
  int64_t (*node_pod_request)(const berth_attempt*, uint32_t row, size_t index, uint32_t resource);

  /* All nodes: contiguous columns of `rows` entries; nothing is called or allocated per node. NULL: no node
   * ever offered the resource. */
  size_t (*rows)(const berth_attempt*);
  const int64_t* (*allocatable)(const berth_attempt*, uint32_t resource);
  const int64_t* (*requested)(const berth_attempt*, uint32_t resource);
  /* Adds the rows of the nodes with the label (value NULL: with any value) to a set of BERTH_WORDS(rows)
   * words. */
  void (*add_rows_with_label)(const berth_attempt*, const char* key, const char* value, uint64_t* words);
  /* What is measured, NaN where it is not; `count` entries, which may be fewer than rows. */
  const double* (*signal)(const berth_attempt*, uint32_t signal, size_t* count);

  /* A filter's answer about all nodes. `reject` gives an empty set to add the rows to that the reason
   * rejects; a row may be rejected for several reasons. Rows that were not asked about may be in it. A plugin
   * has at most 256 different reasons: beyond that NULL, and the attempt fails. */
  uint64_t* (*reject)(berth_rejections*, const char* reason);
  void (*reject_rows)(berth_rejections*, const char* reason, const uint32_t* rows, size_t count);
  /* The set of rejected rows for which evicting pods cannot help. */
  uint64_t* (*unresolvable)(berth_rejections*);
  /* The rejection waits for somebody outside, as BERTH_PENDING. */
  void (*mark_pending)(berth_rejections*);
  /* The row cannot be judged: the attempt fails, unless an earlier plugin rejected it. */
  void (*fail_row)(berth_rejections*, uint32_t row, const char* text);

  /* A placement: loop, and in pre_bind on its thread. */
  const berth_pod* (*placement_pod)(const berth_placement*);
  const char* (*placement_node)(const berth_placement*);
  void* (*placement_memory)(const berth_placement*);
  /* Loop: what the attempt's memory is for plugins that begin at reserve or permit. */
  void (*set_placement_memory)(const berth_placement*, void* memory, void (*destroy)(void* memory));
  /* In pre_bind: not 0 when it should give up, since a more important pod needs the place. */
  int32_t (*stop_requested)(const berth_placement*);

  /* Any thread, after this plugin's permit said BERTH_WAIT: what becomes of the pod with that uid. Nothing
   * happens if it does not wait any more. */
  void (*allow)(berth_scheduler*, const char* pod_uid);
  void (*deny)(berth_scheduler*, const char* pod_uid, const char* reason);
} berth_host;

/* --- a plugin. NULL: it takes no part there. Filter, score and normalise have two forms each, of which one
 * may be given: per node (familiar), or all nodes at once (`words` are the rows that are asked about). What
 * each extension point means, and what becomes of each answer: docs/guide/plugins.md. */
typedef struct berth_plugin {
  uint32_t size;
  uint32_t flags;                 /* BERTH_FLAG_... */
  const char* name;               /* by which profiles enable it; no name of Berth's own */
  const char* version;            /* for the log; may be NULL */
  const berth_event* events;      /* NULL: rejected pods are tried again after every event */
  size_t event_count;             /* with events that are not NULL, 0: no event helps */
  const char* const* annotations; /* keys of those that it reads: others are not kept. May be NULL */
  size_t annotation_count;

  /* For each profile that enables it, before anything is watched. `arguments` is the JSON object of
   * pluginConfig,
   * "{}" if there is none. NULL: refused; each reason that was said is "field: what is wrong with it". What
   * it returns is `self` from then on. */
  void* (*create)(const berth_host* host, berth_scheduler* scheduler, const char* arguments,
                  berth_reply* reply);
  void (*destroy)(void* self);

  /* SUCCESS, SKIP (its filter is not asked), UNSCHEDULABLE, UNRESOLVABLE, PENDING, ERROR */
  int32_t (*pre_filter)(void* self, const berth_attempt*, berth_reply*);
  /* SUCCESS, UNSCHEDULABLE, UNRESOLVABLE, PENDING, ERROR */
  int32_t (*filter_node)(void* self, const berth_attempt*, uint32_t row, berth_reply*);
  /* SUCCESS (whatever is rejected), ERROR */
  int32_t (*filter)(void* self, const berth_attempt*, const uint64_t* words, berth_rejections*, berth_reply*);
  /* SUCCESS, SKIP (no part in the total), ERROR */
  int32_t (*pre_score)(void* self, const berth_attempt*, const uint64_t* words, berth_reply*);
  /* SUCCESS, ERROR. 0 to BERTH_MAX_SCORE, after normalising at the latest. The column is 0 at first. */
  int32_t (*score_node)(void* self, const berth_attempt*, uint32_t row, int64_t* score, berth_reply*);
  int32_t (*score)(void* self, const berth_attempt*, const uint64_t* words, int64_t* scores, berth_reply*);
  /* SUCCESS, ERROR. The score as it is goes in, as it shall be comes out; lowest and highest of all nodes. */
  int32_t (*normalize_node)(void* self, const berth_attempt*, uint32_t row, int64_t lowest, int64_t highest,
                            int64_t* score, berth_reply*);
  int32_t (*normalize)(void* self, const berth_attempt*, const uint64_t* words, int64_t* scores,
                       berth_reply*);
  /* SUCCESS, UNSCHEDULABLE, UNRESOLVABLE, PENDING, ERROR. Unreserve is called whenever the placement fails
   * later, also if this plugin's reserve was not called or failed. */
  int32_t (*reserve)(void* self, const berth_placement*, berth_reply*);
  void (*unreserve)(void* self, const berth_placement*);
  /* SUCCESS, WAIT (at most *timeout_ms, 15 minutes at first), UNSCHEDULABLE, UNRESOLVABLE, PENDING, ERROR */
  int32_t (*permit)(void* self, const berth_placement*, int64_t* timeout_ms, berth_reply*);
  /* SUCCESS, SKIP (nothing to do before this pod is bound), ERROR */
  int32_t (*pre_bind_pre_flight)(void* self, const berth_placement*, berth_reply*);
  /* On a thread of its own: may wait, at most 15 minutes. SUCCESS, UNSCHEDULABLE, UNRESOLVABLE, ERROR */
  int32_t (*pre_bind)(void* self, const berth_placement*, berth_reply*);
  void (*post_bind)(void* self, const berth_placement*);
} berth_plugin;

/* pre_bind may run beside its neighbours' of the same pod, if these allow it, too. */
#define BERTH_FLAG_PARALLEL_PRE_BIND ((uint32_t)1)

typedef struct berth_library {
  uint32_t size;
  uint32_t plugin_count; /* one at least */
  const berth_plugin* const* plugins;
} berth_library;

/* What the plugin defines. */
BERTH_PLUGIN_EXPORT uint32_t berth_plugin_version(void); /* returns BERTH_PLUGIN_VERSION */
BERTH_PLUGIN_EXPORT const berth_library* berth_plugin_describe(void);

#ifdef __cplusplus
}
#endif
#endif
