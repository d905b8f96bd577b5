import { duration, refText, segments, verbOf } from '../lib/format';
import { conditionOf, lastRolled, stateOf, toneOf } from '../lib/outcome';
import type { Dependency, Explained, Explanation, List, Reload, Use } from '../lib/types';
import { Answer, Warnings } from '../parts/states';
import { Badge, Command, ConfigLink, Fact, Facts, Next, Pods, Time, Who } from '../parts/words';
import { ask, query } from '../state/api';
import { useResource } from '../state/resource';
import { changeHref, href, type Place } from '../state/router';
import { HeldSince } from './attention';

// WorkloadPage tells all about one workload: how it stands and what to do next, how it stands to each of its configs, and its history.
export function WorkloadPage({ place }: { place: Place }) {
  const { cluster, namespace, kind, name } = place;
  const path = `workloads/${segments(cluster, namespace, kind, name)}`;
  const found = useResource(path, ['workloads', 'changes', 'clusters'], (abort) => ask<Explained>(path, abort));
  return (
    <article class="page" aria-labelledby="title">
      <nav class="crumbs" aria-label="Path">
        <a href={href(['workloads'])}>Workloads</a> <span aria-hidden="true">/</span> <a href={href(['workloads'], { namespace })}>{namespace}</a>
      </nav>
      <h1 id="title">
        {name} <small>{kind}</small>
      </h1>
      <Answer of={found} what="this workload" unknown={(detail) => <NotOptedIn place={place} detail={detail} />}>
        {(w) => (
          <>
            <Warnings list={w.warnings} />
            <Judged w={w} />
            <Dependencies w={w} />
            <History place={place} />
          </>
        )}
      </Answer>
    </article>
  );
}

// NotOptedIn is the page of a workload of which nothing is on record.
function NotOptedIn({ place, detail }: { place: Place; detail: string }) {
  const { namespace, kind, name } = place;
  return (
    <>
      <div class="box wait verdict" role="note">
        <h2>
          <Badge reason="NotOptedIn" />
        </h2>
        <p>{detail}</p>
        <Next text={`kubectl -n ${namespace} annotate ${kind.toLowerCase()}/${name} reroll.dev/auto=true`} />
      </div>
      <History place={place} />
    </>
  );
}

function Judged({ w }: { w: Explained }) {
  const tone = toneOf(conditionOf(w.verdict));
  return (
    <>
      <div class={`box verdict ${w.verdict.needsAttention ? 'bad' : tone}`} role="note">
        <h2>
          <Badge reason={conditionOf(w.verdict)} />
        </h2>
        <p>{w.verdict.message}</p>
        <HeldSince w={w} />
        <Next text={w.verdict.next} />
      </div>
      <Facts>
        <Fact name="Opted in by">annotations of {w.dialect}</Fact>
        <Fact name="Marked by">{w.strategy}</Fact>
        <Fact name="Cluster">{w.cluster}</Fact>
        <Fact name="Last rolled">
          {w.rollout && <Badge reason={w.rollout.result} />} <Time at={lastRolled(w)} />
        </Fact>
        <Fact name="To roll it once">
          <Command text={`reroll reload ${w.workload.namespace}/${w.workload.kind}/${w.workload.name}`} />
        </Fact>
      </Facts>
    </>
  );
}

const keyOf = (c: { cluster?: string; kind: string; namespace: string; name: string }): string => `${c.cluster ?? ''}/${refText(c)}`;

function Dependencies({ w }: { w: Explained }) {
  const uses = new Map((w.dependencies ?? []).map((d) => [keyOf(d.config), d]));
  return (
    <section>
      <h2>
        Depends on <small>{w.explanations.length}</small>
      </h2>
      {w.explanations.length === 0 && <p class="faint">It asks for no config.</p>}
      <ul class="cards">
        {w.explanations.map((x) => (
          <Standing key={keyOf(x.config)} cluster={w.cluster} x={x} d={uses.get(keyOf(x.config))} />
        ))}
      </ul>
    </section>
  );
}

// Standing says how the workload stands to one config, why it asks for it, and what last became of the config.
function Standing({ cluster, x, d }: { cluster: string; x: Explanation; d: Dependency | undefined }) {
  return (
    <li class={`card ${x.needsAttention ? 'bad' : x.waits ? 'wait' : ''}`}>
      <div class="line">
        <ConfigLink cluster={cluster} config={x.config} /> <Badge reason={conditionOf(x)} />
      </div>
      <p>{x.message}</p>
      {d && (
        <p class="faint">
          {d.why}
          {d.clause && <span class="mono"> {d.clause}</span>} · {usesOf(d.uses ?? [])}
        </p>
      )}
      {x.change && (
        <p class="because">
          <span class="whoin">
            <Who change={x.change} />
          </span>
          <a href={changeHref(x.change.id, x.change.cluster)}>{verbOf(x.change)}</a> <Time at={x.change.verifiedAt} />
        </p>
      )}
      <Next text={x.next} />
    </li>
  );
}

// usesOf says how pods use a config: as what, in which container, and which keys.
function usesOf(uses: Use[]): string {
  if (uses.length === 0) return 'named, not used by the pod template';
  return [...new Set(uses.map((u) => `${u.how}${u.container ? ` in ${u.container}` : ''}: ${u.keys?.length ? u.keys.join(', ') : 'all keys'}`))].join(' · ');
}

const shown = 50;

function History({ place: { cluster, namespace, kind, name } }: { place: Place }) {
  const path = `reloads${query({ cluster, namespace, kind, name, limit: shown })}`;
  const found = useResource(path, ['reloads'], (abort) => ask<List<Reload>>(path, abort));
  return (
    <section>
      <h2>History</h2>
      <Answer of={found} what="what became of this workload">
        {({ items, continue: more }) =>
          items.length === 0 ? (
            <p class="faint">It has not been rolled since its records begin.</p>
          ) : (
            <ol class="history">
              {items.map((r) => (
                <Entry key={r.id + r.decidedAt} r={r} />
              ))}
              {more && <li class="faint">Older ones are in the API.</li>}
            </ol>
          )
        }
      </Answer>
    </section>
  );
}

function Entry({ r }: { r: Reload }) {
  const message = r.rollout?.message ?? r.message;
  return (
    <li>
      <div class="line">
        <Badge reason={stateOf(r)} /> <Time at={r.decidedAt} />
        {r.latencySeconds !== undefined && <span class="faint">after {duration(r.latencySeconds)}</span>}
      </div>
      {message && <p>{message}</p>}
      <Pods of={r.pods} />
      {r.requested && <p class="because">requested: {r.requested}</p>}
      {r.causes?.map((c) => (
        <p class="because" key={c.changeID}>
          <span class="whoin">
            <Who change={c} />
          </span>
          <a href={changeHref(c.changeID, c.config.cluster ?? r.cluster)}>
            {c.config.kind} {c.config.name}
          </a>{' '}
          <span class="mono faint">{c.keys?.map((k) => k.key).join(' ')}</span>
        </p>
      ))}
    </li>
  );
}
