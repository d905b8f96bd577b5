import { heldOf, worstFirst } from '../lib/attention';
import { hasWords } from '../lib/filter';
import { count, duration } from '../lib/format';
import { wordsOf } from '../lib/outcome';
import type { Cluster } from '../lib/types';
import { Choice, Filters } from '../parts/filters';
import { Answer, Blank, Warnings } from '../parts/states';
import { Badge, Fact, Facts, Next, Rows, Time } from '../parts/words';
import { ask, type Listing, query } from '../state/api';
import { clusters } from '../state/fleet';
import { useResource } from '../state/resource';
import { href, route } from '../state/router';
import { Brakes } from './attention';

const healths = ['Away', 'Unknown', 'Degraded', 'Healthy'];

// Clusters lists all, the worst first; one alone is shown as a whole.
export function Clusters() {
  const found = clusters.value;
  const only = found.data?.items.length === 1 ? found.data.items[0] : undefined;
  return (
    <section class={only ? 'page' : 'list'} aria-labelledby="title">
      <header class={only ? '' : 'head'}>
        <h1 id="title">Clusters</h1>
        {found.data && !only && <p class="sum">{count(found.data.items.length, 'cluster')}</p>}
      </header>
      <Answer of={found} what="clusters">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            {only ? (
              <Card c={only} />
            ) : items.length === 0 ? (
              <Blank title="No cluster has told of itself yet">Its dispatcher does so within half a minute of its start.</Blank>
            ) : (
              <Listed all={items} />
            )}
          </>
        )}
      </Answer>
    </section>
  );
}

function Listed({ all }: { all: Cluster[] }) {
  const text = route.value.query.get('q') ?? '';
  const health = route.value.query.get('health') ?? '';
  const shown = worstFirst(all.filter((c) => (!health || c.health === health) && (!text || hasWords([c.name, c.version, c.health, ...(c.problems ?? []).map((p) => p.message)], text))));
  return (
    <>
      <Filters what="clusters and problems">
        <Choice name="Health" at="health" options={healths.filter((h) => all.some((c) => c.health === h)).map((h) => [h, `${h} (${all.filter((c) => c.health === h).length})`] as const)} />
      </Filters>
      {shown.length === 0 ? (
        <Blank title="No cluster is like that" />
      ) : (
        <Rows label="Clusters, the worst first" kind="six" columns={['Cluster', 'Health', 'Opted in', 'Pending', 'Held', 'Lag']} num={['Opted in', 'Pending', 'Held', 'Lag']} items={shown} first={200}>
          {(c) => (
            <li key={c.name}>
              <Row c={c} />
            </li>
          )}
        </Rows>
      )}
    </>
  );
}

function Row({ c }: { c: Cluster }) {
  return (
    <a class="row six" href={href(['clusters', c.name])} data-row>
      <span class="cell">
        <b>{c.name}</b>
        <small>{c.problems?.[0]?.message ?? ''}</small>
      </span>
      <span class="cell outcome">
        <Badge reason={c.health} />
        {[...new Set(c.holdsBack?.map((p) => p.reason ?? 'Held'))].map((reason) => (
          <Badge reason={reason} key={reason} />
        ))}
      </span>
      <span class="num">{c.workloads.toLocaleString('en')}</span>
      <span class="num">{(c.pending ?? 0).toLocaleString('en')}</span>
      <span class="num">{heldOf(c).toLocaleString('en')}</span>
      <span class="num">{lagOf(c) > 0 ? duration(lagOf(c)) : '0 s'}</span>
    </a>
  );
}

// ClusterPage shows where the news of one cluster come from, how far it is, and whether all is well.
export function ClusterPage({ name }: { name: string }) {
  const found = useResource(`cluster ${name}`, ['clusters'], (abort) => ask<Listing<Cluster>>(`clusters${query({ name })}`, abort));
  return (
    <article class="page" aria-labelledby="title">
      <nav class="crumbs" aria-label="Path">
        <a href={href(['clusters'])}>Clusters</a>
      </nav>
      <h1 id="title">{name}</h1>
      <Answer of={found} what="this cluster">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            {items[0] ? <Card c={items[0]} /> : <Blank title="Nothing is on record about this cluster" />}
          </>
        )}
      </Answer>
    </article>
  );
}

function Card({ c }: { c: Cluster }) {
  const tone = c.health === 'Healthy' ? 'good' : 'bad';
  return (
    <>
      <div class={`box verdict ${tone}`} role="note">
        <h2>
          <Badge reason={c.health} />
        </h2>
        {!c.problems?.length && <p>Nothing is wrong with it.</p>}
        {c.problems?.map((p) => (
          <div key={p.message}>
            <p>{p.message}</p>
            <Next text={p.next} />
          </div>
        ))}
      </div>
      <Brakes clusters={[c]} />
      <Numbers c={c} />
      <Sources c={c} />
      <Facts>
        {[
          ['Last change', c.lastChangeAt],
          ['Last reload', c.lastReloadAt],
          ['Last resync', c.sweptAt],
          ['Reported', c.updatedAt],
        ].map(([label, at]) => (
          <Fact name={label!} key={label}>
            <Time at={at} />
          </Fact>
        ))}
        <Fact name="Dispatcher">
          {c.version ?? '–'} {c.instance && <span class="faint">{c.instance}</span>}
        </Fact>
        {c.forward && (
          <Fact name="On its way here">
            {count(
              c.forward.reduce((sum, p) => sum + (p.behind ?? 0), 0),
              'record',
            )}
          </Fact>
        )}
      </Facts>
    </>
  );
}

// lagging is from how many seconds on a lag is longer than debounce windows and a few retries are.
const lagging = 60;

// lagOf is how old the oldest change is that is on its way to a workload, in seconds, by the clock of the cluster.
const lagOf = ({ oldestPendingAt, updatedAt }: Cluster): number => (oldestPendingAt && updatedAt ? Math.max(0, (Date.parse(updatedAt) - Date.parse(oldestPendingAt)) / 1000) : 0);

function Numbers({ c }: { c: Cluster }) {
  const drift = c.drift ?? 0;
  const lag = lagOf(c);
  return (
    <div class="numbers">
      <a href={href(['workloads'], { cluster: c.name })}>
        <b>{c.workloads.toLocaleString('en')}</b> opted in
      </a>
      <a href={href(['attention'], { cluster: c.name })}>
        <b>{(c.pending ?? 0).toLocaleString('en')}</b> pending
      </a>
      <a href={href(['attention'], { cluster: c.name })}>
        <b>{heldOf(c).toLocaleString('en')}</b> held
      </a>
      <span class={lag > lagging ? 'warn' : ''} title={`The age of the oldest change that is on its way to a workload. ${count(c.hintsPending ?? 0, 'hint')} not done yet.`}>
        <b>{lag > 0 ? duration(lag) : '0 s'}</b> lag
      </span>
      <span class={drift > 0 ? 'warn' : ''} title="Changes that only the resync has found: the sources missed them.">
        <b>{drift.toLocaleString('en')}</b> missed by sources
      </span>
    </div>
  );
}

function Sources({ c }: { c: Cluster }) {
  return (
    <div class="pair">
      <div>
        <h2>Where news come from</h2>
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
        <h2>Audit feeds</h2>
        {!c.feeds?.length && <p class="faint">No canaries are sent.</p>}
        <ul class="plain">
          {c.feeds?.map((f) => (
            <li key={f.address} class="aligned">
              <Badge reason={f.state} /> <span class="mono">{f.address}</span> <Time at={f.lastAt} />
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
