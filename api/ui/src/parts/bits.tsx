import type { ComponentChildren } from 'preact';
import { clockTime, exact, keysText, relative, who as whoOf } from '../lib/format';
import { toneOf, wordsOf } from '../lib/outcome';
import type { Candidate, Config, KeyChange, Reason, WorkloadRef } from '../lib/types';
import { now } from '../state/clock';
import { showsCluster } from '../state/fleet';
import { impactHref, workloadHref } from '../state/router';
import { exactTimes } from '../state/settings';
import { meaningOf } from '../state/reasons';
import { Glyph } from './glyph';

// Badge is an outcome: shape, word and colour say the same.
export function Badge({ reason, count, label }: { reason: Reason; count?: number; label?: string }) {
  const tone = toneOf(reason);
  return (
    <span class={`badge ${tone}`} title={meaningOf(reason)}>
      <Glyph tone={tone} />
      {count !== undefined && count > 1 ? `${count} ` : ''}
      {label ?? wordsOf(reason)}
    </span>
  );
}

// Time is a distance from now; the exact time shows on hover, or always if that is set.
export function Time({ at }: { at: string | undefined }) {
  if (!at) return <span class="faint">never</span>;
  return (
    <time class="tip" dateTime={at} data-tip={exact(at)}>
      {exactTimes.value ? exact(at) : relative(at, now.value)}
      {!exactTimes.value && <span class="hidden">, {exact(at)}</span>}
    </time>
  );
}

// RowTime is a Time inside a row that is a link: it turns exact while the row is pointed at or focused.
export function RowTime({ at }: { at: string | undefined }) {
  if (!at) return <span class="rowtime">–</span>;
  return (
    <time class={exactTimes.value ? 'rowtime exact' : 'rowtime'} dateTime={at} title={exact(at)}>
      <span class="rel">{relative(at, now.value)}</span>
      <span class="abs">{clockTime(at)}</span>
    </time>
  );
}

const marks: Record<string, string> = { ConfigMap: 'CM', Secret: 'SEC', SecretProviderClass: 'SPC' };

// Kind is the short mark of a kind of config.
export function Kind({ kind }: { kind: string }) {
  return (
    <abbr class="kind" title={kind}>
      {marks[kind] ?? kind}
    </abbr>
  );
}

// ConfigLink names the config's cluster if it is another than that of what it is shown beside; alone says that it is shown beside nothing.
export function ConfigLink({ cluster, config, alone }: { cluster: string; config: Config; alone?: boolean }) {
  const whose = config.cluster ?? (alone && showsCluster(cluster) ? cluster : undefined);
  return (
    <a class="ref" href={impactHref(config.cluster ?? cluster, config)}>
      <Kind kind={config.kind} />
      {whose && <span class="ns">{whose}/</span>}
      <span class="ns">{config.namespace}/</span>
      {config.name}
    </a>
  );
}

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

export function Who({ change }: { change: { candidates: Candidate[]; source: string } }) {
  const { name, note } = whoOf(change);
  return (
    <>
      <b class={name ? '' : 'nobody'}>{name || 'Unknown'}</b>
      <small>{note}</small>
    </>
  );
}

export function Keys({ keys }: { keys: KeyChange[] }) {
  if (keys.length === 0) return <span class="faint">keys not known</span>;
  return (
    <span class="keys mono" title={keys.map((k) => `${k.key} ${k.op.toLowerCase()}`).join(', ')}>
      {keysText(keys)}
    </span>
  );
}

export function Facts({ children }: { children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
