import { ageOf, count, relative } from './format';
import type { HeldWorkload } from './listing';
import type { Cluster } from './types';

// Remark is one part of what a fleet is like at a glance, with the view that tells more.
export interface Remark {
  text: string;
  path: string;
  bad: boolean;
}

// illOf are the clusters that need attention.
export const illOf = (clusters: readonly Cluster[]): Cluster[] => clusters.filter((c) => c.health === 'Degraded' || c.health === 'Away');

// deadOf are the held workloads that need attention: their wait does not end by itself.
export const deadOf = (held: readonly HeldWorkload[]): HeldWorkload[] => held.filter((w) => w.hold.deadLetter === true);

// overviewOf says in a line how a fleet is: what is not known is left out.
export function overviewOf(clusters: readonly Cluster[] | undefined, held: readonly HeldWorkload[] | undefined, now: number): Remark[] {
  const remarks: Remark[] = [];
  if (clusters && clusters.length > 0) {
    const ill = illOf(clusters);
    const states = [...new Set(ill.map((c) => c.health))].sort().map((health) => `, ${ill.filter((c) => c.health === health).length} ${health.toLowerCase()}`);
    remarks.push({ text: count(clusters.length, 'cluster') + states.join(''), path: 'clusters', bad: ill.length > 0 });
  }
  if (held) {
    const dead = deadOf(held).length;
    remarks.push({
      text: (held.length > 0 ? `${held.length.toLocaleString('en')} held` : 'nothing held') + (dead > 0 ? `, ${dead} ${dead === 1 ? 'needs' : 'need'} you` : ''),
      path: 'held',
      bad: dead > 0,
    });
  }
  for (const { name, freeze } of clusters ?? []) {
    if (freeze?.frozen)
      remarks.push({ text: `${name} frozen${freeze.since ? ` for ${ageOf(freeze.since, now)}` : ''}${freeze.until ? `, ends ${relative(freeze.until, now)}` : ''}`, path: 'held', bad: false });
  }
  return remarks;
}
