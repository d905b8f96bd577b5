import type { Graph, GraphNode } from './types';

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
