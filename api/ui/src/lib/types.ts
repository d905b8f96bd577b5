// What the API answers, as far as the dashboard reads it. Fields may be added there; a test compares these with /openapi.json.

export type Reason = string;

export interface Config {
  /** The owner, if it is another cluster than that of the record. */
  cluster?: string;
  kind: string;
  namespace: string;
  name: string;
}

export interface WorkloadRef {
  kind: string;
  namespace: string;
  name: string;
}

export interface KeyChange {
  key: string;
  /** Added, Changed or Removed. */
  op: string;
}

export interface Candidate {
  user?: string;
  authenticatedUser?: string;
  userAgent?: string;
  sourceIP?: string;
  fieldManager?: string;
  verb: string;
  auditID?: string;
  time: string;
  /** Whether this actor made the change, and no other one may have. */
  sure: boolean;
}

export interface Change {
  id: string;
  cluster: string;
  config: Config;
  /** Baseline, Updated, Created or Deleted. */
  type: string;
  old?: { sum?: string };
  new?: { sum?: string };
  keys?: KeyChange[];
  candidates?: Candidate[];
  source: string;
  requestedAt?: string;
  receivedAt?: string;
  verifiedAt: string;
}

export interface Rollout {
  result: Reason;
  message?: string;
  startedAt: string;
  endedAt?: string;
}

export interface Cause {
  changeID: string;
  config: Config;
  keys?: KeyChange[];
  candidates?: Candidate[];
  source: string;
  requestedAt?: string;
  verifiedAt: string;
}

// Asked counts the running pods that were to take the content without a restart.
export interface Asked {
  asked: number;
  answered: number;
  failed: number;
  failedPods?: string[];
}

// Reload has no causes where it is one of those of a change.
export interface Reload {
  id: string;
  /** The workload's, which is another than the change's if it follows the config. */
  cluster: string;
  workload: WorkloadRef;
  outcome: Reason;
  message?: string;
  decidedAt: string;
  patchedAt?: string;
  rollout?: Rollout;
  pods?: Asked;
  latencySeconds?: number;
  causes?: Cause[];
  /** With which words somebody asked for it, if no change is behind it. */
  requested?: string;
}

export interface Hold {
  reason: Reason;
  message?: string;
  since: string;
  until?: string;
  attempts?: number;
}

export interface PendingReload {
  cluster: string;
  workload: WorkloadRef;
  hold?: Hold;
}

// ChangeRow is a change with all that came of it.
export interface ChangeRow extends Change {
  reloads: Reload[];
  pending: PendingReload[];
}

export interface Use {
  how: string;
  container?: string;
  keys?: string[];
}

export interface Dependency {
  config: Config;
  why: Reason;
  clause?: string;
  uses?: Use[];
  how?: Reason;
  appliedAt?: string;
  pendingChange?: string;
}

// Verdict says how a workload stands, and what to do next.
export interface Verdict {
  state: string;
  reason?: Reason;
  /** Whether the state does not end by itself. */
  needsAttention?: boolean;
  /** Whether the state is expected to end by itself. */
  waits?: boolean;
  message: string;
  next?: string;
}

export interface Workload {
  cluster: string;
  workload: WorkloadRef;
  verdict: Verdict;
  dialect: string;
  strategy: string;
  dependencies?: Dependency[];
  hold?: Hold;
  rollout?: Rollout;
}

export interface Pause {
  since?: string;
  until?: string;
}

// Problem is what is wrong with a cluster, or what holds back its workloads; those have the reason.
export interface Problem {
  message: string;
  next?: string;
  reason?: Reason;
}

export interface Cluster {
  name: string;
  /** Healthy, Degraded, Away or Unknown. */
  health: string;
  problems?: Problem[];
  holdsBack?: Problem[];
  version?: string;
  instance?: string;
  updatedAt?: string;
  sources?: { source: string; hints: number; lastAt: string }[];
  feeds?: { address: string; state: string; lastAt?: string }[];
  lastChangeAt?: string;
  lastReloadAt?: string;
  sweptAt?: string;
  drift?: number;
  workloads: number;
  pending?: number;
  held?: Record<Reason, number>;
  /** When the oldest change was verified that is on its way to a workload. */
  oldestPendingAt?: string;
  hintsPending?: number;
  freeze?: Pause;
  // forward is how far the cluster's records have come to the hub that answers, for each stream; missing records are among problems.
  forward?: { at: string; behind?: number }[];
}

export interface List<T> {
  items: T[];
  continue?: string;
  warnings: string[];
}

export interface Explanation extends Verdict {
  config: Config;
  /** The newest change of the config. */
  change?: Change;
}

export interface Explained extends Workload {
  explanations: Explanation[];
  warnings: string[];
}

export interface Impact {
  cluster: string;
  config: Config;
  rollsNow: number;
  rollsLater: number;
  reloadCount: number;
  notifiedCount: number;
  neverCount: number;
  workloads: ImpactedWorkload[];
  complete: boolean;
  warnings: string[];
}

export interface ImpactedWorkload {
  cluster: string;
  workload: WorkloadRef;
  strategy: string;
  dependency: Dependency;
  /** Now, Later, Reloads, Notified or Never. */
  fate: string;
  verdict: Verdict;
}

export interface Counts {
  changes: number;
  outcomes: Record<Reason, number>;
  latency?: { p50: number; p95: number };
}

export interface TopEntry {
  cluster: string;
  kind: string;
  namespace: string;
  name: string;
  count: number;
}

export interface Stats {
  total: Counts;
  buckets: (Counts & { start: string })[];
  workloads: TopEntry[];
  configs: TopEntry[];
  warnings: string[];
}

export interface Self {
  user?: string;
}
