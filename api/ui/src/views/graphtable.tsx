import type { Graph } from '../lib/graph';
import { Badge } from '../parts/badge';
import { ConfigLink } from '../parts/configlink';
import { WorkloadLink } from '../parts/workloadlink';

const most = 500;

// GraphTable says in rows what the picture shows in lines.
export function GraphTable({ graph }: { graph: Graph }) {
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]));
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Dependencies">
      <table>
        <thead>
          <tr>
            <th scope="col">Config</th>
            <th scope="col">Workload</th>
            <th scope="col">Why</th>
            <th scope="col">Keys</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {graph.edges.slice(0, most).map((e) => {
            const config = nodes.get(e.config);
            const workload = nodes.get(e.workload);
            if (!config || !workload) return null;
            return (
              <tr key={e.config + e.workload}>
                <th scope="row">
                  <ConfigLink cluster={config.cluster} config={config} alone />
                </th>
                <td>
                  <WorkloadLink cluster={workload.cluster} workload={workload} />
                </td>
                <td>{e.why}</td>
                <td class="mono">{e.keys.length ? e.keys.join(', ') : 'all'}</td>
                <td>{e.pending ? <Badge reason={workload.hold ?? 'Waiting'} /> : <Badge reason="UpToDate" />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {graph.edges.length > most && <p class="faint">{graph.edges.length - most} more are in the API.</p>}
    </div>
  );
}
