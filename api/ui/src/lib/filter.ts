import { personName, who } from './format';
import { reloadsOf, stateOf, toneOf } from './outcome';
import type { ChangeRow } from './types';

// hasWords tells whether every word of a text is somewhere in what a row says.
export function hasWords(said: readonly (string | undefined)[], text: string): boolean {
  const hay = said.join('\n').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => hay.includes(word));
}

// matches tells whether a change has all words of a text, and an outcome of a tone; none is a change that reached no workload.
export function matches(row: ChangeRow, text: string, tone: string): boolean {
  const states = [...reloadsOf(row).map(stateOf), ...row.pending.map((p) => p.hold?.reason ?? 'Waiting')];
  if (tone && !(tone === 'none' ? states.length === 0 : states.some((s) => toneOf(s) === tone))) return false;
  return !text || hasWords([...wordsOfChange(row), ...states], text);
}

function wordsOfChange({ config, reloads, pending, ...change }: ChangeRow): string[] {
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
    ...[...reloads, ...pending].map((r) => `${r.cluster} ${r.workload.kind} ${r.workload.namespace}/${r.workload.name}`),
  ];
}
