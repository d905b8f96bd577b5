import type { Config, Reason, Workload } from './types';

export interface GraphNode {
  id: string;
  type: 'config' | 'workload';
  cluster: string;
  kind: string;
  namespace: string;
  name: string;
  hold?: Reason;
}

export interface Graph {
  nodes: GraphNode[];
  edges: { config: string; workload: string; why: Reason; keys: string[]; pending: boolean }[];
  warnings: string[];
}

// graphOf returns which configs reach which workloads. wanted tells whether a config of a cluster is to be in it.
export function graphOf(workloads: Workload[], warnings: string[], wanted: (cluster: string, config: Config) => boolean = () => true): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges: Graph['edges'] = [];
  const add = (type: GraphNode['type'], cluster: string, { kind, namespace, name }: Config, hold?: Reason): string => {
    const id = [cluster, kind, namespace, name].join('/');
    nodes.set(id, { id, type, cluster, kind, namespace, name, ...(hold && { hold }) });
    return id;
  };
  for (const w of workloads) {
    for (const d of w.dependencies ?? []) {
      const owner = d.config.cluster ?? w.cluster;
      if (!wanted(owner, d.config)) continue;
      const all = (d.uses ?? []).some((u) => !u.keys?.length);
      edges.push({
        config: add('config', owner, d.config),
        workload: add('workload', w.cluster, w.workload, w.hold?.reason),
        why: d.why,
        keys: all ? [] : [...new Set((d.uses ?? []).flatMap((u) => u.keys ?? []))].sort(),
        pending: d.pendingChange !== undefined,
      });
    }
  }
  return { nodes: [...nodes.values()], edges, warnings };
}

export const isNarrowGraph = (cluster: string, namespace: string, text: string): boolean => cluster !== '' || namespace !== '' || text !== '';

// narrowGraph keeps the edges of which one end is asked for, with both their ends.
export function narrowGraph(graph: Graph, cluster: string, namespace: string, text: string): Graph {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]));
  const wanted = (n: GraphNode | undefined): boolean => n !== undefined && words.every((w) => `${n.kind} ${n.namespace}/${n.name}`.toLowerCase().includes(w));
  const inside = (n: GraphNode | undefined): boolean => n !== undefined && (!cluster || n.cluster === cluster) && (!namespace || n.namespace === namespace);
  const edges = graph.edges.filter((e) => {
    const ends = [nodes.get(e.config), nodes.get(e.workload)];
    return ends.every(inside) && ends.some(wanted);
  });
  const kept = new Set(edges.flatMap((e) => [e.config, e.workload]));
  return { ...graph, nodes: graph.nodes.filter((n) => kept.has(n.id)), edges };
}

// cut keeps a picture that can be looked at: the first edges, up to most nodes on a side.
export function cut(graph: Graph, most: number): { graph: Graph; left: number } {
  const configs = new Set<string>();
  const workloads = new Set<string>();
  const edges = graph.edges.filter((e) => {
    if ((!configs.has(e.config) && configs.size === most) || (!workloads.has(e.workload) && workloads.size === most)) return false;
    configs.add(e.config);
    workloads.add(e.workload);
    return true;
  });
  return { graph: { ...graph, nodes: graph.nodes.filter((n) => configs.has(n.id) || workloads.has(n.id)), edges }, left: graph.edges.length - edges.length };
}
