import { personName, who } from './format';
import { stateOf, toneOf } from './outcome';
import type { TimelineRow } from './timelinestore';

// Filter narrows the timeline. An empty field does not.
export interface Filter {
  text: string;
  cluster: string;
  namespace: string;
  kind: string;
  tone: string;
}

export const noFilter: Filter = { text: '', cluster: '', namespace: '', kind: '', tone: '' };

export const isNarrow = (f: Filter): boolean => Object.values(f).some((v) => v !== '');

// matches tells whether a row is one that f asks for. Every word of the text must be somewhere in it.
export function matches(row: TimelineRow, f: Filter): boolean {
  const { change } = row;
  return (
    (!f.cluster || change.cluster === f.cluster) &&
    (!f.namespace || change.config.namespace === f.namespace) &&
    (!f.kind || change.config.kind === f.kind) &&
    (!f.tone || hasTone(row, f.tone)) &&
    (!f.text || hasWords(row, f.text))
  );
}

function hasTone(row: TimelineRow, tone: string): boolean {
  if (tone === 'none') return row.reloads.length + row.pending.length === 0;
  return row.reloads.some((r) => toneOf(stateOf(r)) === tone) || row.pending.some((p) => toneOf(p.hold?.reason ?? 'Waiting') === tone);
}

function hasWords(row: TimelineRow, text: string): boolean {
  const hay = textOf(row);
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => hay.includes(word));
}

// texts remembers what was made of a row; rows are replaced, never altered.
const texts = new WeakMap<TimelineRow, string>();

function textOf(row: TimelineRow): string {
  let text = texts.get(row);
  if (text === undefined) {
    text = partsOfText(row).join('\n').toLowerCase();
    texts.set(row, text);
  }
  return text;
}

function partsOfText({ change, reloads, pending }: TimelineRow): string[] {
  const { config } = change;
  return [
    change.id,
    change.cluster,
    config.kind,
    `${config.namespace}/${config.name}`,
    change.source,
    change.type,
    who(change).name,
    ...(change.keys ?? []).map((k) => k.key),
    ...(change.candidates ?? []).flatMap((c) => [personName(c.user ?? ''), c.userAgent ?? '']),
    ...reloads.flatMap((r) => [r.id, r.cluster, `${r.workload.kind} ${r.workload.namespace}/${r.workload.name}`, r.outcome, stateOf(r)]),
    ...pending.flatMap((p) => [p.cluster, `${p.workload.kind} ${p.workload.namespace}/${p.workload.name}`, p.hold?.reason ?? 'Waiting']),
  ];
}
