import type { WorkloadRef } from '../lib/types';
import { showsCluster } from '../state/fleet';
import { workloadHref } from '../state/router';

// WorkloadLink names the workload's cluster, unless it is that of what it is shown beside.
export function WorkloadLink({ cluster, workload, beside }: { cluster: string; workload: WorkloadRef; beside?: string }) {
  return (
    <a class="ref" href={workloadHref(cluster, workload)}>
      {cluster !== beside && showsCluster(cluster) && <span class="ns">{cluster}/</span>}
      <span class="ns">{workload.namespace}/</span>
      {workload.name} <small>{workload.kind}</small>
    </a>
  );
}
