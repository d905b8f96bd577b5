import { count } from '../lib/format';
import { isUnsettled, keyOf, mergeWorkload } from '../lib/listing';
import { conditionOf, lastRolled } from '../lib/outcome';
import type { Workload } from '../lib/types';
import { Badge } from '../parts/badge';
import { RowTime } from '../parts/rowtime';
import { Choice, ClusterChoice } from '../parts/filterbar';
import { Icon } from '../parts/glyph';
import { Answer, Blank, Empty, Warnings } from '../parts/states';
import { Virtual } from '../parts/virtual';
import { useNarrow } from '../parts/measure';
import { askAll } from '../state/client';
import { showsCluster } from '../state/fleet';
import { useResource } from '../state/resource';
import { amend, route, scope, workloadHref } from '../state/router';

const most = 10_000;

// Workloads lists all that are opted in: how each is, and what it depends on.
export function Workloads() {
  const namespace = scope.value;
  const found = useResource(`workloads ${namespace}`, (abort) => askAll<Workload>('workloads', { namespace }, most, abort), {
    events: ['workload', 'workloadGone'],
    merge: mergeWorkload,
    every: 120_000,
  });
  return (
    <section class="list" aria-labelledby="title">
      <header class="head">
        <h1 id="title">Workloads</h1>
        {found.data && <p class="sum">{count(found.data.items.length, 'opted-in workload')}</p>}
      </header>
      <Answer scoped of={found} what="workloads">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            <Listing all={items} />
          </>
        )}
      </Answer>
    </section>
  );
}

const conditions = [
  ['attention', 'Needs attention'],
  ['waiting', 'Waiting'],
  ['settled', 'Settled'],
] as const;

function Listing({ all }: { all: Workload[] }) {
  const q = route.value.query;
  const text = q.get('q') ?? '';
  const namespace = q.get('namespace') ?? '';
  const cluster = q.get('cluster') ?? '';
  const condition = q.get('condition') ?? '';
  const narrow = useNarrow();
  if (all.length === 0) {
    return <Empty title="No workload is opted in">Annotate a Deployment with reroll.dev/auto: "true" and it appears here.</Empty>;
  }
  const shown = all.filter((w) => (!cluster || w.cluster === cluster) && (!namespace || w.workload.namespace === namespace) && (!condition || fits(w, condition)) && hasWords(w, text));
  return (
    <>
      <form class="filters" role="search" onSubmit={(e) => e.preventDefault()}>
        <label class="search">
          <Icon name="search" />
          <span class="hidden">Search workloads</span>
          <input id="search" type="search" placeholder="Search workloads and their configs…" value={text} autocomplete="off" spellcheck={false} onInput={(e) => amend({ q: e.currentTarget.value })} />
          <kbd aria-hidden="true">/</kbd>
        </label>
        <ClusterChoice value={cluster} of={all} />
        {!scope.value && <Choice name="Namespace" value={namespace} options={[...new Set(all.map((w) => w.workload.namespace))].sort()} set={(v) => amend({ namespace: v })} />}
        <Choice name="Condition" value={condition} options={conditions} set={(v) => amend({ condition: v })} />
      </form>
      {shown.length === 0 ? (
        <Blank title="No workload is like that" />
      ) : (
        <div class="rows">
          <Virtual label="Workloads" items={shown} keyOf={keyOf} height={narrow ? 78 : 54} complete head={columns} near={() => undefined} render={(w) => <Row w={w} />} />
        </div>
      )}
    </>
  );
}

const columns = (
  <div class="row columns four" aria-hidden="true">
    <span>Workload</span>
    <span>Depends on</span>
    <span>Condition</span>
    <span>Last rolled</span>
  </div>
);

function fits(w: Workload, condition: string): boolean {
  switch (condition) {
    case 'attention':
      return w.verdict.needsAttention === true;
    case 'waiting':
      return w.verdict.waits === true;
  }
  return !isUnsettled(w);
}

function hasWords(w: Workload, text: string): boolean {
  if (!text) return true;
  const hay = [
    [w.cluster, w.workload.namespace, w.workload.kind, w.workload.name].join('/'),
    w.dialect,
    w.strategy,
    conditionOf(w),
    ...(w.dependencies ?? []).map((d) => `${d.config.kind} ${d.config.name}`),
  ]
    .join('\n')
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => hay.includes(word));
}

function Row({ w }: { w: Workload }) {
  return (
    <a class="row four" href={workloadHref(w.cluster, w.workload)} data-row>
      <span class="cell">
        <b>
          <span class="ns">{w.workload.namespace}/</span>
          {w.workload.name}
        </b>
        <small>
          {w.workload.kind}
          {showsCluster(w.cluster) && <span class="cluster">{w.cluster}</span>}
        </small>
      </span>
      <span class="cell">
        <b class="plain">{count(w.dependencies?.length ?? 0, 'config')}</b>
        <small>{(w.dependencies ?? []).map((d) => d.config.name).join(', ')}</small>
      </span>
      <span class="cell outcome">
        <Badge reason={conditionOf(w)} />
      </span>
      <span class="cell told">
        <RowTime at={lastRolled(w)} />
      </span>
    </a>
  );
}
