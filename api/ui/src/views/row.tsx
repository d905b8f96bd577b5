import { verbOf } from '../lib/format';
import { partsOf, shownOf, workloadsOf } from '../lib/outcome';
import { Badge } from '../parts/badge';
import { KeyList } from '../parts/keylist';
import { Kind } from '../parts/kind';
import { RowTime } from '../parts/rowtime';
import { Who } from '../parts/who';
import { showsCluster } from '../state/fleet';
import { href, route } from '../state/router';
import { arrived, store } from '../state/timeline';
import type { TimelineRow } from '../lib/timelinestore';

const named = 2;

// TimelineRowView is one change as one line: when, who, what, which workloads, and what became of it.
export function TimelineRowView({ row, open }: { row: TimelineRow; open: boolean }) {
  const { change } = row;
  const { config } = change;
  const parts = partsOf(row);
  const shown = shownOf(parts);
  const names = ['row', open && 'open', arrived.has(change.id) && 'arrived'].filter(Boolean).join(' ');
  return (
    <a class={names} href={target(change.id)} aria-current={open ? 'true' : undefined} data-row>
      <RowTime at={change.requestedAt ?? change.verifiedAt} />
      <span class="cell who">
        <Who change={change} />
      </span>
      <span class="cell what">
        <b>
          <Kind kind={config.kind} />
          <span class="ns">{config.namespace}/</span>
          {config.name}
        </b>
        <small>{change.type === 'Updated' ? <KeyList keys={change.keys} /> : verbOf(change)}</small>
      </span>
      <Workloads row={row} />
      <span class="cell outcome">
        {shown.map((p) => (
          <Badge key={p.state} reason={p.state} count={p.count} />
        ))}
        {parts.length > 1 && <small class="rest">+{parts.length - 1}</small>}
        {parts.length > shown.length && <small class="third">+{parts.length - shown.length}</small>}
        {row.reloads.length + row.pending.length === 0 && <span class="faint">{store.superseded(row) ? 'superseded by a newer change' : 'no workload asked for it'}</span>}
      </span>
    </a>
  );
}

function Workloads({ row }: { row: TimelineRow }) {
  const names = workloadsOf(row);
  const kinds = [...new Set([...row.pending, ...row.reloads].map((r) => r.workload.kind))];
  return (
    <span class="cell which">
      <b>
        {names.slice(0, named).join(', ') || '–'}
        {names.length > named && <span class="more"> and {names.length - named} more</span>}
      </b>
      <small>
        {kinds.join(', ')}
        {showsCluster(row.change.cluster) && <span class="cluster">{row.change.cluster}</span>}
      </small>
    </span>
  );
}

// target keeps the filters of the list.
const target = (id: string): string => href([], { ...Object.fromEntries(route.value.query), open: id });
