import { ageOf, count, relative } from './format';
import type { Cluster, Workload } from './types';

// Attention is what somebody has to look at, and what waits by itself: the strip, the navigation, the page and reroll status show the same. What may
// not be seen is left out.
export interface Attention {
  clusters: Cluster[];
  workloads: Workload[];
  waiting: Workload[];
}

export function attentionOf(clusters: readonly Cluster[] = [], unsettled: readonly Workload[] = []): Attention {
  const needs = (w: Workload) => w.verdict.needsAttention === true;
  return { clusters: clusters.filter((c) => c.health !== 'Healthy'), workloads: unsettled.filter(needs), waiting: unsettled.filter((w) => !needs(w)) };
}

// Remark is one part of what a fleet is like at a glance, with the view that tells more.
export interface Remark {
  text: string;
  path: string;
  tone: 'good' | 'bad' | 'calm';
}

// remarksOf says in a line how a fleet is.
export function remarksOf(clusters: readonly Cluster[] | undefined, unsettled: readonly Workload[] | undefined, now: number): Remark[] {
  const found = attentionOf(clusters, unsettled);
  const remarks: Remark[] = [];
  if (clusters && clusters.length > 0) {
    const states = [...new Set(found.clusters.map((c) => c.health))].sort().map((health) => `, ${found.clusters.filter((c) => c.health === health).length} ${health.toLowerCase()}`);
    remarks.push({ text: count(clusters.length, 'cluster') + states.join(''), path: 'clusters', tone: states.length > 0 ? 'bad' : 'good' });
  }
  if (unsettled) {
    const n = found.workloads.length;
    if (n > 0) remarks.push({ text: `${count(n, 'workload needs', 'workloads need')} attention`, path: 'attention', tone: 'bad' });
    else remarks.push({ text: 'no workload needs attention', path: 'attention', tone: 'good' });
    if (found.waiting.length > 0) remarks.push({ text: `${found.waiting.length.toLocaleString('en')} waiting`, path: 'attention', tone: 'calm' });
  }
  for (const { name, freeze } of clusters ?? []) {
    if (!freeze) continue;
    const since = freeze.since ? ` for ${ageOf(freeze.since, now)}` : '';
    const until = freeze.until ? `, ends ${relative(freeze.until, now)}` : '';
    remarks.push({ text: `${name} frozen${since}${until}`, path: 'attention', tone: 'calm' });
  }
  return remarks;
}

const ranks = ['Away', 'Unknown', 'Degraded', 'Healthy'];

// worstFirst orders clusters by health, then by how much is held and pending, then by name.
export function worstFirst(clusters: readonly Cluster[]): Cluster[] {
  const rank = (c: Cluster) => ranks.indexOf(c.health);
  return [...clusters].sort((a, b) => rank(a) - rank(b) || heldOf(b) - heldOf(a) || (b.pending ?? 0) - (a.pending ?? 0) || a.name.localeCompare(b.name, 'en', { numeric: true }));
}

export const heldOf = (c: Cluster): number => Object.values(c.held ?? {}).reduce((sum, n) => sum + n, 0);
