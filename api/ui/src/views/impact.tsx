import { useMemo } from 'preact/hooks';
import { count, refText } from '../lib/format';
import { type Graph, graphOf, narrowGraph } from '../lib/graph';
import type { Impact, ImpactedWorkload, List, Workload } from '../lib/types';
import { Diagram } from '../parts/diagram';
import { Filters, PlaceChoice } from '../parts/filters';
import { Answer, Blank, Empty, Warnings } from '../parts/states';
import { Badge, Fact, Facts, Table, WorkloadLink } from '../parts/words';
import { ask, askAll } from '../state/api';
import type { Topic } from '../state/live';
import { useResource } from '../state/resource';
import { href, type Place, route, scope } from '../state/router';

const most = 2_000;
const topics: readonly Topic[] = ['workloads', 'clusters'];
// seldom is how many milliseconds lie at least between two questions about many workloads.
const seldom = 5_000;

// ImpactPage draws which configs reach which workloads: of all, or of one config with what would roll if it changed.
export function ImpactPage({ place }: { place: Place | undefined }) {
  return place ? <One place={place} /> : <All />;
}

function All() {
  const found = useResource(`graph ${scope.value}`, topics, allOf, seldom);
  return (
    <article class="page wide" aria-labelledby="title">
      <h1 id="title">Impact</h1>
      <p class="lead">Which workloads roll when a config changes. Choose a config to see what would become of each.</p>
      <Answer scoped of={found} what="which workload depends on which config">
        {(graph) => (
          <>
            <Warnings list={graph.warnings} />
            <Filters what="configs and workloads">
              <PlaceChoice of={graph.nodes} />
            </Filters>
            <Picture graph={graph} />
          </>
        )}
      </Answer>
    </article>
  );
}

function Picture({ graph }: { graph: Graph }) {
  const [cluster, namespace, text] = ['cluster', 'namespace', 'q'].map((name) => route.value.query.get(name) ?? '') as [string, string, string];
  const shown = useMemo(() => narrowGraph(graph, cluster, namespace, text), [graph, cluster, namespace, text]);
  if (graph.edges.length === 0) return <Empty title="No workload depends on a config">Opt one in, and its configs appear here.</Empty>;
  if (shown.edges.length === 0) return <Blank title="Nothing is like that" />;
  return (
    <>
      <p class="sum">
        {count(shown.edges.length, 'dependency', 'dependencies')} between {count(shown.nodes.filter((n) => n.type === 'config').length, 'config')} and{' '}
        {count(shown.nodes.filter((n) => n.type === 'workload').length, 'workload')}
      </p>
      <Diagram graph={shown} />
    </>
  );
}

function One({ place }: { place: Place }) {
  const { namespace, kind, name } = place;
  const path = Object.values(place).join('/');
  const found = useResource(`impact ${path}`, topics, (abort) => impactOf(place, abort), seldom);
  return (
    <article class="page wide" aria-labelledby="title">
      <nav class="crumbs" aria-label="Path">
        <a href={href(['impact'])}>Impact</a> <span aria-hidden="true">/</span> <a href={href(['impact'], { namespace })}>{namespace}</a>
      </nav>
      <h1 id="title">
        {name} <small>{kind}</small>
      </h1>
      <Answer of={found} what="what would roll">
        {(impact) => <Consequences impact={impact} />}
      </Answer>
    </article>
  );
}

async function allOf(abort: AbortSignal): Promise<Graph> {
  const { items, warnings, complete } = await askAll<Workload>('workloads', { namespace: scope.value }, most, abort);
  return graphOf(items, complete ? warnings : [`These are the first ${items.length.toLocaleString('en')} workloads; the API has all.`, ...warnings]);
}

async function impactOf({ cluster, namespace, kind, name }: Place, abort: AbortSignal): Promise<Impact> {
  const { items } = await ask<List<Impact>>('impact', abort, { configs: [{ cluster, namespace, kind, name }] });
  return items[0]!;
}

function Consequences({ impact }: { impact: Impact }) {
  const { cluster, config } = impact;
  const waiting = impact.workloads.filter((w) => !rolls(w));
  const graph = useMemo(() => drawn(impact), [impact]);
  return (
    <>
      <Warnings list={impact.warnings} />
      <Facts>
        <Fact name="If it changed now">
          <b>{count(impact.rollsNow, 'workload')} would roll</b>
          {impact.rollsLater > 0 && `, ${impact.rollsLater} would wait`}
          {impact.reloadCount > 0 && `, ${impact.reloadCount} would reload without a restart`}
          {impact.notifiedCount > 0 && `, for ${impact.notifiedCount} a webhook would be called`}
          {impact.neverCount > 0 && `, ${impact.neverCount} would not roll at all`}
        </Fact>
        {waiting.length > 0 && (
          <Fact name="Why not all would roll">
            <Reasons list={waiting} />
          </Fact>
        )}
        <Fact name="Cluster">{cluster}</Fact>
        <Fact name="History">
          <a href={href([], { cluster, namespace: config.namespace, kind: config.kind, name: config.name })}>what it has caused</a>
        </Fact>
      </Facts>
      {graph.edges.length > 0 && <Diagram graph={graph} focus={config} />}
      {impact.workloads.length === 0 ? <Nothing complete={impact.complete} /> : <Reached cluster={cluster} list={[...impact.workloads.filter(rolls), ...waiting]} />}
      {impact.workloads.length > 0 && <p class="faint">Brakes that count rolls, such as rates, are not foretold.</p>}
    </>
  );
}

function Nothing({ complete }: { complete: boolean }) {
  if (complete) return <Blank title="Nothing would roll">No opted-in workload asks for this config.</Blank>;
  return <Blank title="Nothing is known that would roll">No opted-in workload on record asks for this config, and not all may be on record.</Blank>;
}

// drawn has the config and all that it reaches.
const drawn = ({ workloads }: Impact): Graph =>
  graphOf(
    workloads.map((w) => ({ ...w, dependencies: [w.dependency], verdict: rolls(w) ? { state: 'Rolling', message: '' } : w.verdict })),
    [],
  );

const rolls = (w: ImpactedWorkload): boolean => w.fate === 'Now';

// Reasons counts why workloads would not roll at once, the most frequent reason first.
function Reasons({ list }: { list: ImpactedWorkload[] }) {
  const counts = new Map<string, number>();
  for (const { verdict } of list) {
    const reason = verdict.reason ?? verdict.state;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return (
    <span class="line">
      {[...counts]
        .sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))
        .map(([reason, n]) => (
          <Badge key={reason} reason={reason} count={n} />
        ))}
    </span>
  );
}

// Reached lists the workloads that a change would reach, with what would become of each.
function Reached({ cluster, list }: { cluster: string; list: ImpactedWorkload[] }) {
  return (
    <Table label="Workloads that a change would reach" columns={['Workload', 'What would become of it', 'Why', 'Keys', 'Marked by']}>
      {list.map((w) => (
        <tr key={`${w.cluster}/${refText(w.workload)}`}>
          <th scope="row">
            <WorkloadLink cluster={w.cluster} workload={w.workload} beside={cluster} />
          </th>
          <td class="fate">{rolls(w) ? <Badge reason="Rolling" label="Would roll" /> : <Wait w={w} />}</td>
          <td>
            {w.dependency.why} {w.dependency.clause && <small class="mono">{w.dependency.clause}</small>}
          </td>
          <td class="mono">{[...new Set((w.dependency.uses ?? []).flatMap((u) => (u.keys?.length ? u.keys : ['all'])))].join(', ') || '–'}</td>
          <td>{w.strategy}</td>
        </tr>
      ))}
    </Table>
  );
}

// Wait says why a workload would not roll at once.
function Wait({ w: { fate, verdict } }: { w: ImpactedWorkload }) {
  return (
    <>
      <div class="line">{fate === 'Reloads' ? <Badge reason={fate} label="Would reload" /> : <Badge reason={verdict.reason ?? verdict.state} />}</div>
      <p class="faint">{verdict.message}</p>
    </>
  );
}
