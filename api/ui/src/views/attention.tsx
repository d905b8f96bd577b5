import { attentionOf } from '../lib/attention';
import { count } from '../lib/format';
import { conditionOf, wordsOf } from '../lib/outcome';
import type { Cluster, Workload } from '../lib/types';
import { Choice, Filters, inPlace, PlaceChoice } from '../parts/filters';
import { Answer, Blank, Warnings } from '../parts/states';
import { Badge, ConfigLink, Next, Time, WorkloadLink } from '../parts/words';
import { clusters, unsettled } from '../state/fleet';
import { changeHref, href, route } from '../state/router';

// AttentionPage lists what reroll status does: clusters that are not healthy, workloads that need attention, freezes and pauses, and what waits.
export function AttentionPage() {
  return (
    <article class="page" aria-labelledby="title">
      <h1 id="title">Attention</h1>
      <Answer scoped of={unsettled.value} what="what needs attention">
        {({ items, warnings }) => (
          <>
            <Warnings list={warnings} />
            <Lists clusters={clusters.value.data?.items ?? []} all={items} />
          </>
        )}
      </Answer>
    </article>
  );
}

function Lists({ clusters, all }: { clusters: Cluster[]; all: Workload[] }) {
  const reason = route.value.query.get('reason') ?? '';
  const shown = all.filter((w) => inPlace({ cluster: w.cluster, namespace: w.workload.namespace }) && (!reason || conditionOf(w.verdict) === reason));
  const here = clusters.filter((c) => inPlace({ cluster: c.name }));
  const found = attentionOf(here, shown);
  const brakes = here.some((c) => c.holdsBack?.length);
  if (all.length + found.clusters.length === 0 && !brakes) {
    return (
      <Blank title="Nothing needs attention" tone="good">
        Whatever has changed was rolled, or is about to be.
      </Blank>
    );
  }
  return (
    <>
      <Filters>
        <PlaceChoice of={all.map((w) => ({ cluster: w.cluster, namespace: w.workload.namespace }))} />
        <Choice name="Reason" at="reason" options={[...new Set(all.map((w) => conditionOf(w.verdict)))].sort().map((r) => [r, wordsOf(r)] as const)} />
      </Filters>
      {found.clusters.length > 0 && (
        <section>
          <h2>
            Clusters <small>{found.clusters.length}</small>
          </h2>
          <ul class="cards">
            {found.clusters.map((c) => (
              <li class="card bad" key={c.name}>
                <div class="line">
                  <a class="ref" href={href(['clusters', c.name])}>
                    {c.name}
                  </a>
                  <Badge reason={c.health} />
                </div>
                {c.problems?.map((p) => (
                  <div key={p.message}>
                    <p>{p.message}</p>
                    <Next text={p.next} />
                  </div>
                ))}
              </li>
            ))}
          </ul>
        </section>
      )}
      <Cards title="Needs attention" list={found.workloads} none="No workload needs attention." bad />
      <Brakes clusters={here} />
      <Cards title="Waiting" list={found.waiting} none="Nothing waits." />
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
              <Badge reason={conditionOf(w.verdict)} />
            </div>
            <p>{w.verdict.message}</p>
            <HeldSince w={w} />
            {(w.dependencies ?? []).map(
              (d) =>
                d.pendingChange && (
                  <p class="faint" key={d.pendingChange}>
                    Waits for <ConfigLink cluster={w.cluster} config={d.config} />, <a href={changeHref(d.pendingChange, d.config.cluster ?? w.cluster)}>this change</a>
                  </p>
                ),
            )}
            <Next text={w.verdict.next} />
          </li>
        ))}
      </ul>
    </section>
  );
}

// HeldSince says since when a workload is held, and when that ends.
export function HeldSince({ w: { hold } }: { w: Workload }) {
  if (!hold) return null;
  return (
    <p class="faint">
      Since <Time at={hold.since} />
      {hold.until && (
        <>
          , tried again <Time at={hold.until} />
        </>
      )}
      {hold.attempts ? `, after ${count(hold.attempts, 'attempt')}` : ''}
    </p>
  );
}

// Brakes shows what holds back the workloads of clusters, such as freezes and pauses.
export function Brakes({ clusters }: { clusters: Cluster[] }) {
  return (
    <>
      {clusters.flatMap((c) =>
        (c.holdsBack ?? []).map((p) => (
          <div class="box wait" role="note" key={c.name + p.message}>
            <h2>
              <Badge reason={p.reason ?? 'Held'} /> {c.name}
            </h2>
            <p>{p.message}</p>
            <Next text={p.next} />
          </div>
        )),
      )}
    </>
  );
}
