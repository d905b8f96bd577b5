import { useEffect, useRef } from 'preact/hooks';
import { duration, personName, refText, segments, verbOf } from '../lib/format';
import { reloadsOf, stateOf, wordsOf } from '../lib/outcome';
import type { Candidate, Change, ChangeRow, PendingReload, Reload } from '../lib/types';
import { Badge } from '../parts/badge';
import { ConfigLink } from '../parts/configlink';
import { Fact, Facts } from '../parts/facts';
import { KeyList } from '../parts/keylist';
import { Time } from '../parts/time';
import { WorkloadLink } from '../parts/workloadlink';
import { Icon } from '../parts/glyph';
import { Answer } from '../parts/states';
import { ask } from '../state/client';
import { useResource } from '../state/resource';
import { store, edition } from '../state/timeline';
import { rowOf, type TimelineRow } from '../lib/timelinestore';

// ChangePanel tells all about one change beside the list; its address can be sent to others.
export function ChangePanel({ id, close }: { id: string; close: () => void }) {
  void edition.value;
  const row = store.get(id);
  const panel = useRef<HTMLElement>(null);
  useEffect(() => panel.current?.focus({ preventScroll: true }), [id]);
  return (
    <aside class="panel" aria-label="Change" tabIndex={-1} ref={panel}>
      <button class="plain close" aria-label="Close" onClick={close}>
        <Icon name="close" />
      </button>
      {row ? <Detail row={row} /> : <Fetched id={id} />}
    </aside>
  );
}

// Fetched is a change that the list does not hold, because it is older.
function Fetched({ id }: { id: string }) {
  const found = useResource(`change ${id}`, async (abort): Promise<TimelineRow> => rowOf(await ask<ChangeRow>(`changes/${segments(id)}`, abort)));
  return (
    <Answer of={found} what="this change">
      {(row) => <Detail row={row} />}
    </Answer>
  );
}

function Detail({ row: { change, reloads, pending } }: { row: TimelineRow }) {
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
      <Outcomes change={change} reloads={reloads} pending={pending} />
      <h3>How long it took</h3>
      <Stages change={change} reloads={reloads} />
    </>
  );
}

const bases: Record<string, string> = {
  OnlyWriter: 'the only one who wrote it since it was last looked at',
  FieldManager: 'of several writers the one whose field manager last wrote the data',
  Ambiguous: 'one of several; nothing tells them apart',
};

function Candidates({ list, source }: { list: Candidate[]; source: string }) {
  if (list.length === 0) return <p class="faint">Nobody is known: the change was found by {source}, which names nobody.</p>;
  return (
    <ul class="people">
      {list.map((c) => (
        <li key={c.auditID ?? c.time}>
          <b>{personName(c.user ?? 'unknown')}</b> <span class="faint">{bases[c.basis] ?? wordsOf(c.basis).toLowerCase()}</span>
          <small class="mono">{[c.verb, c.fieldManager, c.userAgent, c.sourceIP, c.authenticatedUser && `impersonated by ${personName(c.authenticatedUser)}`].filter(Boolean).join(' · ')}</small>
        </li>
      ))}
    </ul>
  );
}

function Outcomes({ change, reloads, pending }: { change: Change; reloads: Reload[]; pending: PendingReload[] }) {
  if (reloads.length + pending.length === 0) {
    return (
      <p class="faint">
        {store.superseded({ change, reloads, pending }) ? 'A newer change of the same config superseded it. Workloads roll for the newest content only.' : 'No workload has asked for what changed.'}
      </p>
    );
  }
  return (
    <ul class="outcomes">
      {pending.map((p) => (
        <li key={`${p.cluster}/${refText(p.workload)}`}>
          <WorkloadLink cluster={p.cluster} workload={p.workload} beside={change.cluster} />
          <Badge reason={p.hold?.reason ?? 'Waiting'} />
          {p.hold?.message && <small>{p.hold.message}</small>}
        </li>
      ))}
      {reloadsOf({ reloads, pending }).map((r) => (
        <li key={`${r.cluster}/${r.id}`}>
          <WorkloadLink cluster={r.cluster} workload={r.workload} beside={change.cluster} />
          <Badge reason={stateOf(r)} />
          {(r.rollout?.message ?? r.message) && <small>{r.rollout?.message ?? r.message}</small>}
        </li>
      ))}
    </ul>
  );
}

// Stages shows the way of a change on one line each, counted from the request.
function Stages({ change, reloads }: { change: Change; reloads: Reload[] }) {
  const start = Date.parse(change.requestedAt ?? change.verifiedAt);
  const patched = reloads
    .map((r) => r.patchedAt)
    .filter((at) => at !== undefined)
    .sort();
  const ended = reloads
    .map((r) => r.rollout?.endedAt)
    .filter((at) => at !== undefined)
    .sort();
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
