import { count, personName } from '../lib/format';
import { attentionOf } from '../lib/overview';
import { conditionOf, wordsOf } from '../lib/outcome';
import type { Cluster, Pause, Workload } from '../lib/types';
import { Badge } from '../parts/badge';
import { ConfigLink } from '../parts/configlink';
import { Time } from '../parts/time';
import { WorkloadLink } from '../parts/workloadlink';
import { Choice, ClusterChoice } from '../parts/filterbar';
import { Command } from '../parts/command';
import { Answer, Empty, Warnings } from '../parts/states';
import { clusters, held } from '../state/fleet';
import { amend, changeHref, route } from '../state/router';

// Held lists the workloads that need attention, and those that wait.
export function Held() {
  const cluster = route.value.query.get('cluster') ?? '';
  return (
    <article class="page" aria-labelledby="title">
      <h1 id="title">Held back</h1>
      <Controls cluster={cluster} />
      <Answer scoped of={held.value} what="what is held back">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            <Lists all={items} cluster={cluster} />
          </>
        )}
      </Answer>
    </article>
  );
}

function Lists({ all, cluster }: { all: Workload[]; cluster: string }) {
  const reason = route.value.query.get('reason') ?? '';
  if (all.length === 0) return <Empty title="Nothing is held back">Whatever has changed was rolled, or is about to be.</Empty>;
  const reasons = [...new Set(all.map(conditionOf))].sort().map((r) => [r, wordsOf(r)] as const);
  const shown = all.filter((w) => (!cluster || w.cluster === cluster) && (!reason || conditionOf(w) === reason));
  const attention = attentionOf(shown);
  const waiting = shown.filter((w) => !attention.includes(w));
  return (
    <>
      <div class="filters">
        <ClusterChoice value={cluster} of={all} />
        <Choice name="Reason" value={reason} options={reasons} set={(v) => amend({ reason: v })} />
      </div>
      <Cards title="Needs attention" list={attention} none="Nothing needs attention." bad />
      <Cards title="Waiting" list={waiting} none="Nothing waits." />
    </>
  );
}

function Cards({ title, list, none, bad }: { title: string; list: Workload[]; none: string; bad?: boolean }) {
  return (
    <section>
      <h2>
        {title} <small>{list.length}</small>
      </h2>
      {list.length === 0 && <p class="faint">{none}</p>}
      <ul class="cards">
        {list.map((w) => (
          <li key={[w.cluster, w.workload.namespace, w.workload.kind, w.workload.name].join('/')} class={bad ? 'card bad' : 'card wait'}>
            <div class="line">
              <WorkloadLink cluster={w.cluster} workload={w.workload} />
              <Badge reason={conditionOf(w)} />
            </div>
            <p>{w.verdict.message}</p>
            {w.hold && (
              <p class="faint">
                Since <Time at={w.hold.since} />
                {w.hold.until && (
                  <>
                    , tried again <Time at={w.hold.until} />
                  </>
                )}
                {w.hold.attempts ? `, ${count(w.hold.attempts, 'attempt')}` : ''}
              </p>
            )}
            {(w.dependencies ?? []).map(
              (d) =>
                d.pendingChange && (
                  <p key={d.pendingChange}>
                    waits for <ConfigLink cluster={w.cluster} config={d.config} />, <a href={changeHref(d.pendingChange)}>this change</a>
                  </p>
                ),
            )}
            {w.verdict.next && (
              <p>
                Next: <Command text={w.verdict.next} />
              </p>
            )}
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

const resumeText = (p: Pause): string => `reroll resume ${p.namespace ? `-n ${p.namespace}` : '-A'}${p.selector ? ` -l '${p.selector}'` : ''}`;

// Controls shows what somebody has put on: freezes and pauses. They are those of clusters, which a page of one namespace does not ask for.
function Controls({ cluster }: { cluster: string }) {
  return <Boxes {...brakesOf((clusters.value.data?.items ?? []).filter((c) => !cluster || c.name === cluster))} />;
}

const brakesOf = (items: Cluster[]): Brakes => ({
  frozen: items.filter((c) => c.freeze?.frozen),
  pauses: items.flatMap((c) => (c.pauses ?? []).map((p) => ({ ...p, cluster: c.name }))),
});

function Boxes({ frozen, pauses }: Brakes) {
  return (
    <>
      {frozen.map((c) => (
        <div class="box wait" role="note" key={c.name}>
          <h2>
            <Badge reason="Frozen" /> All reloads of {c.name} are frozen
          </h2>
          <p>
            {c.freeze?.reason}{' '}
            {c.freeze?.until ? (
              <>
                Ends <Time at={c.freeze.until} />
              </>
            ) : (
              'Until somebody thaws them'
            )}
            {c.freeze && by(c.freeze)}.
          </p>
          <Command text="reroll thaw" />
        </div>
      ))}
      {pauses.map((p) => (
        <div class="box wait" role="note" key={[p.cluster, p.namespace, p.selector].join('/')}>
          <h2>
            <Badge reason="PausedByOperator" /> {p.namespace ? `Namespace ${p.namespace}` : 'Every namespace'} of {p.cluster}
            {p.selector && <small class="mono"> {p.selector}</small>}
          </h2>
          <p>
            {p.reason} Ends <Time at={p.until} />
            {by(p)}.
          </p>
          <Command text={resumeText(p)} />
        </div>
      ))}
    </>
  );
}
