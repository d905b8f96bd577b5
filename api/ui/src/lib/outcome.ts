import type { PendingReload, Reload, Rollout, Workload } from './types';
import type { TimelineRow } from './timelinestore';

// Tone is what an outcome means to whoever looks: each has a colour and a shape of its own.
export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'calm';

const tones: Record<string, Tone> = {
  Reloaded: 'good',
  RolledOut: 'good',
  Notified: 'good',
  Rolling: 'busy',
  Retrying: 'wait',
  Refused: 'bad',
  Invalid: 'bad',
  Failing: 'bad',
  Stalled: 'bad',
  Halted: 'bad',
  Flapping: 'bad',
  Frozen: 'wait',
  PausedByOperator: 'wait',
  OutsideWindow: 'wait',
  TooSoon: 'wait',
  RateLimited: 'wait',
  ConcurrencyLimited: 'wait',
  WaitingForNamespace: 'wait',
  Paused: 'wait',
  MissingConfig: 'bad',
  Unreachable: 'bad',
  Unreadable: 'bad',
  Failed: 'bad',
  NotRolledOut: 'bad',
  NotOptedIn: 'wait',
  Pending: 'wait',
  NoBaseline: 'wait',
  WaitingForStep: 'wait',
  WaitingForOperator: 'wait',
  Waiting: 'wait',
  Held: 'wait',
};

// toneOf never fails: a reason that a newer server has added is told calmly.
export function toneOf(reason: string): Tone {
  return tones[reason] ?? 'calm';
}

// wordsOf turns the name of a reason into words: AlreadyCurrent → already current.
export function wordsOf(reason: string): string {
  const words = reason.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// stateOf says in one reason how far a reload is: what became of its rollout, once that is known.
export function stateOf(reload: { outcome: string; rollout?: Rollout }): string {
  return reload.outcome === 'Reloaded' && reload.rollout ? reload.rollout.result : reload.outcome;
}

export interface Part {
  state: string;
  count: number;
}

const rank: Tone[] = ['bad', 'wait', 'busy', 'good', 'calm'];

// reloadsOf are the reloads of a change, without those of workloads that still wait: one that was given up is both on record and held.
export function reloadsOf({ reloads, pending }: { reloads: Reload[]; pending: PendingReload[] }): Reload[] {
  const place = (of: Reload | PendingReload) => [of.cluster, of.workload.kind, of.workload.namespace, of.workload.name].join('/');
  const waiting = new Set(pending.map(place));
  return reloads.filter((r) => !waiting.has(place(r)));
}

// partsOf counts what became of a change, the worst first.
export function partsOf(row: TimelineRow): Part[] {
  const counts = new Map<string, number>();
  const count = (state: string) => counts.set(state, (counts.get(state) ?? 0) + 1);
  for (const reload of reloadsOf(row)) count(stateOf(reload));
  for (const waiting of row.pending) count(waiting.hold?.reason ?? 'Waiting');
  return [...counts].map(([state, n]) => ({ state, count: n })).sort((a, b) => rank.indexOf(toneOf(a.state)) - rank.indexOf(toneOf(b.state)) || b.count - a.count || a.state.localeCompare(b.state));
}

// workloadsOf names the workloads of a change, those that still wait first, each once.
export function workloadsOf(row: { reloads: Reload[]; pending: PendingReload[] }): string[] {
  const names = [...row.pending, ...row.reloads].map((one) => one.workload.name);
  return [...new Set(names)];
}

// lastRolled is when a workload was last rolled, as far as its record tells.
export function lastRolled({ rollout, dependencies }: Workload): string | undefined {
  const times = (dependencies ?? []).flatMap(({ handled }) => (handled?.how === 'Reloaded' ? [handled.at] : []));
  return [...times, ...(rollout ? [rollout.startedAt] : [])].sort((a, b) => Date.parse(b) - Date.parse(a))[0];
}

// textOf is what a badge says; roomOf how many such characters two badges of a row of the timeline have, beside how many more there are.
export const textOf = (part: Part): string => (part.count > 1 ? `${part.count} ` : '') + wordsOf(part.state);
const roomOf = (more: boolean): number => (more ? 26 : 29);

// shownOf are the parts of a row that have room as badges: the first, and a second if it can be read whole.
export function shownOf(parts: Part[]): Part[] {
  const two = parts.slice(0, 2);
  return two.map(textOf).join('').length <= roomOf(parts.length > 2) ? two : two.slice(0, 1);
}

// conditionOf is the state of a workload, or the reason where the state is about many.
export function conditionOf({ verdict }: Workload): string {
  return verdict.state === 'Held' ? (verdict.reason ?? verdict.state) : verdict.state;
}
