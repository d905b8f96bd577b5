import { useEffect, useRef } from 'preact/hooks';
import { duration, personName, segments, verbOf } from '../lib/format';
import { placeOf, reloadsOf, stateOf } from '../lib/outcome';
import type { Candidate, ChangeRow } from '../lib/types';
import { Icon } from '../parts/glyph';
import { Answer } from '../parts/states';
import { Badge, ConfigLink, Fact, Facts, KeyList, Pods, Time, WorkloadLink } from '../parts/words';
import { ask, query } from '../state/api';
import { useResource } from '../state/resource';

// ChangePanel tells all about one change beside the list; its address can be sent to others.
export function ChangePanel({ id, cluster, close }: { id: string; cluster: string; close: () => void }) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus({ preventScroll: true }), [id]);
  const path = `changes/${segments(id)}${query({ cluster })}`;
  const found = useResource(path, ['changes', 'reloads', 'workloads'], (abort) => ask<ChangeRow>(path, abort));
  return (
    <aside class="panel" aria-label="Change" tabIndex={-1} ref={panel}>
      <button class="plain close" aria-label="Close" onClick={close}>
        <Icon name="close" />
      </button>
      <Answer of={found} what="this change">
        {(row) => <Detail change={row} />}
      </Answer>
    </aside>
  );
}

function Detail({ change }: { change: ChangeRow }) {
  return (
    <>
      <p class="over">
        {change.config.kind} {verbOf(change)} <Time at={change.requestedAt ?? change.verifiedAt} />
      </p>
      <h2>
        <ConfigLink cluster={change.cluster} config={change.config} />
      </h2>
      <Facts>
        <Fact name="Keys">
          <KeyList keys={change.keys} />
        </Fact>
        <Fact name="Cluster">{change.cluster}</Fact>
        <Fact name="Seen by">{change.source}</Fact>
        {change.new?.sum && change.type !== 'Deleted' && (
          <Fact name="Content">
            <span class="mono">
              {change.old?.sum?.slice(0, 8) ?? 'none'} → {change.new.sum.slice(0, 8)}
            </span>
          </Fact>
        )}
        <Fact name="ID">
          <span class="mono">{change.id}</span>
        </Fact>
      </Facts>
      <h3>Who</h3>
      <Candidates list={change.candidates ?? []} source={change.source} />
      <h3>What became of it</h3>
      <Outcomes change={change} />
      <h3>How long it took</h3>
      <Stages change={change} />
    </>
  );
}

function Candidates({ list, source }: { list: Candidate[]; source: string }) {
  if (list.length === 0) return <p class="faint">Nobody is known: the change was found by {source}, which names nobody.</p>;
  return (
    <ul class="people">
      {list.map((c) => (
        <li key={c.auditID ?? c.time}>
          <b>{personName(c.user ?? 'unknown')}</b> <span class="faint">{c.sure ? 'made this change' : 'may have made this change'}</span>
          <small class="mono">{[c.verb, c.fieldManager, c.userAgent, c.sourceIP, c.authenticatedUser && `impersonated by ${personName(c.authenticatedUser)}`].filter(Boolean).join(' · ')}</small>
        </li>
      ))}
    </ul>
  );
}

function Outcomes({ change }: { change: ChangeRow }) {
  const { pending } = change;
  if (change.reloads.length + pending.length === 0)
    return <p class="faint">No workload has asked for what changed, or a newer change of the same config superseded it: workloads roll for the newest content only.</p>;
  const pods = new Map(change.reloads.map((r) => [placeOf(r), r.pods]));
  return (
    <ul class="outcomes">
      {pending.map((p) => (
        <li key={placeOf(p)}>
          <WorkloadLink cluster={p.cluster} workload={p.workload} beside={change.cluster} />
          <Badge reason={p.hold?.reason ?? 'Waiting'} />
          {p.hold?.message && <small>{p.hold.message}</small>}
          <Pods of={pods.get(placeOf(p))} />
        </li>
      ))}
      {reloadsOf(change).map((r) => (
        <li key={`${r.cluster}/${r.id}`}>
          <WorkloadLink cluster={r.cluster} workload={r.workload} beside={change.cluster} />
          <Badge reason={stateOf(r)} />
          {(r.rollout?.message ?? r.message) && <small>{r.rollout?.message ?? r.message}</small>}
          <Pods of={r.pods} />
        </li>
      ))}
    </ul>
  );
}

// Stages shows the way of a change on one line each, counted from the request.
function Stages({ change }: { change: ChangeRow }) {
  const start = Date.parse(change.requestedAt ?? change.verifiedAt);
  const times = (of: (r: (typeof change.reloads)[number]) => string | undefined) =>
    change.reloads
      .map(of)
      .filter((at) => at !== undefined)
      .sort();
  const patched = times((r) => r.patchedAt);
  const ended = times((r) => r.rollout?.endedAt);
  const stages: [string, string | undefined][] = [
    ['requested', change.requestedAt],
    ['reported', change.receivedAt],
    ['verified', change.verifiedAt],
    ['first patched', patched[0]],
    ['last patched', patched.length > 1 ? patched[patched.length - 1] : undefined],
    ['last rolled out', ended[ended.length - 1]],
  ];
  return (
    <ol class="stages">
      {stages.map(([name, at]) =>
        at ? (
          <li key={name}>
            <span>{name}</span>
            <span class="mono">{Date.parse(at) === start ? <Time at={at} /> : `+${duration(Math.max(0, Date.parse(at) - start) / 1000)}`}</span>
          </li>
        ) : null,
      )}
    </ol>
  );
}
