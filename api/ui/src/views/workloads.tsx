import { hasWords } from '../lib/filter';
import { count } from '../lib/format';
import { conditionOf, lastRolled } from '../lib/outcome';
import type { Workload } from '../lib/types';
import { Choice, Filters, inPlace, PlaceChoice } from '../parts/filters';
import { Answer, Blank, Empty, Warnings } from '../parts/states';
import { Badge, Command, Name, Rows, RowTime } from '../parts/words';
import { askAll } from '../state/api';
import { showsCluster } from '../state/fleet';
import { useResource } from '../state/resource';
import { route, scope, workloadHref } from '../state/router';

const most = 10_000;

// Workloads lists all that are opted in: how each is, and what it depends on.
export function Workloads() {
  const namespace = scope.value;
  const found = useResource(`workloads ${namespace}`, ['workloads', 'clusters'], (abort) => askAll<Workload>('workloads', { namespace }, most, abort), 2_000);
  return (
    <section class="list" aria-labelledby="title">
      <header class="head">
        <h1 id="title">Workloads</h1>
        {found.data && <p class="sum">{count(found.data.items.length, 'opted-in workload')}</p>}
      </header>
      <Answer scoped of={found} what="workloads">
        {({ items, warnings, complete }) => (
          <>
            <Warnings list={complete ? warnings : [`There are more than these ${items.length.toLocaleString('en')}; the API has them all.`, ...warnings]} />
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

const conditionIn = ({ verdict }: Workload): string => (verdict.needsAttention ? 'attention' : verdict.waits ? 'waiting' : 'settled');

function Listing({ all }: { all: Workload[] }) {
  const text = route.value.query.get('q') ?? '';
  const condition = route.value.query.get('condition') ?? '';
  if (all.length === 0) {
    return (
      <Empty title="No workload is opted in">
        Annotate one, and it appears here: <Command text="kubectl annotate deployment/web reroll.dev/auto=true" />
      </Empty>
    );
  }
  const shown = all.filter((w) => inPlace({ cluster: w.cluster, namespace: w.workload.namespace }) && (!condition || conditionIn(w) === condition) && (!text || hasWords(said(w), text)));
  return (
    <>
      <Filters what="workloads and configs">
        <PlaceChoice of={all.map((w) => ({ cluster: w.cluster, namespace: w.workload.namespace }))} />
        <Choice name="Condition" at="condition" options={conditions} />
      </Filters>
      {shown.length === 0 ? (
        <Blank title="No opted-in workload is like that">Workloads that ask for nothing are not listed.</Blank>
      ) : (
        <Rows label="Workloads" kind="four" columns={['Workload', 'Depends on', 'Condition', 'Last rolled']} items={shown} first={300}>
          {(w) => (
            <li key={workloadHref(w.cluster, w.workload)}>
              <Row w={w} />
            </li>
          )}
        </Rows>
      )}
    </>
  );
}

const said = (w: Workload): string[] => [
  [w.cluster, w.workload.namespace, w.workload.kind, w.workload.name].join('/'),
  w.dialect,
  w.strategy,
  conditionOf(w.verdict),
  ...(w.dependencies ?? []).map((d) => `${d.config.kind} ${d.config.namespace}/${d.config.name}`),
];

function Row({ w }: { w: Workload }) {
  return (
    <a class="row four" href={workloadHref(w.cluster, w.workload)} data-row>
      <span class="cell">
        <b>
          <Name {...w.workload} />
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
        <Badge reason={conditionOf(w.verdict)} />
      </span>
      <span class="cell told">
        <RowTime at={lastRolled(w)} />
      </span>
    </a>
  );
}
