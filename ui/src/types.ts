// The responses of the API: the parts of docs/reference/scheduler-api.json that the page shows.

export interface Status {
  version: string;
  leading: boolean;
  synced: boolean;
  nodes: number;
  queue: Record<"active" | "backoff" | "unschedulable" | "gated" | "incomplete" | "inFlight", number>;
  records: { count: number; bytes: number; dropped: number };
}

export interface Shortfall {
  resource: string;
  pods: number;
  requested: string;
  free: string;
  missing: string;
  largestRequest: string;
  largestFree: string;
}

export interface QueuedPod {
  namespace: string;
  name: string;
  place: string;
  since: string;
  attempts: number;
  priority: number;
  owner?: string;
  rejectedBy?: string[];
}

export interface Queue {
  total: number;
  places: { place: string; pods: number }[];
  causes: { plugin: string; pods: number }[];
  namespaces: { namespace: string; pods: number }[];
  owners: { namespace: string; owner: string; pods: number }[];
  shortfall: Shortfall[];
  matching: number;
  remaining: number;
  pods: QueuedPod[];
}

export interface Reason {
  plugin: string;
  reason: string;
  nodes: number;
  nodesBefore?: number;
  names?: string[];
}

export interface RecordNode {
  name: string;
  code: string;
  plugin?: string;
  reasons?: string[];
  scores?: Record<string, number>;
  extenders?: Record<string, number>;
  total?: number;
}

export interface Attempt {
  time: string;
  result: string;
  message?: string;
  node?: string;
  nodes: { total: number; feasible: number; sampled?: boolean };
  reasons?: Reason[];
  preemption?: { message?: string; node?: string; victimCount?: number; victims?: string[] };
  record?: { nodes?: RecordNode[] };
}

export interface Tenant {
  name: string;
  share: number;
  resource?: string;
  weight: number;
  waiting: number;
  attemptsWithoutPlacement: number;
}

export interface Pod {
  namespace: string;
  name: string;
  schedulerName?: string;
  podGroup?: string;
  priority?: number;
  nominatedNode?: string;
  stage: "queued" | "scheduling" | "binding" | "gone";
  queue?: {
    place: string;
    since: string;
    firstReady?: string;
    attempts: number;
    unschedulableAttempts: number;
    consecutiveErrors: number;
    nextRetry?: string;
    rejectedBy?: string[];
    waitingFor?: string[];
    gatedBy?: string;
    ahead?: number;
    tenant?: Tenant;
    tenantsBefore?: number;
    firstTenants?: Tenant[];
    wokenBy?: { plugin: string; events?: string[] }[];
  };
  attempts: Attempt[];
  moreAttempts?: number;
}

export interface ExplainedReason {
  plugin: string;
  reason: string;
  values?: string[];
}

// A node on which the pod would fit after evictions.
export interface PreemptionCandidate {
  node: string;
  victimCount: number;
  violations: number;
  drawback?: string;
  victims?: { pod: string; owner?: string; priority: number; started?: string; budget?: string }[];
}

export interface Explanation {
  boundTo?: string;
  clusterAsOf: string;
  evaluatedAt: string;
  leading: boolean;
  leftOut?: string[];
  result: string;
  message?: string;
  nodes?: { total: number; feasible: number };
  node?: string;
  podReasons?: ExplainedReason[];
  groups?: { nodes: number; reasons: ExplainedReason[]; shortfall?: number; names?: string[] }[];
  moreGroups?: number;
  preemption?: {
    victimCount: number;
    node?: string;
    victims?: string[];
    candidates?: PreemptionCandidate[];
    notShown?: number;
    refusals?: { nodes: number; reason: string }[];
  };
  advice?: {
    steps: string[];
    nodes: number;
    victimCount: number;
    names?: string[];
    victims?: string[];
    victimsNode?: string;
  }[];
  adviceWithheld?: number;
}

export interface ListedNode {
  name: string;
  ready?: string;
  unschedulable: boolean;
  podCount: number;
  requested: { resource: string; share: number }[];
  measured?: { name: string; value: number }[];
}

export interface Nodes {
  total: number;
  remaining: number;
  measurements: { name: string; state: string; polledAt?: string }[];
  nodes: ListedNode[];
}

export interface Searched {
  attempts: number;
  since: string;
}

export interface NodeReport {
  name: string;
  ready?: string;
  unschedulable: boolean;
  taints?: { key: string; value?: string; effect: string }[];
  podCount: number;
  assumedCount: number;
  nominatedCount: number;
  resources: { resource: string; allocatable: string; requested: string }[];
  pods?: { namespace: string; name: string; priority: number; assumed: boolean; requests: { resource: string; requested: string }[] }[];
  morePods?: number;
  rejections: {
    plugin: string;
    reason: string;
    pods: number;
    morePods?: boolean;
    last: string;
    lastPods?: { namespace: string; name: string; time: string }[];
  }[];
  searched: Searched;
}

export interface Preemptions {
  preemptions: {
    namespace: string;
    name: string;
    time: string;
    message?: string;
    node: string;
    victimCount: number;
    victims?: string[];
  }[];
  morePreemptions?: number;
  searched: Searched;
}

export interface Plugins {
  profiles: {
    name: string;
    points: { extensionPoint: string; plugins: { plugin: string; weight?: number }[] }[];
    calls: { extensionPoint: string; status: string; calls: number; seconds: number }[];
    costs: { plugin: string; extensionPoint: string; evaluations?: number; seconds?: number }[];
    rejections: { plugin: string; attempts: number; nodes: number }[];
  }[];
  searched: Searched;
}
