import { useMemo } from 'preact/hooks';
import type { Filter } from '../lib/filter';
import { isNarrow, noFilter } from '../lib/filter';
import { link, setPaused } from '../state/eventstream';
import { amend, scope } from '../state/router';
import { edition } from '../state/timeline';
import { Icon } from './glyph';
import type { TimelineRow } from '../lib/timelinestore';

const tones = [
  ['bad', 'Failed'],
  ['wait', 'Waiting'],
  ['busy', 'Rolling out'],
  ['good', 'Rolled'],
  ['calm', 'Nothing to roll'],
  ['none', 'No workload'],
] as const;

// FilterBar narrows the timeline, and stops it for those who want to read.
export function FilterBar({ filter, rows, change }: { filter: Filter; rows: readonly TimelineRow[]; change: (f: Filter) => void }) {
  const version = edition.value;
  const choices = useMemo(() => choicesOf(rows), [version]);
  const set = (part: Partial<Filter>) => change({ ...filter, ...part });
  return (
    <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      <label class="search">
        <Icon name="search" />
        <span class="hidden">Search changes</span>
        <input id="search" type="search" placeholder="Search who, what, which, key…" value={filter.text} autocomplete="off" spellcheck={false} onInput={(e) => set({ text: e.currentTarget.value })} />
        <kbd aria-hidden="true">/</kbd>
      </label>
      {choices.clusters.length > 1 && <Choice name="Cluster" value={filter.cluster} options={choices.clusters} set={(cluster) => set({ cluster })} />}
      {!scope.value && <Choice name="Namespace" value={filter.namespace} options={choices.namespaces} set={(namespace) => set({ namespace })} />}
      <Choice name="Kind" value={filter.kind} options={choices.kinds} set={(kind) => set({ kind })} />
      <Choice name="Outcome" value={filter.tone} options={tones} set={(tone) => set({ tone })} />
      {isNarrow(filter) && (
        <button type="button" class="plain" onClick={() => change(noFilter)}>
          Clear
        </button>
      )}
      <Pause />
    </form>
  );
}

type Option = string | readonly [string, string];

interface ChoiceProps {
  name: string;
  value: string;
  options: readonly Option[];
  set: (value: string) => void;
  // always says that one of the options holds: there is no "all".
  always?: boolean;
}

// Choice narrows a view to one of several.
export function Choice({ name, value, options, set, always }: ChoiceProps) {
  const pairs = options.map((o) => (typeof o === 'string' ? ([o, o] as const) : o));
  const known = value === '' || pairs.some(([v]) => v === value);
  return (
    <select aria-label={name} class={value && !always ? 'chosen' : ''} value={value} onChange={(e) => set(e.currentTarget.value)}>
      {!always && <option value="">{name}: all</option>}
      {!known && <option value={value}>{value}</option>}
      {pairs.map(([v, text]) => (
        <option key={v} value={v}>
          {text}
        </option>
      ))}
    </select>
  );
}

// ClusterChoice narrows a view to one cluster, where it shows several.
export function ClusterChoice({ value, of }: { value: string; of: readonly { cluster: string }[] }) {
  const names = [...new Set(of.map((one) => one.cluster))].sort();
  return names.length > 1 || value ? <Choice name="Cluster" value={value} options={names} set={(cluster) => amend({ cluster })} /> : null;
}

function Pause() {
  const paused = link.value === 'paused';
  return (
    <button type="button" class="plain pause" aria-pressed={paused} onClick={() => setPaused(!paused)}>
      <Icon name={paused ? 'play' : 'pause'} />
      {paused ? 'Go on' : 'Pause'}
    </button>
  );
}

function choicesOf(rows: readonly TimelineRow[]) {
  const sorted = (of: (r: TimelineRow) => string) => [...new Set(rows.map(of))].sort();
  return { clusters: sorted((r) => r.change.cluster), namespaces: sorted((r) => r.change.config.namespace), kinds: sorted((r) => r.change.config.kind) };
}
