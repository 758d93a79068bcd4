// The OpenAPI document of the scheduler's API. script/reference copies it to docs/reference; a test compares
// it with responses.
#include "process/scheduler_api_document.hpp"

namespace berth::process {

std::string_view SchedulerApiDocument() {
  return R"json({
 "openapi": "3.0.3",
 "info": {
  "title": "Berth scheduler",
  "version": "v1alpha1",
  "license": {
   "name": "Apache-2.0",
   "url": "https://www.apache.org/licenses/LICENSE-2.0"
  },
  "description": "Why pods are pending and what would help, what waits in the queue, and the state of nodes, plugins and the scheduler. Served on the secure port (10259). Only GET and HEAD."
 },
 "paths": {
  "/apis/berth.dev/v1alpha1/status": {
   "get": {
    "operationId": "getStatus",
    "summary": "The state of the scheduler",
    "description": "Needs `get` on the path without `/apis`.",
    "responses": {
     "200": {
      "description": "The report.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Status"
        }
       }
      },
      "headers": {
       "ETag": {
        "description": "Changes with the content.",
        "schema": {
         "type": "string"
        }
       }
      }
     },
     "304": {
      "description": "The client has this content (If-None-Match)."
     },
     "401": {
      "description": "The request is not authenticated.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "403": {
      "description": "The user lacks the permission.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "429": {
      "description": "Too many requests are being served; see Retry-After.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     }
    }
   }
  },
  "/apis/berth.dev/v1alpha1/queue": {
   "get": {
    "operationId": "getQueue",
    "summary": "The pods in the queue",
    "description": "Needs `get` on the path without `/apis`.",
    "responses": {
     "200": {
      "description": "The report.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Queue"
        }
       }
      },
      "headers": {
       "ETag": {
        "description": "Changes with the content.",
        "schema": {
         "type": "string"
        }
       }
      }
     },
     "304": {
      "description": "The client has this content (If-None-Match)."
     },
     "400": {
      "description": "A parameter is invalid.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "401": {
      "description": "The request is not authenticated.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "403": {
      "description": "The user lacks the permission.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "429": {
      "description": "Too many requests are being served; see Retry-After.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     }
    },
    "parameters": [
     {
      "name": "namespace",
      "in": "query",
      "required": false,
      "description": "Only pods of this namespace.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "place",
      "in": "query",
      "required": false,
      "description": "Only pods in this place.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "plugin",
      "in": "query",
      "required": false,
      "description": "Only pods that this plugin rejected.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "limit",
      "in": "query",
      "required": false,
      "description": "Pods of a page.",
      "schema": {
       "type": "integer",
       "minimum": 0,
       "maximum": 1000,
       "default": 100
      }
     },
     {
      "name": "offset",
      "in": "query",
      "required": false,
      "description": "Pods before the page.",
      "schema": {
       "type": "integer",
       "minimum": 0,
       "default": 0
      }
     }
    ]
   }
  },
  "/apis/berth.dev/v1alpha1/plugins": {
   "get": {
    "operationId": "getPlugins",
    "summary": "Calls, cost and rejections of all plugins",
    "description": "Needs `get` on the path without `/apis`.",
    "responses": {
     "200": {
      "description": "The report.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Plugins"
        }
       }
      },
      "headers": {
       "ETag": {
        "description": "Changes with the content.",
        "schema": {
         "type": "string"
        }
       }
      }
     },
     "304": {
      "description": "The client has this content (If-None-Match)."
     },
     "401": {
      "description": "The request is not authenticated.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "403": {
      "description": "The user lacks the permission.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "429": {
      "description": "Too many requests are being served; see Retry-After.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     }
    }
   }
  },
  "/apis/berth.dev/v1alpha1/nodes/{name}": {
   "get": {
    "operationId": "getNode",
    "summary": "One node",
    "description": "The summary needs `get` on the node or on the path without `/apis`, the other view `get` on that path.",
    "responses": {
     "200": {
      "description": "The report.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Node"
        }
       }
      },
      "headers": {
       "ETag": {
        "description": "Changes with the content.",
        "schema": {
         "type": "string"
        }
       }
      }
     },
     "304": {
      "description": "The client has this content (If-None-Match)."
     },
     "400": {
      "description": "A parameter is invalid.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "401": {
      "description": "The request is not authenticated.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "403": {
      "description": "The user lacks the permission.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "404": {
      "description": "The object is not known.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "429": {
      "description": "Too many requests are being served; see Retry-After.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     }
    },
    "parameters": [
     {
      "name": "name",
      "in": "path",
      "required": true,
      "description": "Of the node.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "view",
      "in": "query",
      "required": false,
      "description": "How much is shown of pods.",
      "schema": {
       "type": "string",
       "enum": [
        "summary",
        "pods"
       ],
       "default": "summary"
      }
     }
    ]
   }
  },
  "/apis/berth.dev/v1alpha1/pods/{namespace}/{name}": {
   "get": {
    "operationId": "getPod",
    "summary": "One pod: place in the queue and last attempts",
    "description": "The summary needs `get` on the pod or on the path without `/apis`, the other views `get` on that path.",
    "responses": {
     "200": {
      "description": "The report.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Pod"
        }
       }
      },
      "headers": {
       "ETag": {
        "description": "Changes with the content.",
        "schema": {
         "type": "string"
        }
       }
      }
     },
     "304": {
      "description": "The client has this content (If-None-Match)."
     },
     "400": {
      "description": "A parameter is invalid.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "401": {
      "description": "The request is not authenticated.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "403": {
      "description": "The user lacks the permission.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "404": {
      "description": "The object is not known.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "429": {
      "description": "Too many requests are being served; see Retry-After.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     }
    },
    "parameters": [
     {
      "name": "namespace",
      "in": "path",
      "required": true,
      "description": "Of the pod.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "name",
      "in": "path",
      "required": true,
      "description": "Of the pod.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "view",
      "in": "query",
      "required": false,
      "description": "How much is shown of nodes and of other pods.",
      "schema": {
       "type": "string",
       "enum": [
        "summary",
        "nodes",
        "records"
       ],
       "default": "summary"
      }
     },
     {
      "name": "attempts",
      "in": "query",
      "required": false,
      "description": "The number of attempts.",
      "schema": {
       "type": "integer",
       "minimum": 0,
       "maximum": 10,
       "default": 2
      }
     }
    ]
   }
  },
  "/apis/berth.dev/v1alpha1/pods/{namespace}/{name}/explanation": {
   "get": {
    "operationId": "getExplanation",
    "summary": "A fresh evaluation of one pod, with advice",
    "description": "The summary needs `get` on the pod or on the path without `/apis`, the other views `get` on that path.",
    "responses": {
     "200": {
      "description": "The report.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Explanation"
        }
       }
      }
     },
     "400": {
      "description": "A parameter is invalid.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "401": {
      "description": "The request is not authenticated.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "403": {
      "description": "The user lacks the permission.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "404": {
      "description": "The object is not known.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     },
     "429": {
      "description": "Too many requests are being served; see Retry-After.",
      "content": {
       "application/json": {
        "schema": {
         "$ref": "#/components/schemas/Error"
        }
       }
      }
     }
    },
    "parameters": [
     {
      "name": "namespace",
      "in": "path",
      "required": true,
      "description": "Of the pod.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "name",
      "in": "path",
      "required": true,
      "description": "Of the pod.",
      "schema": {
       "type": "string"
      }
     },
     {
      "name": "view",
      "in": "query",
      "required": false,
      "description": "How much is shown of nodes and of other pods.",
      "schema": {
       "type": "string",
       "enum": [
        "summary",
        "nodes"
       ],
       "default": "summary"
      }
     }
    ]
   }
  }
 },
 "components": {
  "schemas": {
   "Status": {
    "type": "object",
    "description": "The state of the scheduler.",
    "required": [
     "version",
     "leading",
     "synced",
     "nodes",
     "queue",
     "records"
    ],
    "properties": {
     "version": {
      "type": "string",
      "description": "Of Berth."
     },
     "leading": {
      "type": "boolean",
      "description": "Whether this scheduler holds the lease; a standby does not decide."
     },
     "synced": {
      "type": "boolean",
      "description": "Whether all objects that existed at the start have been received."
     },
     "nodes": {
      "type": "integer",
      "format": "int64",
      "description": "In the cluster."
     },
     "queue": {
      "$ref": "#/components/schemas/QueueSizes"
     },
     "records": {
      "$ref": "#/components/schemas/RecordSizes"
     }
    },
    "additionalProperties": false
   },
   "QueueSizes": {
    "type": "object",
    "description": "Numbers of pods by place.",
    "required": [
     "active",
     "backoff",
     "unschedulable",
     "gated",
     "incomplete",
     "inFlight"
    ],
    "properties": {
     "active": {
      "type": "integer",
      "format": "int64"
     },
     "backoff": {
      "type": "integer",
      "format": "int64"
     },
     "unschedulable": {
      "type": "integer",
      "format": "int64"
     },
     "gated": {
      "type": "integer",
      "format": "int64"
     },
     "incomplete": {
      "type": "integer",
      "format": "int64",
      "description": "Members of pod groups whose object has not been received."
     },
     "inFlight": {
      "type": "integer",
      "format": "int64",
      "description": "An attempt is in progress."
     }
    },
    "additionalProperties": false
   },
   "RecordSizes": {
    "type": "object",
    "description": "The records of attempts that are kept.",
    "required": [
     "count",
     "bytes",
     "dropped"
    ],
    "properties": {
     "count": {
      "type": "integer",
      "format": "int64"
     },
     "bytes": {
      "type": "integer",
      "format": "int64"
     },
     "dropped": {
      "type": "integer",
      "format": "int64",
      "description": "Since the start, to stay within the limit."
     }
    },
    "additionalProperties": false
   },
   "Queue": {
    "type": "object",
    "description": "The pods in the queue.",
    "required": [
     "total",
     "places",
     "causes",
     "namespaces",
     "owners",
     "matching",
     "remaining",
     "pods"
    ],
    "properties": {
     "total": {
      "type": "integer",
      "format": "int64",
      "description": "All pods in the queue."
     },
     "places": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/PodsByPlace"
      }
     },
     "causes": {
      "type": "array",
      "description": "By rejecting plugin; a pod counts once for each.",
      "items": {
       "$ref": "#/components/schemas/PodsByPlugin"
      }
     },
     "namespaces": {
      "type": "array",
      "description": "Those with most pods.",
      "items": {
       "$ref": "#/components/schemas/PodsByNamespace"
      }
     },
     "owners": {
      "type": "array",
      "description": "Those with most pods.",
      "items": {
       "$ref": "#/components/schemas/PodsByOwner"
      }
     },
     "matching": {
      "type": "integer",
      "format": "int64",
      "description": "Pods that pass the parameters."
     },
     "remaining": {
      "type": "integer",
      "format": "int64",
      "description": "Of these, pods after this page."
     },
     "pods": {
      "type": "array",
      "description": "Oldest first.",
      "items": {
       "$ref": "#/components/schemas/QueuedPod"
      }
     }
    },
    "additionalProperties": false
   },
   "PodsByPlace": {
    "type": "object",
    "description": "A number of pods.",
    "required": [
     "place",
     "pods"
    ],
    "properties": {
     "place": {
      "type": "string",
      "description": "The place in the queue.",
      "enum": [
       "active",
       "backoff",
       "unschedulable",
       "gated",
       "incomplete",
       "pending"
      ]
     },
     "pods": {
      "type": "integer",
      "format": "int64"
     }
    },
    "additionalProperties": false
   },
   "PodsByPlugin": {
    "type": "object",
    "description": "A number of pods.",
    "required": [
     "plugin",
     "pods"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "pods": {
      "type": "integer",
      "format": "int64"
     }
    },
    "additionalProperties": false
   },
   "PodsByNamespace": {
    "type": "object",
    "description": "A number of pods.",
    "required": [
     "namespace",
     "pods"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "pods": {
      "type": "integer",
      "format": "int64"
     }
    },
    "additionalProperties": false
   },
   "PodsByOwner": {
    "type": "object",
    "description": "A number of pods.",
    "required": [
     "namespace",
     "owner",
     "pods"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "owner": {
      "type": "string",
      "description": "Kind and name of the controller."
     },
     "pods": {
      "type": "integer",
      "format": "int64"
     }
    },
    "additionalProperties": false
   },
   "QueuedPod": {
    "type": "object",
    "description": "A pod in the queue.",
    "required": [
     "namespace",
     "name",
     "place",
     "since",
     "attempts",
     "priority"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "name": {
      "type": "string"
     },
     "place": {
      "type": "string",
      "description": "The place in the queue.",
      "enum": [
       "active",
       "backoff",
       "unschedulable",
       "gated",
       "incomplete",
       "pending"
      ]
     },
     "since": {
      "type": "string",
      "format": "date-time",
      "description": "When it came to this place."
     },
     "attempts": {
      "type": "integer",
      "format": "int64"
     },
     "priority": {
      "type": "integer",
      "format": "int64"
     },
     "owner": {
      "type": "string",
      "description": "Kind and name of the controller."
     },
     "rejectedBy": {
      "type": "array",
      "description": "Plugins.",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "Pod": {
    "type": "object",
    "description": "One pod: its place in the queue and its last attempts.",
    "required": [
     "namespace",
     "name",
     "stage",
     "attempts"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "name": {
      "type": "string"
     },
     "uid": {
      "type": "string",
      "description": "Absent if only records of the pod are left."
     },
     "schedulerName": {
      "type": "string",
      "description": "Of the profile."
     },
     "podGroup": {
      "type": "string",
      "description": "namespace/name"
     },
     "priority": {
      "type": "integer",
      "format": "int64"
     },
     "nominatedNode": {
      "type": "string"
     },
     "stage": {
      "type": "string",
      "description": "queued; scheduling: an attempt is in progress, or the pod waits for Permit; binding; gone: bound or deleted.",
      "enum": [
       "queued",
       "scheduling",
       "binding",
       "gone"
      ]
     },
     "queue": {
      "$ref": "#/components/schemas/PodInQueue"
     },
     "attempts": {
      "type": "array",
      "description": "The newest first.",
      "items": {
       "$ref": "#/components/schemas/Attempt"
      }
     },
     "moreAttempts": {
      "type": "integer",
      "format": "int64",
      "description": "Recorded attempts that are not in the list."
     }
    },
    "additionalProperties": false
   },
   "PodInQueue": {
    "type": "object",
    "description": "A pod's place in the queue. Of a member of a pod group, the history is that of the group.",
    "required": [
     "place",
     "since",
     "attempts",
     "unschedulableAttempts",
     "consecutiveErrors"
    ],
    "properties": {
     "place": {
      "type": "string",
      "description": "The place in the queue.",
      "enum": [
       "active",
       "backoff",
       "unschedulable",
       "gated",
       "incomplete",
       "pending"
      ]
     },
     "since": {
      "type": "string",
      "format": "date-time"
     },
     "firstReady": {
      "type": "string",
      "format": "date-time",
      "description": "When it first became active."
     },
     "attempts": {
      "type": "integer",
      "format": "int64"
     },
     "unschedulableAttempts": {
      "type": "integer",
      "format": "int64",
      "description": "Attempts that ended in a rejection."
     },
     "consecutiveErrors": {
      "type": "integer",
      "format": "int64",
      "description": "Attempts since the last rejection that ended in an error."
     },
     "nextRetry": {
      "type": "string",
      "format": "date-time",
      "description": "The latest time of the next attempt without an event."
     },
     "rejectedBy": {
      "type": "array",
      "description": "Plugins.",
      "items": {
       "type": "string"
      }
     },
     "waitingFor": {
      "type": "array",
      "description": "Plugins that returned Pending.",
      "items": {
       "type": "string"
      }
     },
     "gatedBy": {
      "type": "string",
      "description": "The plugin that gates the pod."
     },
     "ahead": {
      "type": "integer",
      "format": "int64",
      "description": "Entries that are tried before it, at most 10,000; only in activeQ."
     },
     "wokenBy": {
      "type": "array",
      "description": "For each rejecting plugin.",
      "items": {
       "$ref": "#/components/schemas/WakingEvents"
      }
     }
    },
    "additionalProperties": false
   },
   "WakingEvents": {
    "type": "object",
    "description": "The events after which the pod may be retried because of one plugin.",
    "required": [
     "plugin"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "events": {
      "type": "array",
      "description": "Kind and changes: \"Node: Add, UpdateNodeTaint\".",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "Attempt": {
    "type": "object",
    "description": "One attempt to schedule the pod.",
    "required": [
     "time",
     "result",
     "nodes"
    ],
    "properties": {
     "time": {
      "type": "string",
      "format": "date-time",
      "description": "The end of the attempt."
     },
     "result": {
      "$ref": "#/components/schemas/Result"
     },
     "message": {
      "type": "string",
      "description": "As in the event FailedScheduling."
     },
     "node": {
      "type": "string",
      "description": "The selected node."
     },
     "nodes": {
      "$ref": "#/components/schemas/NodeCounts"
     },
     "reasons": {
      "type": "array",
      "description": "Most nodes first.",
      "items": {
       "$ref": "#/components/schemas/AttemptReason"
      }
     },
     "preemption": {
      "$ref": "#/components/schemas/AttemptPreemption"
     },
     "candidates": {
      "type": "array",
      "description": "The best nodes, the selected one first; not in the summary.",
      "items": {
       "$ref": "#/components/schemas/ScoredNode"
      }
     },
     "record": {
      "type": "object",
      "description": "The decision record, as `berth explain -o json` prints it; only with view=records.",
      "additionalProperties": true
     }
    },
    "additionalProperties": false
   },
   "Result": {
    "type": "string",
    "description": "The result of an attempt.",
    "enum": [
     "scheduled",
     "unschedulable",
     "error",
     "gated",
     "ignored"
    ]
   },
   "NodeCounts": {
    "type": "object",
    "description": "Numbers of nodes.",
    "required": [
     "total",
     "feasible"
    ],
    "properties": {
     "total": {
      "type": "integer",
      "format": "int64"
     },
     "feasible": {
      "type": "integer",
      "format": "int64",
      "description": "Nodes that fit."
     },
     "sampled": {
      "type": "boolean",
      "description": "Present if not all nodes were evaluated."
     }
    },
    "additionalProperties": false
   },
   "AttemptReason": {
    "type": "object",
    "description": "A reason with its nodes.",
    "required": [
     "plugin",
     "reason",
     "nodes"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "reason": {
      "type": "string",
      "description": "As in the event."
     },
     "nodes": {
      "type": "integer",
      "format": "int64",
      "description": "Rejected for this reason."
     },
     "nodesBefore": {
      "type": "integer",
      "format": "int64",
      "description": "The same in the attempt before."
     },
     "names": {
      "type": "array",
      "description": "At most ten; not in the summary.",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "AttemptPreemption": {
    "type": "object",
    "description": "The result of PostFilter.",
    "properties": {
     "message": {
      "type": "string"
     },
     "node": {
      "type": "string",
      "description": "The nominated node."
     },
     "victimCount": {
      "type": "integer",
      "format": "int64"
     },
     "victims": {
      "type": "array",
      "description": "namespace/name; not in the summary.",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "ScoredNode": {
    "type": "object",
    "description": "A node with its scores.",
    "required": [
     "node",
     "total",
     "scores"
    ],
    "properties": {
     "node": {
      "type": "string"
     },
     "total": {
      "type": "integer",
      "format": "int64",
      "description": "The sum of the weighted scores."
     },
     "scores": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/Score"
      }
     }
    },
    "additionalProperties": false
   },
   "Score": {
    "type": "object",
    "description": "The normalized score of one plugin.",
    "required": [
     "plugin",
     "score",
     "weight"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "score": {
      "type": "integer",
      "format": "int64"
     },
     "weight": {
      "type": "integer",
      "format": "int64"
     }
    },
    "additionalProperties": false
   },
   "Explanation": {
    "type": "object",
    "description": "A fresh evaluation of one pod on a copy of the cluster. A pod on a node is evaluated as if it were not there.",
    "required": [
     "namespace",
     "name",
     "clusterAsOf",
     "evaluatedAt",
     "leading",
     "result"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "name": {
      "type": "string"
     },
     "owner": {
      "type": "string",
      "description": "Kind, namespace and name of the controller."
     },
     "boundTo": {
      "type": "string",
      "description": "The node that the pod has already."
     },
     "clusterAsOf": {
      "type": "string",
      "format": "date-time",
      "description": "The time of the cluster that was evaluated."
     },
     "evaluatedAt": {
      "type": "string",
      "format": "date-time"
     },
     "leading": {
      "type": "boolean",
      "description": "False: a standby evaluated its own view."
     },
     "leftOut": {
      "type": "array",
      "description": "What was not considered.",
      "items": {
       "type": "string"
      }
     },
     "result": {
      "$ref": "#/components/schemas/Result"
     },
     "message": {
      "type": "string",
      "description": "As in the event FailedScheduling."
     },
     "nodes": {
      "$ref": "#/components/schemas/ExplainedNodes"
     },
     "node": {
      "type": "string",
      "description": "The node with the highest score; not in the summary."
     },
     "podReasons": {
      "type": "array",
      "description": "Reasons against the pod, whatever the node.",
      "items": {
       "$ref": "#/components/schemas/ExplainedReason"
      }
     },
     "groups": {
      "type": "array",
      "description": "Nodes that do not fit, by the reasons of all plugins; the closest first.",
      "items": {
       "$ref": "#/components/schemas/NodeGroup"
      }
     },
     "moreGroups": {
      "type": "integer",
      "format": "int64",
      "description": "Groups that are not in the list."
     },
     "preemption": {
      "$ref": "#/components/schemas/ExplainedPreemption"
     },
     "advice": {
      "type": "array",
      "description": "Changes with which the pod fits, evaluated; the easiest first.",
      "items": {
       "$ref": "#/components/schemas/Advice"
      }
     },
     "adviceWithheld": {
      "type": "integer",
      "format": "int64",
      "description": "Advice that names nodes or other pods; only in the summary."
     },
     "candidates": {
      "type": "array",
      "description": "The best nodes; not in the summary.",
      "items": {
       "$ref": "#/components/schemas/Candidate"
      }
     }
    },
    "additionalProperties": false
   },
   "ExplainedNodes": {
    "type": "object",
    "description": "Numbers of nodes.",
    "required": [
     "total",
     "feasible"
    ],
    "properties": {
     "total": {
      "type": "integer",
      "format": "int64"
     },
     "feasible": {
      "type": "integer",
      "format": "int64",
      "description": "Nodes that fit."
     }
    },
    "additionalProperties": false
   },
   "ExplainedReason": {
    "type": "object",
    "description": "A reason.",
    "required": [
     "plugin",
     "reason"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "reason": {
      "type": "string",
      "description": "As in the event."
     },
     "values": {
      "type": "array",
      "description": "The values that decided; not in the summary.",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "NodeGroup": {
    "type": "object",
    "description": "Nodes that reject the pod for the same reasons. Without a reason: pods that are nominated to the nodes are in the way.",
    "required": [
     "nodes",
     "reasons"
    ],
    "properties": {
     "nodes": {
      "type": "integer",
      "format": "int64",
      "description": "The number of nodes."
     },
     "reasons": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/ExplainedReason"
      }
     },
     "shortfall": {
      "type": "number",
      "description": "Of the nearest node: the largest missing part of a request, from 0 to 1; not in the summary."
     },
     "names": {
      "type": "array",
      "description": "At most ten; not in the summary.",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "ExplainedPreemption": {
    "type": "object",
    "description": "The pod would be nominated to a node after the eviction of others.",
    "required": [
     "victimCount"
    ],
    "properties": {
     "victimCount": {
      "type": "integer",
      "format": "int64"
     },
     "node": {
      "type": "string",
      "description": "Not in the summary."
     },
     "victims": {
      "type": "array",
      "description": "namespace/name, at most ten; not in the summary.",
      "items": {
       "type": "string"
      }
     }
    },
    "additionalProperties": false
   },
   "Advice": {
    "type": "object",
    "description": "A change with which the pod fits.",
    "required": [
     "steps",
     "nodes",
     "victimCount"
    ],
    "properties": {
     "steps": {
      "type": "array",
      "description": "All are needed.",
      "items": {
       "type": "string"
      }
     },
     "nodes": {
      "type": "integer",
      "format": "int64",
      "description": "Nodes that fit then."
     },
     "victimCount": {
      "type": "integer",
      "format": "int64",
      "description": "Pods that would be evicted first."
     },
     "names": {
      "type": "array",
      "description": "At most ten; not in the summary.",
      "items": {
       "type": "string"
      }
     },
     "victims": {
      "type": "array",
      "description": "namespace/name, at most ten; not in the summary.",
      "items": {
       "type": "string"
      }
     },
     "victimsNode": {
      "type": "string",
      "description": "Not in the summary."
     }
    },
    "additionalProperties": false
   },
   "Candidate": {
    "type": "object",
    "description": "A node that fits.",
    "required": [
     "node",
     "total"
    ],
    "properties": {
     "node": {
      "type": "string"
     },
     "total": {
      "type": "integer",
      "format": "int64",
      "description": "The sum of the weighted scores."
     }
    },
    "additionalProperties": false
   },
   "Node": {
    "type": "object",
    "description": "One node.",
    "required": [
     "name",
     "unschedulable",
     "podCount",
     "assumedCount",
     "nominatedCount",
     "resources",
     "rejections",
     "searched"
    ],
    "properties": {
     "name": {
      "type": "string"
     },
     "uid": {
      "type": "string"
     },
     "ready": {
      "type": "string",
      "description": "The status of the condition Ready."
     },
     "unschedulable": {
      "type": "boolean",
      "description": "Cordoned."
     },
     "taints": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/Taint"
      }
     },
     "podCount": {
      "type": "integer",
      "format": "int64",
      "description": "Bound and assumed pods."
     },
     "assumedCount": {
      "type": "integer",
      "format": "int64",
      "description": "Placed by this scheduler; the binding is not confirmed yet."
     },
     "nominatedCount": {
      "type": "integer",
      "format": "int64",
      "description": "Pods that are nominated to the node, at most 100."
     },
     "resources": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/NodeResource"
      }
     },
     "pods": {
      "type": "array",
      "description": "At most 500; only with view=pods.",
      "items": {
       "$ref": "#/components/schemas/PodOnNode"
      }
     },
     "morePods": {
      "type": "integer",
      "format": "int64",
      "description": "Pods that are not in the list."
     },
     "nominated": {
      "type": "array",
      "description": "Only with view=pods.",
      "items": {
       "$ref": "#/components/schemas/PodName"
      }
     },
     "rejections": {
      "type": "array",
      "description": "The latest first.",
      "items": {
       "$ref": "#/components/schemas/NodeRejection"
      }
     },
     "searched": {
      "$ref": "#/components/schemas/Searched"
     }
    },
    "additionalProperties": false
   },
   "Taint": {
    "type": "object",
    "description": "A taint.",
    "required": [
     "key",
     "effect"
    ],
    "properties": {
     "key": {
      "type": "string"
     },
     "value": {
      "type": "string"
     },
     "effect": {
      "type": "string"
     }
    },
    "additionalProperties": false
   },
   "NodeResource": {
    "type": "object",
    "description": "A resource of the node, as quantities.",
    "required": [
     "resource",
     "allocatable",
     "requested"
    ],
    "properties": {
     "resource": {
      "type": "string"
     },
     "allocatable": {
      "type": "string"
     },
     "requested": {
      "type": "string",
      "description": "The sum over its pods."
     }
    },
    "additionalProperties": false
   },
   "PodOnNode": {
    "type": "object",
    "description": "A pod on the node.",
    "required": [
     "namespace",
     "name",
     "priority",
     "assumed",
     "requests"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "name": {
      "type": "string"
     },
     "priority": {
      "type": "integer",
      "format": "int64"
     },
     "assumed": {
      "type": "boolean"
     },
     "requests": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/Request"
      }
     }
    },
    "additionalProperties": false
   },
   "Request": {
    "type": "object",
    "description": "A request, as a quantity.",
    "required": [
     "resource",
     "requested"
    ],
    "properties": {
     "resource": {
      "type": "string"
     },
     "requested": {
      "type": "string"
     }
    },
    "additionalProperties": false
   },
   "PodName": {
    "type": "object",
    "description": "A pod.",
    "required": [
     "namespace",
     "name"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "name": {
      "type": "string"
     }
    },
    "additionalProperties": false
   },
   "NodeRejection": {
    "type": "object",
    "description": "Pods that the node rejected for one reason, in the attempts that were searched.",
    "required": [
     "plugin",
     "reason",
     "pods",
     "last"
    ],
    "properties": {
     "plugin": {
      "type": "string",
      "description": "The first plugin that rejected the node."
     },
     "reason": {
      "type": "string"
     },
     "pods": {
      "type": "integer",
      "format": "int64",
      "description": "Different pods, at most 100."
     },
     "morePods": {
      "type": "boolean",
      "description": "Present if there were more."
     },
     "last": {
      "type": "string",
      "format": "date-time",
      "description": "The last attempt."
     },
     "lastPods": {
      "type": "array",
      "description": "At most ten; only with view=pods.",
      "items": {
       "$ref": "#/components/schemas/RejectedPod"
      }
     }
    },
    "additionalProperties": false
   },
   "RejectedPod": {
    "type": "object",
    "description": "A pod with its last attempt.",
    "required": [
     "namespace",
     "name",
     "time"
    ],
    "properties": {
     "namespace": {
      "type": "string"
     },
     "name": {
      "type": "string"
     },
     "time": {
      "type": "string",
      "format": "date-time"
     }
    },
    "additionalProperties": false
   },
   "Searched": {
    "type": "object",
    "description": "The newest records, which were searched.",
    "required": [
     "attempts",
     "since"
    ],
    "properties": {
     "attempts": {
      "type": "integer",
      "format": "int64",
      "description": "At most 5,000."
     },
     "since": {
      "type": "string",
      "format": "date-time",
      "description": "The oldest of them."
     }
    },
    "additionalProperties": false
   },
   "Plugins": {
    "type": "object",
    "description": "The plugins of all profiles.",
    "required": [
     "profiles",
     "searched"
    ],
    "properties": {
     "profiles": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/ProfilePlugins"
      }
     },
     "searched": {
      "$ref": "#/components/schemas/Searched"
     }
    },
    "additionalProperties": false
   },
   "ProfilePlugins": {
    "type": "object",
    "description": "The plugins of one profile. Costs and calls are those of the metrics, since the start or their last reset.",
    "required": [
     "name",
     "points",
     "calls",
     "costs",
     "rejections"
    ],
    "properties": {
     "name": {
      "type": "string",
      "description": "The scheduler name."
     },
     "points": {
      "type": "array",
      "description": "The enabled plugins.",
      "items": {
       "$ref": "#/components/schemas/PointPlugins"
      }
     },
     "calls": {
      "type": "array",
      "description": "By extension point and status.",
      "items": {
       "$ref": "#/components/schemas/PointCalls"
      }
     },
     "costs": {
      "type": "array",
      "description": "By plugin and extension point.",
      "items": {
       "$ref": "#/components/schemas/PluginCost"
      }
     },
     "rejections": {
      "type": "array",
      "description": "In the attempts that were searched.",
      "items": {
       "$ref": "#/components/schemas/PluginRejections"
      }
     }
    },
    "additionalProperties": false
   },
   "PointPlugins": {
    "type": "object",
    "description": "The plugins of an extension point, in the order of their calls.",
    "required": [
     "extensionPoint",
     "plugins"
    ],
    "properties": {
     "extensionPoint": {
      "type": "string"
     },
     "plugins": {
      "type": "array",
      "items": {
       "$ref": "#/components/schemas/WeightedPlugin"
      }
     }
    },
    "additionalProperties": false
   },
   "WeightedPlugin": {
    "type": "object",
    "description": "A plugin.",
    "required": [
     "plugin"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "weight": {
      "type": "integer",
      "format": "int64",
      "description": "Of a score plugin."
     }
    },
    "additionalProperties": false
   },
   "PointCalls": {
    "type": "object",
    "description": "Calls of all plugins of an extension point.",
    "required": [
     "extensionPoint",
     "status",
     "calls",
     "seconds"
    ],
    "properties": {
     "extensionPoint": {
      "type": "string"
     },
     "status": {
      "type": "string",
      "description": "Kubernetes' status code."
     },
     "calls": {
      "type": "integer",
      "format": "int64"
     },
     "seconds": {
      "type": "number",
      "description": "In total."
     }
    },
    "additionalProperties": false
   },
   "PluginCost": {
    "type": "object",
    "description": "The cost of a plugin.",
    "required": [
     "plugin",
     "extensionPoint",
     "seconds"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "extensionPoint": {
      "type": "string"
     },
     "evaluations": {
      "type": "integer",
      "format": "int64",
      "description": "Pods at PreFilter and PreScore, nodes at Filter and Score; absent elsewhere."
     },
     "seconds": {
      "type": "number",
      "description": "In total, extrapolated from the tenth of the attempts that are timed."
     }
    },
    "additionalProperties": false
   },
   "PluginRejections": {
    "type": "object",
    "description": "Rejections by a plugin.",
    "required": [
     "plugin",
     "attempts",
     "nodes"
    ],
    "properties": {
     "plugin": {
      "type": "string"
     },
     "attempts": {
      "type": "integer",
      "format": "int64",
      "description": "Attempts in which it rejected the pod or a node."
     },
     "nodes": {
      "type": "integer",
      "format": "int64",
      "description": "Rejected in them, in total."
     }
    },
    "additionalProperties": false
   },
   "Error": {
    "type": "object",
    "description": "A metav1.Status.",
    "required": [
     "kind",
     "apiVersion",
     "metadata",
     "status",
     "message",
     "reason",
     "code"
    ],
    "properties": {
     "kind": {
      "type": "string"
     },
     "apiVersion": {
      "type": "string"
     },
     "metadata": {
      "type": "object",
      "additionalProperties": true
     },
     "status": {
      "type": "string"
     },
     "message": {
      "type": "string"
     },
     "reason": {
      "type": "string"
     },
     "code": {
      "type": "integer",
      "format": "int32"
     }
    },
    "additionalProperties": false
   }
  },
  "securitySchemes": {
   "bearer": {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of a user or a service account."
   }
  }
 },
 "security": [
  {
   "bearer": []
  }
 ]
}
)json";
}

}  // namespace berth::process
