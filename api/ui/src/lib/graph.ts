import { conditionOf } from './outcome';
import type { Config, Reason, Workload } from './types';

export interface GraphNode {
  id: string;
  type: 'config' | 'workload';
  cluster: string;
  kind: string;
  namespace: string;
  name: string;
  /** What a workload's verdict says. */
  condition?: Reason;
}

export interface Graph {
  nodes: GraphNode[];
  edges: { config: string; workload: string; pending: boolean }[];
  warnings: string[];
}

// graphOf returns which configs reach which workloads.
export function graphOf(workloads: Pick<Workload, 'cluster' | 'workload' | 'dependencies' | 'verdict'>[], warnings: string[]): Graph {
  const nodes = new Map<string, GraphNode>();
  const edges: Graph['edges'] = [];
  const add = (type: GraphNode['type'], cluster: string, { kind, namespace, name }: Config, condition?: Reason): string => {
    const id = [cluster, kind, namespace, name].join('/');
    nodes.set(id, { id, type, cluster, kind, namespace, name, ...(condition && { condition }) });
    return id;
  };
  for (const w of workloads) {
    for (const d of w.dependencies ?? []) {
      const owner = d.config.cluster ?? w.cluster;
      edges.push({
        config: add('config', owner, d.config),
        workload: add('workload', w.cluster, w.workload, conditionOf(w.verdict)),
        pending: d.pendingChange !== undefined,
      });
    }
  }
  return { nodes: [...nodes.values()], edges, warnings };
}

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

// Drawing configs → workloads in two layers with few crossings.

export interface Edge {
  from: string;
  to: string;
}

export interface Layers {
  left: string[];
  right: string[];
}

const rounds = 8;

// arrange orders both sides so that connected nodes are near each other: each node moves to the middle of its neighbours, again and
// again. Equal input gives equal output, so that the picture does not jump.
export function arrange(edges: Edge[]): Layers {
  let left = [...new Set(edges.map((e) => e.from))].sort();
  let right = [...new Set(edges.map((e) => e.to))].sort();
  const toRight = neighbours(
    edges,
    (e) => e.from,
    (e) => e.to,
  );
  const toLeft = neighbours(
    edges,
    (e) => e.to,
    (e) => e.from,
  );
  for (let i = 0; i < rounds; i++) {
    right = byMiddle(right, toLeft, left);
    left = byMiddle(left, toRight, right);
  }
  return { left, right };
}

function neighbours(edges: Edge[], of: (e: Edge) => string, other: (e: Edge) => string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const e of edges) found.set(of(e), [...(found.get(of(e)) ?? []), other(e)]);
  return found;
}

function byMiddle(nodes: string[], links: Map<string, string[]>, others: string[]): string[] {
  const place = new Map(others.map((name, i) => [name, others.length < 2 ? 0 : i / (others.length - 1)]));
  const middle = (name: string) => {
    const near = links.get(name) ?? [];
    return near.reduce((sum, n) => sum + (place.get(n) ?? 0), 0) / Math.max(near.length, 1);
  };
  return [...nodes].sort((a, b) => middle(a) - middle(b) || a.localeCompare(b));
}

// level says at which row each of ids stands: the longer side fills all rows, and a node of the shorter one is as near to the middle
// of its neighbours as its order allows.
export function level(ids: string[], others: string[], links: string[][], rows: number): number[] {
  if (ids.length >= rows) return ids.map((_, i) => i);
  const place = new Map(others.map((id, i) => [id, others.length >= rows ? i : (i * (rows - 1)) / Math.max(1, others.length - 1)]));
  const at = ids.map((id) => {
    const near = links.filter(([from]) => from === id).map(([, to]) => place.get(to!) ?? 0);
    return near.reduce((sum, n) => sum + n, 0) / Math.max(1, near.length);
  });
  for (let i = 1; i < at.length; i++) at[i] = Math.max(at[i]!, at[i - 1]! + 1);
  for (let i = at.length - 1, most = rows - 1; i >= 0; i--, most = at[i + 1]! - 1) at[i] = Math.min(at[i]!, most);
  return at;
}
