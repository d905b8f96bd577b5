import { count, duration } from '../lib/format';
import { toneOf, wordsOf } from '../lib/outcome';
import type { Counts, Stats, TopEntry } from '../lib/types';
import { Bars, Lines } from '../parts/chart';
import { Choice, Filters, PlaceChoice } from '../parts/filters';
import { Answer, Empty, Warnings } from '../parts/states';
import { Fact, Facts, Name } from '../parts/words';
import { ask, query } from '../state/api';
import { clusters } from '../state/fleet';
import { useResource } from '../state/resource';
import { impactHref, route, scope, workloadHref } from '../state/router';

const spans = [
  ['15m', 'Last 15 minutes', 900],
  ['1h', 'Last hour', 3600],
  ['6h', 'Last 6 hours', 6 * 3600],
  ['24h', 'Last 24 hours', 24 * 3600],
  ['7d', 'Last 7 days', 7 * 24 * 3600],
  ['30d', 'Last 30 days', 30 * 24 * 3600],
] as const;

// seldom is how many milliseconds lie between two questions: a bucket of the shortest span is longer.
const seldom = 10_000;

// Charts shows how much happens, how quickly, and what fails.
export function Charts() {
  const q = route.value.query;
  const span = spans.find(([id]) => id === q.get('span')) ?? spans[3];
  const cluster = q.get('cluster') ?? '';
  const namespace = scope.value;
  const found = useResource(
    `stats ${span[0]} ${cluster} ${namespace}`,
    ['changes', 'reloads'],
    (abort) => ask<Stats>(`stats${query({ since: new Date(Date.now() - span[2] * 1000).toISOString(), cluster, namespace })}`, abort),
    seldom,
  );
  return (
    <article class="page wide" aria-labelledby="title">
      <h1 id="title">Charts</h1>
      <Filters>
        <PlaceChoice namespaces={false} of={(clusters.value.data?.items ?? []).map((c) => ({ cluster: c.name }))} />
        <Choice name="Span" at="span" standard="24h" options={spans.map(([id, text]) => [id, text] as const)} />
      </Filters>
      <Answer scoped of={found} what="how much has happened">
        {(s) => (
          <>
            <Warnings list={s.warnings} />
            {s.total.changes + sum(s.total) === 0 ? <Empty title="Nothing happened in this time">A longer one may have more.</Empty> : <All s={s} />}
          </>
        )}
      </Answer>
    </article>
  );
}

const sum = (c: Counts, tone?: string): number => Object.entries(c.outcomes).reduce((all, [outcome, n]) => (tone && toneOf(outcome) !== tone ? all : all + n), 0);
const failing = (c: Counts): number => sum(c, 'bad');
const rolled = (c: Counts): number => sum(c, 'good');

function All({ s }: { s: Stats }) {
  const labels = s.buckets.map((b) => b.start);
  const { total } = s;
  return (
    <>
      <Facts>
        <Fact name="Changes">{total.changes.toLocaleString('en')}</Fact>
        <Fact name="Decisions">{sum(total).toLocaleString('en')}</Fact>
        <Fact name="Rolled">{rolled(total).toLocaleString('en')}</Fact>
        <Fact name="Failed">{failing(total).toLocaleString('en')}</Fact>
        <Fact name="Half were patched within">{total.latency ? duration(total.latency.p50) : '–'}</Fact>
        <Fact name="95 in 100 within">{total.latency ? duration(total.latency.p95) : '–'}</Fact>
      </Facts>
      <div class="charts">
        <Bars
          title="Reloads"
          at={labels}
          series={[
            { name: 'rolled', tone: 'good', values: s.buckets.map(rolled) },
            { name: 'nothing to roll', tone: 'calm', values: s.buckets.map((b) => sum(b) - rolled(b) - failing(b)) },
            { name: 'failed', tone: 'bad', values: s.buckets.map(failing) },
          ]}
        />
        <Lines
          title="From edit or end of hold to patch"
          at={labels}
          series={[
            { name: 'half within', values: s.buckets.map((b) => b.latency?.p50) },
            { name: '95 in 100 within', values: s.buckets.map((b) => b.latency?.p95) },
          ]}
        />
        <Bars title="Changes" at={labels} series={[{ name: 'changes', tone: 'busy', values: s.buckets.map((b) => b.changes) }]} />
        <Bars title="Failures" at={labels} series={[{ name: 'failed', tone: 'bad', values: s.buckets.map(failing) }]} />
      </div>
      <div class="pair">
        <Top title="Rolled most" list={s.workloads} link={(e) => workloadHref(e.cluster, e)} />
        <Top title="Changed most" list={s.configs} link={(e) => impactHref(e.cluster, e)} />
      </div>
      <p class="faint">
        {Object.entries(total.outcomes)
          .map(([outcome, n]) => `${wordsOf(outcome)} ${n}`)
          .join(' · ')}
      </p>
    </>
  );
}

function Top({ title, list, link }: { title: string; list: TopEntry[]; link: (e: TopEntry) => string }) {
  const most = Math.max(1, ...list.map((e) => e.count));
  return (
    <section>
      <h2>{title}</h2>
      {list.length === 0 && <p class="faint">Nothing yet.</p>}
      <ol class="top">
        {list.map((e) => (
          <li key={link(e)}>
            <a href={link(e)}>
              <Name {...e} />
            </a>
            <meter min={0} max={most} value={e.count} aria-label={count(e.count, 'time')} />
            <span class="num">{e.count}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
