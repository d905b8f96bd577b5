import type { ChangeRow, PendingReload, Reload, Rollout, Verdict, Workload } from './types';

// Tone is what an outcome means to whoever looks: each has a colour and a shape of its own.
export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'calm';

const tones: Record<Exclude<Tone, 'calm'>, string> = {
  good: 'Reloaded Verified Called Refreshed Reloads RolledOut Notified UpToDate Healthy heard',
  busy: 'Rolling Reloading',
  bad: 'Refused Invalid Failing ReloadFailed Stalled Halted Flapping MissingConfig Unreachable Unreadable Failed NotRolledOut Degraded Away silent refused',
  wait: 'Retrying Frozen PausedByOperator OutsideWindow TooSoon Limited Paused NotOptedIn Pending WaitingForStep WaitingForOperator Waiting Held waiting',
};

const toneByReason = new Map(Object.entries(tones).flatMap(([tone, reasons]) => reasons.split(' ').map((r) => [r, tone as Tone])));

// toneOf never fails: a reason that a newer server has added is told calmly.
export const toneOf = (reason: string): Tone => toneByReason.get(reason) ?? 'calm';

// wordsOf turns the name of a reason into words: AlreadyCurrent → already current.
export function wordsOf(reason: string): string {
  const words = reason.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

// stateOf says in one reason how far a reload is: what became of its rollout, once that is known.
export function stateOf(reload: { outcome: string; rollout?: Rollout }): string {
  return reload.outcome === 'Reloaded' && reload.rollout ? reload.rollout.result : reload.outcome;
}

// conditionOf is the state of a verdict, or the reason where the state is about many.
export const conditionOf = ({ state, reason }: Verdict): string => (state === 'Held' ? (reason ?? state) : state);

export interface Part {
  state: string;
  count: number;
}

const rank: Tone[] = ['bad', 'wait', 'busy', 'good', 'calm'];

// placeOf is the workload that something is about.
export const placeOf = (of: Reload | PendingReload): string => [of.cluster, of.workload.kind, of.workload.namespace, of.workload.name].join('/');

// reloadsOf are the reloads of a change, without those of workloads that still wait: one that was given up is both on record and held.
export function reloadsOf({ reloads, pending }: { reloads: Reload[]; pending: PendingReload[] }): Reload[] {
  const waiting = new Set(pending.map(placeOf));
  return reloads.filter((r) => !waiting.has(placeOf(r)));
}

// partsOf counts what became of a change, the worst first.
export function partsOf(row: { reloads: Reload[]; pending: PendingReload[] }): Part[] {
  const counts = new Map<string, number>();
  const states = [...reloadsOf(row).map(stateOf), ...row.pending.map((p) => p.hold?.reason ?? 'Waiting')];
  for (const state of states) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, n]) => ({ state, count: n })).sort((a, b) => rank.indexOf(toneOf(a.state)) - rank.indexOf(toneOf(b.state)) || b.count - a.count || a.state.localeCompare(b.state));
}

// shownOf are the parts of a row that have room as badges: the first, and a second if it can be read whole.
export function shownOf(parts: Part[]): Part[] {
  const two = parts.slice(0, 2);
  const text = two.map((part) => (part.count > 1 ? `${part.count} ` : '') + wordsOf(part.state)).join('');
  return text.length <= (parts.length > 2 ? 26 : 29) ? two : two.slice(0, 1);
}

// lastRolled is when a workload was last rolled, as far as its record tells.
export function lastRolled({ rollout, dependencies }: Workload): string | undefined {
  const times = (dependencies ?? []).flatMap(({ how, appliedAt }) => (how === 'Reloaded' && appliedAt ? [appliedAt] : []));
  return [...times, ...(rollout ? [rollout.startedAt] : [])].sort((a, b) => Date.parse(b) - Date.parse(a))[0];
}

// supersededIn are the IDs of the changes, newest first, of which nothing came because workloads rolled or wait for a newer one of the same config.
export function supersededIn(rows: ChangeRow[]): Set<string> {
  const newer = new Set<string>();
  const found = new Set<string>();
  for (const row of rows) {
    const config = [row.cluster, row.config.kind, row.config.namespace, row.config.name].join('/');
    if (row.reloads.length + row.pending.length > 0) newer.add(config);
    else if (newer.has(config)) found.add(row.cluster + row.id);
  }
  return found;
}
