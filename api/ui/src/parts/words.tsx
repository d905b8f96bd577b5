import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { clockTime, count, exact, keysText, relative, who } from '../lib/format';
import { type Tone, toneOf, wordsOf } from '../lib/outcome';
import type { Asked, Candidate, Config, KeyChange, Reason, WorkloadRef } from '../lib/types';
import { showsCluster } from '../state/fleet';
import { now } from '../state/page';
import { impactHref, workloadHref } from '../state/router';
import { Glyph } from './glyph';

// Badge is an outcome or a state: shape, word and colour say the same.
export function Badge({ reason, count, label, tone = toneOf(reason) }: { reason: Reason; count?: number; label?: string; tone?: Tone }) {
  return (
    <span class={`badge ${tone}`}>
      <Glyph tone={tone} />
      {count !== undefined && count > 1 ? `${count} ` : ''}
      {label ?? wordsOf(reason)}
    </span>
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

// Name is a name with what it is in: the cluster only if it says something.
export function Name({ cluster, namespace, name }: { cluster?: string | undefined; namespace: string; name: string }) {
  return (
    <>
      {cluster && showsCluster(cluster) && <span class="ns">{cluster}/</span>}
      <span class="ns">{namespace}/</span>
      {name}
    </>
  );
}

// ConfigLink names the config's cluster if it is another than that of what it is shown beside; alone says that it is shown beside nothing.
export function ConfigLink({ cluster, config, alone }: { cluster: string; config: Config; alone?: boolean }) {
  return (
    <a class="ref" href={impactHref(config.cluster ?? cluster, config)}>
      <Kind kind={config.kind} />
      <Name {...config} cluster={config.cluster ?? (alone ? cluster : undefined)} />
    </a>
  );
}

// WorkloadLink names the workload's cluster, unless it is that of what it is shown beside.
export function WorkloadLink({ cluster, workload, beside }: { cluster: string; workload: WorkloadRef; beside?: string }) {
  return (
    <a class="ref" href={workloadHref(cluster, workload)}>
      <Name {...workload} cluster={cluster === beside ? undefined : cluster} /> <small>{workload.kind}</small>
    </a>
  );
}

// Time is a distance from now; the exact time shows on hover.
export function Time({ at }: { at: string | undefined }) {
  if (!at) return <span class="faint">never</span>;
  return (
    <time class="tip" dateTime={at} data-tip={exact(at)}>
      {relative(at, now.value)}
      <span class="hidden">, {exact(at)}</span>
    </time>
  );
}

// RowTime is a Time inside a row that is a link: it turns exact while the row is pointed at or focused.
export function RowTime({ at }: { at: string | undefined }) {
  if (!at) return <span class="rowtime">–</span>;
  return (
    <time class="rowtime" dateTime={at} title={exact(at)}>
      <span class="rel">{relative(at, now.value)}</span>
      <span class="abs">{clockTime(at)}</span>
    </time>
  );
}

// Who names who made a change, and says how sure that is.
export function Who({ change }: { change: { candidates?: Candidate[]; source: string } }) {
  const { name, note } = who(change);
  return (
    <>
      <b class={name ? '' : 'nobody'}>{name || 'Unknown'}</b>
      <small>{note}</small>
    </>
  );
}

// Pods says how many pods were asked to reload, and which failed.
export function Pods({ of }: { of: Asked | undefined }) {
  if (!of) return null;
  const names = of.failedPods ? `: ${of.failedPods.join(', ')}` : '';
  return <small>{`${count(of.asked, 'pod')} asked · ${of.answered} answered · ${of.failed} failed${names}`}</small>;
}

// KeyList lists keys with what happened to them.
export function KeyList({ keys = [] }: { keys: KeyChange[] | undefined }) {
  if (keys.length === 0) return <span class="faint">keys not known</span>;
  return (
    <span class="keys mono" title={keys.map((k) => `${k.key} ${k.op.toLowerCase()}`).join(', ')}>
      {keysText(keys)}
    </span>
  );
}

// Facts lists what is known of one thing, each as a Fact.
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

// Command is a command to copy, where the browser lets pages copy.
export function Command({ text }: { text: string }) {
  const [copied, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    set(true);
    setTimeout(() => set(false), 2_000);
  };
  return (
    <span class="command">
      <code>{text}</code>
      {window.isSecureContext && (
        <button type="button" class="small" aria-label={`Copy ${text}`} onClick={copy}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      )}
    </span>
  );
}

// Next is the next command of a verdict or a problem, if there is one.
export function Next({ text }: { text: string | undefined }) {
  if (!text) return null;
  return (
    <p class="next">
      <span class="faint">Next</span> <Command text={text} />
    </p>
  );
}

// Table is a table that scrolls by itself when there is no room.
export function Table({ label, columns, children, short }: { label: string; columns: string[]; children: ComponentChildren; short?: boolean }) {
  return (
    <div class={short ? 'scroll short' : 'scroll'} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th scope="col" key={c}>
                {c}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

interface RowsProps<T> {
  label: string;
  // kind is the class of each row, which says how wide its columns are; num are the columns of numbers.
  kind: string;
  columns: string[];
  num?: string[];
  items: T[];
  first: number;
  children: (item: T) => ComponentChildren;
}

// Rows lists items below the names of columns: the first, until more are asked for.
export function Rows<T>({ label, kind, columns, num = [], items, first, children }: RowsProps<T>) {
  const [drawn, draw] = useState(first);
  return (
    <div class="rows">
      <div class={`row ${kind} columns`} aria-hidden="true">
        {columns.map((c) => (
          <span key={c} class={num.includes(c) ? 'num' : ''}>
            {c}
          </span>
        ))}
      </div>
      <ol aria-label={label}>{items.slice(0, drawn).map(children)}</ol>
      {items.length > drawn && (
        <button class="older" onClick={() => draw(drawn + first)}>
          Show more of {items.length.toLocaleString('en')}
        </button>
      )}
    </div>
  );
}
