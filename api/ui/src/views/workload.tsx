import { duration, refText, segments } from '../lib/format';
import { concernsWorkload } from '../lib/listing';
import { conditionOf, lastRolled, stateOf } from '../lib/outcome';
import type { Dependency, Explained, Hold, List, Reload, Use, Workload } from '../lib/types';
import { Badge } from '../parts/badge';
import { ConfigLink } from '../parts/configlink';
import { Fact, Facts } from '../parts/facts';
import { Time } from '../parts/time';
import { Who } from '../parts/who';
import { Command } from '../parts/command';
import { Answer, Warnings } from '../parts/states';
import { ask, query } from '../state/client';
import { useResource } from '../state/resource';
import { changeHref, href, type placeOf } from '../state/router';
import { Explain } from './explain';

export type Place = NonNullable<ReturnType<typeof placeOf>>;

// WorkloadPage tells all about one workload: that it is opted in and how, what it depends on, what holds it, its history, and why.
export function WorkloadPage({ place }: { place: Place }) {
  const { cluster, namespace, kind, name } = place;
  const path = `workloads/${segments(cluster, namespace, kind, name)}`;
  const found = useResource(path, (abort) => ask<Explained>(path, abort), {
    events: ['workload', 'workloadGone', 'reload'],
    concerns: concernsWorkload(place),
    every: 120_000,
  });
  return (
    <article class="page" aria-labelledby="title">
      <nav class="crumbs" aria-label="Path">
        <a href={href(['workloads'])}>Workloads</a> <span aria-hidden="true">/</span> <a href={href(['workloads'], { namespace })}>{namespace}</a>
      </nav>
      <h1 id="title">
        {name} <small>{kind}</small>
      </h1>
      <Answer of={found} what="this workload">
        {(w) => (
          <>
            <Warnings list={w.warnings} />
            <Summary w={w} />
            {w.hold && <HoldBox hold={w.hold} bad={w.verdict.needsAttention === true} />}
            <Dependencies w={w} />
            <Explain cluster={w.cluster} items={w.explanations} />
            <History place={place} />
          </>
        )}
      </Answer>
    </article>
  );
}

function Summary({ w }: { w: Workload }) {
  return (
    <>
      <p class="verdict">
        <Badge reason={conditionOf(w)} /> {w.verdict.message}
        {w.verdict.next && (
          <>
            {' '}
            Next: <Command text={w.verdict.next} />
          </>
        )}
      </p>
      <Facts>
        <Fact name="Opted in by">annotations of {w.dialect}</Fact>
        <Fact name="Marked by">{w.strategy}</Fact>
        <Fact name="Cluster">{w.cluster}</Fact>
        <Fact name="To roll it once">
          <Command text={`reroll reload ${w.workload.namespace}/${w.workload.kind}/${w.workload.name}`} />
        </Fact>
        <Fact name="Last rolled">
          {w.rollout && <Badge reason={w.rollout.result} />} <Time at={lastRolled(w)} />
        </Fact>
      </Facts>
    </>
  );
}

function HoldBox({ hold, bad }: { hold: Hold; bad: boolean }) {
  return (
    <div class={bad ? 'box bad' : 'box wait'} role="note">
      <h2>
        <Badge reason={hold.reason} /> {bad ? 'Needs attention' : 'Held back'}
      </h2>
      {hold.message && <p>{hold.message}</p>}
      <p class="faint">
        Since <Time at={hold.since} />
        {hold.until ? (
          <>
            , tried again <Time at={hold.until} />
          </>
        ) : (
          ', without an end that is set'
        )}
        {hold.attempts ? `, after ${hold.attempts} attempts` : ''}.
      </p>
    </div>
  );
}

function Dependencies({ w }: { w: Workload }) {
  return (
    <section>
      <h2>Depends on</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Dependencies">
        <table>
          <thead>
            <tr>
              <th scope="col">Config</th>
              <th scope="col">Why</th>
              <th scope="col">Used as</th>
              <th scope="col">Keys</th>
              <th scope="col">Brought to</th>
            </tr>
          </thead>
          <tbody>
            {(w.dependencies ?? []).map((d) => (
              <DependencyRow key={`${d.config.cluster ?? ''}/${refText(d.config)}`} cluster={w.cluster} d={d} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function DependencyRow({ cluster, d }: { cluster: string; d: Dependency }) {
  return (
    <tr>
      <th scope="row">
        <ConfigLink cluster={cluster} config={d.config} />
      </th>
      <td>
        {d.why}
        {d.clause && <small class="mono">{d.clause}</small>}
      </td>
      <td>{!d.uses?.length ? <span class="faint">named, not referenced</span> : [...new Set(d.uses.map(useText))].map((u) => <div key={u}>{u}</div>)}</td>
      <td class="mono">{keysOf(d.uses ?? [])}</td>
      <td>
        {d.pendingChange ? (
          <a href={changeHref(d.pendingChange)}>
            <Badge reason="Waiting" />
          </a>
        ) : d.handled ? (
          <>
            <Badge reason={d.handled.how} /> <Time at={d.handled.at} />
          </>
        ) : (
          <span class="faint">no baseline yet</span>
        )}
      </td>
    </tr>
  );
}

const useText = (u: Use): string => (u.container ? `${u.how} in ${u.container}` : u.how);

function keysOf(uses: Use[]): string {
  if (uses.length === 0) return '–';
  if (uses.some((u) => !u.keys?.length)) return 'all';
  return [...new Set(uses.flatMap((u) => u.keys ?? []))].sort().join(', ');
}

const shown = 50;

function History({ place: { cluster, namespace, kind, name } }: { place: Place }) {
  const path = `reloads${query({ cluster, namespace, kind, name, limit: shown })}`;
  const found = useResource(path, (abort) => ask<List<Reload>>(path, abort), { events: ['reload'], concerns: concernsWorkload({ cluster, namespace, kind, name }) });
  return (
    <section>
      <h2>History</h2>
      <Answer of={found} what="what became of this workload">
        {({ items, metadata }) =>
          items.length === 0 ? (
            <p class="faint">It has not been rolled since its records begin.</p>
          ) : (
            <ol class="history">
              {items.map((r) => (
                <Entry key={r.id + r.decidedAt} r={r} />
              ))}
              {metadata.continue && <li class="faint">Older ones are in the API.</li>}
            </ol>
          )
        }
      </Answer>
    </section>
  );
}

function Entry({ r }: { r: Reload }) {
  return (
    <li>
      <div class="line">
        <Badge reason={stateOf(r)} /> <Time at={r.decidedAt} />
        {r.latencySeconds !== undefined && <span class="faint">after {duration(r.latencySeconds)}</span>}
      </div>
      {(r.rollout?.message ?? r.message) && <p>{r.rollout?.message ?? r.message}</p>}
      {r.requested && <p class="because">requested: {r.requested}</p>}
      {r.causes?.map((c) => (
        <p class="because" key={c.changeID}>
          <span class="whoin">
            <Who change={c} />
          </span>
          <a href={changeHref(c.changeID)}>
            {c.config.kind} {c.config.name}
          </a>{' '}
          <span class="mono faint">{c.keys?.map((k) => k.key).join(' ')}</span>
        </p>
      ))}
    </li>
  );
}
