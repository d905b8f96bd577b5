import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { amend, route, scope } from '../state/router';
import { Icon } from './glyph';

// Filters narrow a view; they are in its address. The field has the key /.
export function Filters({ what, children }: { what?: string; children?: ComponentChildren }) {
  const q = route.value.query.get('q') ?? '';
  return (
    <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
      {what && (
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Search {what}</span>
          <input id="search" type="search" placeholder={`Search ${what}…`} value={q} autocomplete="off" spellcheck={false} onInput={(e) => amend({ q: e.currentTarget.value })} />
          <kbd aria-hidden="true">/</kbd>
        </label>
      )}
      {children}
    </form>
  );
}

interface ChoiceProps {
  // name is what is chosen, and at is the parameter of the address.
  name: string;
  at: string;
  options: readonly (string | readonly [string, string])[];
  // standard holds if none is chosen; without it there is "all".
  standard?: string;
}

// Choice narrows a view to one of several.
export function Choice({ name, at, options, standard }: ChoiceProps) {
  const value = route.value.query.get(at) ?? standard ?? '';
  const pairs = options.map((o) => (typeof o === 'string' ? ([o, o] as const) : o));
  const known = value === '' || pairs.some(([v]) => v === value);
  return (
    <select aria-label={name} class={value !== (standard ?? '') ? 'chosen' : ''} value={value} onChange={(e) => amend({ [at]: e.currentTarget.value })}>
      {standard === undefined && <option value="">{name}: all</option>}
      {!known && <option value={value}>{value}</option>}
      {pairs.map(([v, text]) => (
        <option key={v} value={v}>
          {text}
        </option>
      ))}
    </select>
  );
}

// PlaceChoice narrows a view to a cluster, where it shows several, and to a namespace, where it does not show one alone.
export function PlaceChoice({ of, namespaces = true }: { of: readonly { cluster: string; namespace?: string }[]; namespaces?: boolean }) {
  const names = (part: (one: (typeof of)[number]) => string | undefined) => [...new Set(of.map(part))].filter((n) => n !== undefined).sort();
  const clusters = names((one) => one.cluster);
  return (
    <>
      {(clusters.length > 1 || route.value.query.get('cluster')) && <Choice name="Cluster" at="cluster" options={clusters} />}
      {namespaces && !scope.value && <Choice name="Namespace" at="namespace" options={names((one) => one.namespace)} />}
    </>
  );
}

// inPlace tells whether one is in the cluster and the namespace that are chosen.
export function inPlace(one: { cluster: string; namespace?: string }): boolean {
  const { query } = route.value;
  const [cluster, namespace] = [query.get('cluster'), query.get('namespace')];
  return (!cluster || one.cluster === cluster) && (!namespace || one.namespace === namespace);
}

// show has the page show one namespace alone, or all. What was pressed for that goes away, so the focus goes to what comes instead.
function show(namespace: string): void {
  amend({ in: namespace, namespace: '' });
  document.getElementById('main')?.focus();
}

// ScopeForm lets those who may not look into every namespace name one that they may look into.
export function ScopeForm() {
  const [text, setText] = useState(scope.value);
  const submit = (event: Event) => {
    event.preventDefault();
    show(text.trim());
  };
  return (
    <form class="line scope" onSubmit={submit}>
      <label for="scope">A namespace that you may look into</label>
      <input
        id="scope"
        value={text}
        maxLength={63}
        required
        pattern="\s*\S+\s*"
        title="The name of a namespace"
        autocomplete="off"
        spellcheck={false}
        onInput={(e) => setText(e.currentTarget.value)}
      />
      <button class="main">Show it</button>
    </form>
  );
}

// ScopeNote says that a view shows one namespace alone. The page of one thing does not, and clusters are in none.
export function ScopeNote() {
  const { path } = route.value;
  if (!scope.value || path.length > 1 || path[0] === 'clusters') return null;
  return (
    <p class="scoped">
      <span>
        Only namespace <b>{scope.value}</b>
      </span>
      <button class="plain" onClick={() => show('')}>
        Show all
      </button>
    </p>
  );
}
