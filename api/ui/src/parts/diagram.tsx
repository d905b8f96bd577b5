import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { count } from '../lib/format';
import { arrange, cut, type Graph, type GraphNode, level } from '../lib/graph';
import { toneOf, wordsOf } from '../lib/outcome';
import type { Config } from '../lib/types';
import { impactHref, workloadHref } from '../state/router';
import { Glyph } from './glyph';
import { Kind, Name } from './words';

const most = 60; // nodes on one side
const step = 38; // from node to node, in pixels
const tall = 30; // a node

interface Placed {
  node: GraphNode;
  y: number;
}

// Diagram draws configs on the left, workloads on the right, and what depends on what between them. Pointing at a node, or focusing
// it, shows its edges alone.
export function Diagram({ graph, focus }: { graph: Graph; focus?: Config }) {
  const { graph: drawn, left: hidden } = useMemo(() => cut(graph, most), [graph]);
  const { configs, workloads, height } = useMemo(() => place(drawn), [drawn]);
  const [lit, light] = useState('');
  const near = useMemo(() => new Set(drawn.edges.flatMap((e) => (e.config === lit || e.workload === lit ? [e.config, e.workload] : []))), [drawn, lit]);
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const side = Math.min(360, width * 0.41);
  const at = new Map([...configs, ...workloads].map((p) => [p.node.id, p.y + tall / 2]));
  const many = new Set(drawn.nodes.map((n) => n.cluster)).size > 1;
  const names = new Map(drawn.nodes.map((n) => [n.id, n.name]));
  const users = (id: string) => drawn.edges.flatMap((e) => (e.config === id ? [names.get(e.workload)] : [])).join(', ');
  const node = (p: Placed) => <Node key={p.node.id} p={p} users={users(p.node.id)} cluster={many} dim={lit !== '' && !near.has(p.node.id)} focused={isFocus(p.node, focus)} light={light} />;
  return (
    <div class="diagram" ref={box}>
      <div class="canvas" style={{ height: `${height}px` }}>
        <svg width={width} height={height} aria-hidden="true">
          {drawn.edges.map((e) => (
            <path
              key={e.config + e.workload}
              class={[e.pending ? 'pending' : '', lit && (e.config === lit || e.workload === lit) ? 'lit' : lit ? 'dim' : ''].join(' ')}
              d={curve(side, at.get(e.config)!, width - side, at.get(e.workload)!)}
            />
          ))}
        </svg>
        <ul class="side configs" aria-label="Configs" style={{ width: `${side}px` }}>
          {configs.map(node)}
        </ul>
        <ul class="side" aria-label="Workloads" style={{ width: `${side}px` }}>
          {workloads.map(node)}
        </ul>
      </div>
      {hidden > 0 && <p class="faint">{count(hidden, 'dependency is', 'dependencies are')} not drawn. Choose a namespace to see less at once.</p>}
    </div>
  );
}

interface NodeProps {
  p: Placed;
  // users are the workloads that a config reaches, for those who do not see the lines.
  users: string;
  // cluster says whether the node's cluster is shown.
  cluster: boolean;
  dim: boolean;
  focused: boolean;
  light: (id: string) => void;
}

function Node({ p: { node, y }, users, cluster, dim, focused, light }: NodeProps) {
  const isConfig = node.type === 'config';
  return (
    <li style={{ top: `${y}px`, height: `${tall}px` }}>
      <a
        class={['node', dim && 'dim', focused && 'focus'].filter(Boolean).join(' ')}
        href={isConfig ? impactHref(node.cluster, node) : workloadHref(node.cluster, node)}
        onPointerEnter={() => light(node.id)}
        onPointerLeave={() => light('')}
        onFocus={() => light(node.id)}
        onBlur={() => light('')}
        title={`${node.kind} ${node.namespace}/${node.name}`}
      >
        {isConfig && <Kind kind={node.kind} />}
        <span class="label">
          <Name namespace={node.namespace} name={node.name} />
        </span>
        {users && <span class="hidden">, used by {users}</span>}
        {cluster && <small>{node.cluster}</small>}
        {!isConfig && !cluster && <small>{node.kind}</small>}
        {node.condition && (
          <span class={`badge ${toneOf(node.condition)}`} title={wordsOf(node.condition)}>
            <Glyph tone={toneOf(node.condition)} />
            <span class="hidden">{wordsOf(node.condition)}</span>
          </span>
        )}
      </a>
    </li>
  );
}

const isFocus = (n: GraphNode, c?: Config): boolean => c !== undefined && n.type === 'config' && n.kind === c.kind && n.name === c.name && n.namespace === c.namespace;

function place(graph: Graph): { configs: Placed[]; workloads: Placed[]; height: number } {
  const nodes = new Map(graph.nodes.map((n) => [n.id, n]));
  const { left, right } = arrange(graph.edges.map((e) => ({ from: e.config, to: e.workload })));
  const height = Math.max(left.length, right.length) * step;
  const column = (ids: string[], at: number[]): Placed[] => ids.map((id, i) => ({ node: nodes.get(id)!, y: at[i]! * step + (step - tall) / 2 }));
  const rows = height / step;
  const links = graph.edges.map((e) => [e.config, e.workload]);
  const back = links.map(([config, workload]) => [workload!, config!]);
  return { configs: column(left, level(left, right, links, rows)), workloads: column(right, level(right, left, back, rows)), height };
}

function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = (x2 - x1) * 0.5;
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

function useWidth(box: { current: HTMLElement | null }): number {
  const [width, set] = useState(900);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && set(Math.floor(entry.contentRect.width)));
    observer.observe(box.current!);
    return () => observer.disconnect();
  }, []);
  return width;
}
