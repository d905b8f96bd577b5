import { count, personName } from '../lib/format';
import { resumeOf, thawOf } from '../lib/orders';
import { wordsOf } from '../lib/outcome';
import type { Cluster, HeldWorkload, Pause } from '../lib/types';
import { Badge, ConfigLink, Time, WorkloadLink } from '../parts/bits';
import { Choice } from '../parts/filterbar';
import { OrderButton } from '../parts/order';
import { Answer, Empty, Warnings } from '../parts/states';
import { ReadOnly } from '../parts/user';
import { askAll } from '../state/client';
import { may } from '../state/permissions';
import { useResource } from '../state/resource';
import { amend, changeHref, route, scope } from '../state/router';
import { clusterTiming } from './clusters';
import { LetGo } from './letgo';

const most = 2_000;

const isDead = (w: HeldWorkload): boolean => w.dead || w.hold.deadLetter === true;

// Held lists what does not roll although it should: dead letters, which somebody has to look at, and what waits.
export function Held() {
  const namespace = scope.value;
  const found = useResource(`held ${namespace}`, (abort) => askAll<HeldWorkload>('held', { namespace }, most, abort), { events: ['workload', 'workloadGone'] });
  return (
    <article class="page" aria-labelledby="title">
      <h1 id="title">Held back</h1>
      <ReadOnly />
      <Controls />
      <Answer scoped of={found} what="what is held back">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            <Lists all={items} />
          </>
        )}
      </Answer>
    </article>
  );
}

function Lists({ all }: { all: HeldWorkload[] }) {
  const reason = route.value.query.get('reason') ?? '';
  if (all.length === 0) return <Empty title="Nothing is held back">Whatever has changed was rolled, or is about to be.</Empty>;
  const reasons = [...new Set(all.map((w) => w.hold.reason))].sort().map((r) => [r, wordsOf(r)] as const);
  const shown = all.filter((w) => !reason || w.hold.reason === reason);
  const dead = shown.filter(isDead);
  const waiting = shown.filter((w) => !isDead(w));
  return (
    <>
      <div class="filters">
        <Choice name="Reason" value={reason} options={reasons} set={(v) => amend({ reason: v })} />
      </div>
      <Cards title="Somebody has to look" list={dead} none="No dead letters." />
      <Cards title="Waiting" list={waiting} none="Nothing waits." />
    </>
  );
}

function Cards({ title, list, none }: { title: string; list: HeldWorkload[]; none: string }) {
  return (
    <section>
      <h2>
        {title} <small>{list.length}</small>
      </h2>
      {list.length === 0 && <p class="faint">{none}</p>}
      <ul class="cards">
        {list.map((w) => (
          <li key={[w.cluster, w.workload.namespace, w.workload.kind, w.workload.name].join('/')} class={isDead(w) ? 'card bad' : 'card wait'}>
            <div class="line">
              <WorkloadLink cluster={w.cluster} workload={w.workload} />
              <Badge reason={w.hold.reason} />
            </div>
            {w.hold.message && <p>{w.hold.message}</p>}
            <p class="faint">
              Since <Time at={w.hold.since} />
              {w.hold.due && (
                <>
                  , tried again <Time at={w.hold.due} />
                </>
              )}
              {w.hold.attempts ? `, ${count(w.hold.attempts, 'attempt')}` : ''}
            </p>
            {w.pending.map((p) => (
              <p key={p.change}>
                waits for <ConfigLink cluster={w.cluster} config={p.config} />, <a href={changeHref(p.change)}>this change</a>
              </p>
            ))}
            <LetGo cluster={w.cluster} workload={w.workload} hold={w.hold} configs={w.pending.map((p) => p.config)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const by = (brake: { by?: string }): string => (brake.by ? `, put on by ${personName(brake.by)}` : '');

interface Brakes {
  frozen: Cluster[];
  pauses: (Pause & { cluster: string })[];
}

// brakesOf asks for what somebody has put on: freezes and pauses. Whoever looks at one namespace is told of the pauses that reach it.
async function brakesOf(namespace: string, abort: AbortSignal): Promise<Brakes> {
  if (namespace) return { frozen: [], pauses: (await askAll<Pause & { cluster: string }>('pauses', { namespace }, 500, abort)).items };
  const { items } = await askAll<Cluster>('clusters', {}, 500, abort);
  return { frozen: items.filter((c) => c.freeze.frozen), pauses: items.flatMap((c) => c.pauses.map((p) => ({ ...p, cluster: c.name }))) };
}

function Controls() {
  const { data } = useResource(`brakes ${scope.value}`, (abort) => brakesOf(scope.value, abort), clusterTiming);
  return (
    <>
      {data?.frozen.map((c) => (
        <div class="box wait" role="note" key={c.name}>
          <h2>
            <Badge reason="Frozen" /> All reloads of {c.name} are frozen
          </h2>
          <p>
            {c.freeze.reason} {c.freeze.until ? <>Ends <Time at={c.freeze.until} /></> : 'Until somebody thaws them'}{by(c.freeze)}.
          </p>
          {may('thaw') && <OrderButton order={thawOf(c.name)} small />}
        </div>
      ))}
      {data?.pauses.map((p) => (
        <div class="box wait" role="note" key={[p.cluster, p.namespace, p.selector].join('/')}>
          <h2>
            <Badge reason="PausedByOperator" /> {p.namespace ? `Namespace ${p.namespace}` : 'Every namespace'} of {p.cluster}
            {p.selector && <small class="mono"> {p.selector}</small>}
          </h2>
          <p>
            {p.reason} Ends <Time at={p.until} />
            {by(p)}.
          </p>
          {may('resume', p.namespace) && <OrderButton order={resumeOf(p.cluster, p)} small />}
        </div>
      ))}
    </>
  );
}
