import { count, duration } from '../lib/format';
import type { Listing } from '../lib/listing';
import { type Tone, wordsOf } from '../lib/outcome';
import type { Cluster } from '../lib/types';
import { Badge } from '../parts/badge';
import { Fact, Facts } from '../parts/facts';
import { Time } from '../parts/time';
import { Glyph } from '../parts/glyph';
import { Command } from '../parts/command';
import { Answer, Blank, Warnings } from '../parts/states';
import { askClusters, clusters, clusterTiming } from '../state/fleet';
import { type Resource, useResource } from '../state/resource';
import { href, scope } from '../state/router';

// Clusters shows for each cluster where its news come from, how far it is, and whether all is well.
export function Clusters() {
  return scope.value ? <Asked /> : <Page found={clusters.value} />;
}

// Asked asks for clusters where the page shows one namespace alone and nothing else does.
function Asked() {
  return <Page found={useResource('clusters', askClusters, clusterTiming)} />;
}

function Page({ found }: { found: Resource<Listing<Cluster>> }) {
  return (
    <article class="page" aria-labelledby="title">
      <h1 id="title">Clusters</h1>
      <Answer of={found} what="clusters">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            {items.length === 0 ? <Blank title="No cluster has told of itself yet">Its dispatcher does so within half a minute of its start.</Blank> : null}
            <ul class="clusters">
              {items.map((c) => (
                <ClusterCard key={c.name} c={c} />
              ))}
            </ul>
          </>
        )}
      </Answer>
    </article>
  );
}

const tones: Record<string, Tone> = { Healthy: 'good', Degraded: 'bad', Away: 'bad' };

function Health({ c }: { c: Cluster }) {
  const tone = tones[c.health] ?? 'calm';
  return (
    <span class={`badge ${tone}`}>
      <Glyph tone={tone} />
      {c.health}
    </span>
  );
}

function ClusterCard({ c }: { c: Cluster }) {
  return (
    <li class="card">
      <h2>
        {c.name} <Health c={c} />
        {c.dryRun && <Badge reason="DryRun" />}
        {c.freeze?.frozen && <Badge reason="Frozen" />}
        {c.pauses && c.pauses.length > 0 && (
          <a href={href(['held'], { cluster: c.name })}>
            <Badge reason="PausedByOperator" label={count(c.pauses.length, 'pause')} />
          </a>
        )}
      </h2>
      {c.problems && c.problems.length > 0 && (
        <ul class="problems">
          {c.problems.map((p) => (
            <li key={p.message}>
              {p.message} {p.next && <Command text={p.next} />}
            </li>
          ))}
        </ul>
      )}
      <Numbers c={c} />
      <Sources c={c} />
      <Facts>
        <Fact name="Last change">
          <Time at={c.lastChangeAt} />
        </Fact>
        <Fact name="Last reload">
          <Time at={c.lastReloadAt} />
        </Fact>
        <Fact name="Last sweep">
          <Time at={c.sweptAt} />
        </Fact>
        <Fact name="Dispatcher">
          {c.version ?? '–'} {c.instance && <span class="faint">{c.instance}</span>}
        </Fact>
        <Fact name="Reported">
          <Time at={c.updatedAt} />
        </Fact>
        <Fact name={c.freeze?.frozen ? 'To thaw it' : 'To freeze it'}>
          <Command text={c.freeze?.frozen ? 'reroll thaw' : 'reroll freeze'} />
        </Fact>
        {c.forward && (
          <Fact name="On its way here">
            {count(behindOf(c), 'record')}, told <Time at={toldAt(c.forward)} />
          </Fact>
        )}
      </Facts>
      {c.storage && <p class="faint">{c.storage}</p>}
      {c.windows && c.windows.length > 0 && (
        <p class="faint">
          Windows:{' '}
          {c.windows.map((w) => (
            <span key={w.schedule}>
              <span class="mono">{w.schedule}</span> ({w.open ? 'open' : 'shut'}
              {w.next && (
                <>
                  , next <Time at={w.next} />
                </>
              )}
              ){' '}
            </span>
          ))}
        </p>
      )}
    </li>
  );
}

// lagging is from how many seconds on a lag is longer than quiet windows and a few retries are.
const lagging = 60;

const sumOf = (counts: number[]): number => counts.reduce((sum, n) => sum + n, 0);

// behindOf is how many records of a cluster were still to come to this hub.
const behindOf = ({ forward }: Cluster): number => sumOf((forward ?? []).map((p) => p.behind ?? 0));

// toldAt is when a cluster last told this hub how far it is.
const toldAt = (positions: { at: string }[]): string => positions.map((p) => p.at).reduce((last, at) => (Date.parse(at) > Date.parse(last) ? at : last));

// lagOf is how old the oldest change is that is on its way to a workload, in seconds, by the clock of the cluster.
const lagOf = ({ oldestPendingAt, updatedAt }: Cluster): number => (oldestPendingAt && updatedAt ? Math.max(0, (Date.parse(updatedAt) - Date.parse(oldestPendingAt)) / 1000) : 0);

function Numbers({ c }: { c: Cluster }) {
  const drift = c.drift ?? 0;
  return (
    <div class="numbers">
      <a href={href(['workloads'], { cluster: c.name })}>
        <b>{c.workloads.toLocaleString('en')}</b> opted in
      </a>
      <a href={href(['workloads'], { cluster: c.name, condition: 'waiting' })}>
        <b>{(c.pending ?? 0).toLocaleString('en')}</b> pending
      </a>
      <a href={href(['held'], { cluster: c.name })}>
        <b>{sumOf(Object.values(c.held ?? {})).toLocaleString('en')}</b> held
      </a>
      <span class={lagOf(c) > lagging ? 'warn' : ''} title={`The age of the oldest change that is on its way to a workload. ${count(c.hintsPending ?? 0, 'hint')} not done yet.`}>
        <b>{lagOf(c) > 0 ? duration(lagOf(c)) : '0 s'}</b> lag
      </span>
      <span class={drift > 0 ? 'warn' : ''} title="Changes that only the sweep has found: the sources missed them.">
        <b>{drift.toLocaleString('en')}</b> missed by sources
      </span>
    </div>
  );
}

const feedTones: Record<string, Tone> = { heard: 'good', waiting: 'wait', silent: 'bad', refused: 'bad' };

function Sources({ c }: { c: Cluster }) {
  return (
    <div class="pair">
      <div>
        <h3>Where news come from</h3>
        {!c.sources?.length && <p class="faint">No hint has come since the dispatcher started.</p>}
        <ul class="plain">
          {c.sources?.map((s) => (
            <li key={s.source}>
              <b>{wordsOf(s.source)}</b> {count(s.hints, 'hint')}, last <Time at={s.lastAt} />
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h3>Canaries</h3>
        {!c.feeds?.length && <p class="faint">None are sent.</p>}
        <ul class="plain">
          {c.feeds?.map((f) => {
            const tone = feedTones[f.state] ?? 'calm';
            return (
              <li key={f.address} class="aligned">
                <span class={`badge ${tone}`}>
                  <Glyph tone={tone} />
                  {wordsOf(f.state)}
                </span>{' '}
                <span class="mono">{f.address}</span> <Time at={f.lastAt} />
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}
