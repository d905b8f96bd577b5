import { useMemo, useState } from 'preact/hooks';
import { matches } from '../lib/filter';
import { count, verbOf } from '../lib/format';
import { partsOf, shownOf, supersededIn } from '../lib/outcome';
import type { ChangeRow } from '../lib/types';
import { Choice, Filters, PlaceChoice } from '../parts/filters';
import { Answer, Blank, Empty, Warnings } from '../parts/states';
import { Badge, KeyList, Kind, Name, RowTime, Who } from '../parts/words';
import { askAll, type Listing } from '../state/api';
import { showsCluster } from '../state/fleet';
import { useResource } from '../state/resource';
import { amend, href, route, scope } from '../state/router';
import { ChangePanel } from './change';
import { Strip } from './app';

const tones = [
  ['bad', 'Failed'],
  ['wait', 'Waiting'],
  ['busy', 'Rolling out'],
  ['good', 'Rolled'],
  ['calm', 'Nothing to roll'],
  ['none', 'No workload'],
] as const;

const pageSize = 200;
declare const configKinds: string[]; // those of the API: the build fills them in

// places are the clusters and namespaces that were ever listed: a filter leaves the others to choose from.
const places = new Map<string, { cluster: string; namespace: string }>();

// Timeline is the view of who changed what, which workloads it reached, and what became of it; newest first.
export function Timeline() {
  const q = route.value.query;
  const get = (name: string) => q.get(name) ?? '';
  const narrowed = { cluster: get('cluster'), namespace: scope.value || get('namespace'), configKind: get('kind'), name: get('name') };
  const text = get('q');
  const tone = get('tone');
  const key = JSON.stringify(narrowed);
  // What is filtered here looks further back by itself; more is asked for with a button.
  const [more, setMore] = useState({ key: '', pages: 1 });
  const pages = Math.max(more.key === key ? more.pages : 1, text || tone ? 5 : 1);
  const found = useResource(
    `changes ${key}`,
    ['changes', 'reloads', 'workloads'],
    async (abort) => {
      const list = await askAll<ChangeRow>('changes', narrowed, pages * pageSize, abort);
      for (const { cluster, config } of list.items) places.set(`${cluster}/${config.namespace}`, { cluster, namespace: config.namespace });
      return list;
    },
    1_000,
    pages,
  );
  const rows = useMemo(() => (found.data?.items ?? []).filter((r) => matches(r, text, tone)), [found.data, text, tone]);
  const open = get('open');
  return (
    <div class={open ? 'split open' : 'split'}>
      <section class="list" aria-labelledby="title">
        <header class="head">
          <h1 id="title">Timeline</h1>
          {found.data && <p class="sum">{summary(rows.length, found.data, text !== '' || tone !== '')}</p>}
        </header>
        <Strip />
        <Filters what="changes">
          <PlaceChoice of={[...places.values()]} />
          <Choice name="Kind" at="kind" options={configKinds} />
          <Choice name="Outcome" at="tone" options={tones} />
          {[text, tone, narrowed.cluster, narrowed.configKind, narrowed.name, get('namespace')].some(Boolean) && (
            <button type="button" class="plain" onClick={() => amend({ q: '', cluster: '', namespace: '', kind: '', name: '', tone: '' })}>
              Show all
            </button>
          )}
        </Filters>
        <Answer scoped of={found} what="what has changed">
          {(list) => (
            <>
              <Warnings list={list.warnings} />
              <Rows rows={rows} list={list} open={open} older={() => setMore({ key, pages: pages + 1 })} />
            </>
          )}
        </Answer>
      </section>
      {open && <ChangePanel id={open} cluster={get('of')} close={() => amend({ open: '', of: '' })} />}
    </div>
  );
}

function summary(shown: number, { items, complete }: Listing<ChangeRow>, narrow: boolean): string {
  const all = `${complete ? '' : 'the newest '}${count(items.length, 'change')}`;
  return narrow ? `${shown.toLocaleString('en')} of ${all}` : all;
}

function Rows({ rows, list, open, older }: { rows: ChangeRow[]; list: Listing<ChangeRow>; open: string; older: () => void }) {
  const superseded = useMemo(() => supersededIn(list.items), [list]);
  if (list.items.length === 0 && !isNarrow()) {
    return <Empty title="Nothing has changed yet">Edit a ConfigMap or Secret that an opted-in workload uses, and it appears here within a second or two.</Empty>;
  }
  const button = !list.complete && (
    <button class="older" onClick={older}>
      Look at older changes
    </button>
  );
  if (rows.length === 0) return <Blank title={list.complete ? 'No change is like that' : 'None of the newest changes is like that'} below={button} />;
  return (
    <div class="rows">
      <div class="row columns" aria-hidden="true">
        <span>When</span>
        <span>Who</span>
        <span>Changed what</span>
        <span>Which workloads</span>
        <span>What became of it</span>
      </div>
      <ol aria-label="Changes, newest first">
        {rows.map((r) => (
          <li key={r.cluster + r.id}>
            <Row row={r} open={r.id === open} superseded={superseded.has(r.cluster + r.id)} />
          </li>
        ))}
      </ol>
      {button}
    </div>
  );
}

const isNarrow = (): boolean => ['q', 'cluster', 'namespace', 'kind', 'name', 'tone'].some((name) => route.value.query.get(name));

const named = 2;

// Row is one change as one line: when, who, what, which workloads, and what became of it.
function Row({ row, open, superseded }: { row: ChangeRow; open: boolean; superseded: boolean }) {
  const { config } = row;
  const parts = partsOf(row);
  const shown = shownOf(parts);
  const reached = [...row.pending, ...row.reloads].map((r) => r.workload);
  const names = [...new Set(reached.map((w) => w.name))];
  const target = href([], { ...Object.fromEntries(route.value.query), open: open ? '' : row.id, of: open ? '' : row.cluster });
  return (
    <a class={open ? 'row open' : 'row'} href={target} aria-current={open ? 'true' : undefined} data-row>
      <RowTime at={row.requestedAt ?? row.verifiedAt} />
      <span class="cell who">
        <Who change={row} />
      </span>
      <span class="cell what">
        <b>
          <Kind kind={config.kind} />
          <Name namespace={config.namespace} name={config.name} />
        </b>
        <small>{row.type === 'Updated' ? <KeyList keys={row.keys} /> : verbOf(row)}</small>
      </span>
      <span class="cell which">
        <b>
          {names.slice(0, named).join(', ') || '–'}
          {names.length > named && <span class="more"> and {names.length - named} more</span>}
        </b>
        <small>
          {[...new Set(reached.map((w) => w.kind))].join(', ')}
          {showsCluster(row.cluster) && <span class="cluster">{row.cluster}</span>}
        </small>
      </span>
      <span class="cell outcome">
        {shown.map((p) => (
          <Badge key={p.state} reason={p.state} count={p.count} />
        ))}
        {parts.length > 1 && <small class="rest">+{parts.length - 1}</small>}
        {parts.length > shown.length && <small class="third">+{parts.length - shown.length}</small>}
        {parts.length === 0 && <span class="faint">{superseded ? 'superseded by a newer change' : 'no workload asked for it'}</span>}
      </span>
    </a>
  );
}
