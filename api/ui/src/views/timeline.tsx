import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Filter, isNarrow, matches } from '../lib/filter';
import { count } from '../lib/format';
import { FilterBar } from '../parts/filterbar';
import { Overview } from '../parts/overview';
import { Blank, Bones, Empty, FaultBlank, Warnings, oldText } from '../parts/states';
import { Virtual } from '../parts/virtual';
import { useRowHeight } from '../parts/measure';
import { store, complete, edition, fault, fresh, readMore, reading, warnings } from '../state/timeline';
import { amend, route } from '../state/router';
import { Icon } from '../parts/glyph';
import { ChangePanel } from './change';
import { TimelineRowView } from './row';

// Timeline is the view of who changed what, which workloads it reached, and what became of it; newest first, live.
export function Timeline() {
  const q = route.value.query;
  const filter: Filter = { text: get('q'), cluster: get('cluster'), namespace: get('namespace'), kind: get('kind'), tone: get('tone') };
  const version = edition.value;
  const rows = useMemo(() => (isNarrow(filter) ? store.rows.filter((r) => matches(r, filter)) : store.rows), [version, q.toString()]);
  const open = q.get('open') ?? '';
  return (
    <div class={open ? 'split open' : 'split'}>
      <section class="list" aria-labelledby="title">
        <header class="head">
          <h1 id="title">Timeline</h1>
          <p class="sum">{summary(rows.length, isNarrow(filter))}</p>
        </header>
        <Overview />
        <FilterBar filter={filter} rows={store.rows} change={(f) => amend({ q: f.text, cluster: f.cluster, namespace: f.namespace, kind: f.kind, tone: f.tone })} />
        <Warnings list={[...oldText(rows.length > 0 ? fault.value : undefined), ...warnings.value]} />
        <Body rows={rows} filter={filter} open={open} />
      </section>
      {open && <ChangePanel id={open} close={() => amend({ open: '' })} />}
    </div>
  );

  function get(name: string): string {
    return q.get(name) ?? '';
  }
}

function summary(shown: number, narrow: boolean): string {
  if (store.size === 0) return '';
  const all = `${count(store.size, 'change')}${complete.value ? '' : ' so far'}`;
  return narrow ? `${shown.toLocaleString('en')} of ${all}` : all;
}

function Body({ rows, filter, open }: { rows: typeof store.rows; filter: Filter; open: string }) {
  const height = useRowHeight();
  const [away, setAway] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const narrow = isNarrow(filter);
  // A filter that leaves little looks further back by itself.
  useEffect(() => {
    if (narrow && rows.length < 30 && !complete.value && !reading.value && !fault.value) void readMore();
  }, [narrow, rows.length, edition.value, reading.value]);
  useEffect(() => {
    if (!away) fresh.value = 0;
  }, [away, edition.value]);

  if (rows.length === 0) return <Nothing narrow={narrow} />;
  return (
    <div class="rows" ref={list}>
      {away && fresh.value > 0 && (
        <button class="news" onClick={() => list.current?.querySelector('[data-virtual]')?.scrollTo({ top: 0 })}>
          <Icon name="up" /> {count(fresh.value, 'new change')}
        </button>
      )}
      <Virtual
        label="Changes, newest first"
        items={rows}
        keyOf={(r) => r.change.id}
        height={height}
        complete={complete.value}
        head={columns}
        near={() => void readMore()}
        away={setAway}
        render={(r) => <TimelineRowView row={r} open={r.change.id === open} />}
      />
    </div>
  );
}

const columns = (
  <div class="row columns" aria-hidden="true">
    <span>When</span>
    <span>Who</span>
    <span>Changed what</span>
    <span>Which workloads</span>
    <span>What became of it</span>
  </div>
);

function Nothing({ narrow }: { narrow: boolean }) {
  if (fault.value) return <FaultBlank scoped fault={fault.value} what="what has changed" />;
  if (reading.value || (narrow && !complete.value && !store.isFull)) return <Bones rows={12} />;
  if (!narrow) return <Empty title="Nothing has changed yet">Edit a ConfigMap or Secret that an opted-in workload uses, and it appears here within a second or two.</Empty>;
  return (
    <Blank title={complete.value ? 'No change is like that' : `None of the newest ${count(store.size, 'change')} is like that`}>
      <button onClick={() => amend({ q: '', cluster: '', namespace: '', kind: '', tone: '' })}>Show all changes</button>
    </Blank>
  );
}
