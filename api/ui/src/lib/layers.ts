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

// crossings counts the pairs of edges that cross: what arrange keeps small.
export function crossings(edges: Edge[], { left, right }: Layers): number {
  const l = new Map(left.map((n, i) => [n, i]));
  const r = new Map(right.map((n, i) => [n, i]));
  let found = 0;
  edges.forEach((a, i) =>
    edges.slice(i + 1).forEach((b) => {
      if ((l.get(a.from)! - l.get(b.from)!) * (r.get(a.to)! - r.get(b.to)!) < 0) found++;
    }),
  );
  return found;
}
