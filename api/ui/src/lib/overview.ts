import { ageOf, count, relative } from './format';
import type { Cluster, Workload } from './types';

// Remark is one part of what a fleet is like at a glance, with the view that tells more.
export interface Remark {
  text: string;
  path: string;
  bad: boolean;
}

// illOf are the clusters that need attention.
export const illOf = (clusters: readonly Cluster[]): Cluster[] => clusters.filter((c) => c.health === 'Degraded' || c.health === 'Away');

// attentionOf are the workloads that need attention, as the server judges.
export const attentionOf = (unsettled: readonly Workload[]): Workload[] => unsettled.filter((w) => w.verdict.needsAttention === true);

// overviewOf says in a line how a fleet is: what is not known is left out.
export function overviewOf(clusters: readonly Cluster[] | undefined, unsettled: readonly Workload[] | undefined, now: number): Remark[] {
  const remarks: Remark[] = [];
  if (clusters && clusters.length > 0) {
    const ill = illOf(clusters);
    const states = [...new Set(ill.map((c) => c.health))].sort().map((health) => `, ${ill.filter((c) => c.health === health).length} ${health.toLowerCase()}`);
    remarks.push({ text: count(clusters.length, 'cluster') + states.join(''), path: 'clusters', bad: ill.length > 0 });
  }
  if (unsettled) {
    const attention = attentionOf(unsettled).length;
    const waiting = unsettled.length - attention;
    const parts = [...(waiting > 0 ? [`${waiting.toLocaleString('en')} waiting`] : []), ...(attention > 0 ? [`${attention} ${attention === 1 ? 'needs' : 'need'} attention`] : [])];
    remarks.push({ text: parts.join(', ') || 'nothing waits', path: 'held', bad: attention > 0 });
  }
  for (const { name, freeze } of clusters ?? []) {
    if (freeze?.frozen)
      remarks.push({ text: `${name} frozen${freeze.since ? ` for ${ageOf(freeze.since, now)}` : ''}${freeze.until ? `, ends ${relative(freeze.until, now)}` : ''}`, path: 'held', bad: false });
  }
  return remarks;
}
