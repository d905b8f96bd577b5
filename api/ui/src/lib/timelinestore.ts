import type { Change, ChangeRow, PendingReload, Reload, Workload, WorkloadRef } from './types';

// TimelineRow is a change and what came of it.
export interface TimelineRow {
  change: Change;
  reloads: Reload[];
  pending: PendingReload[];
}

// rowOf takes apart what the server lists.
export const rowOf = ({ reloads, pending, ...change }: ChangeRow): TimelineRow => ({ change, reloads, pending });

// mostEarly bounds what is kept for changes not heard of yet.
const mostEarly = 200;
// mostRows bounds what a page keeps: what is older is asked for by a filter.
const mostRows = 20_000;

// TimelineStore is the timeline in memory, newest first. Rows are replaced, never altered, so that what is drawn can be compared.
export class TimelineStore {
  rows: TimelineRow[] = [];
  private byID = new Map<string, TimelineRow>();
  // early is what was told of changes that have not been heard of yet, in the order in which it came.
  private early: (Reload | Workload)[] = [];
  // top has what the server listed when it was last asked from the newest row on, in its own order: that in which it heard of changes.
  private top: string[] = [];

  constructor(readonly most = mostRows) {}

  // isFull tells whether there is no room for older rows.
  get isFull(): boolean {
    return this.size >= this.most;
  }

  get size(): number {
    return this.rows.length;
  }

  get(id: string): TimelineRow | undefined {
    return this.byID.get(id);
  }

  // superseded tells whether no workload is known to have rolled or to wait for a change because a newer one of the same config took its
  // place: workloads wait for the newest alone.
  superseded({ change, reloads, pending }: TimelineRow): boolean {
    if (reloads.length + pending.length > 0) return false;
    const at = this.rows.findIndex((row) => row.change.id === change.id);
    return this.rows.slice(0, Math.max(0, at)).some((row) => row.reloads.length + row.pending.length > 0 && sameConfig(row.change, change));
  }

  // add takes rows as the server lists them. They replace those of the same change.
  add(rows: TimelineRow[]): void {
    if (this.size === 0) this.top = idsOf(rows);
    let unsorted = false;
    for (const row of rows) {
      if (this.byID.has(row.change.id)) {
        this.replace(row);
        continue;
      }
      const last = this.rows[this.rows.length - 1];
      unsorted ||= last !== undefined && time(last) < time(row);
      this.byID.set(row.change.id, row);
      this.rows.push(row);
    }
    this.rows = unsorted ? [...this.rows].sort((a, b) => time(b) - time(a)) : [...this.rows];
    this.cut();
  }

  // renew takes rows as the server lists them now, from the newest on. What it no longer lists is dropped. If their oldest was there
  // before and below says so, that is what it listed above a row that it still lists.
  renew(rows: TimelineRow[], below = false): void {
    const listed = new Set(idsOf(rows));
    const joined = below && rows.length > 0 && this.byID.has(rows[rows.length - 1]!.change.id);
    const gone = new Set(this.top.slice(0, this.top.findLastIndex((id) => listed.has(id)) + 1));
    const kept = joined ? this.rows.filter(({ change: { id } }) => !listed.has(id) && !gone.has(id)) : [];
    this.rows = [];
    this.byID.clear();
    this.add([...rows, ...kept]);
    this.top = idsOf(rows);
  }

  // cut drops the oldest rows that there is no room for.
  private cut(): void {
    for (const row of this.rows.splice(this.most)) this.byID.delete(row.change.id);
  }

  // clear forgets everything.
  clear(): void {
    this.early = [];
    this.renew([]);
  }

  // change takes a change that has just happened, and tells whether it was new.
  change(change: Change): boolean {
    const known = this.byID.get(change.id);
    if (known) {
      this.replace({ ...known, change });
      return false;
    }
    const row: TimelineRow = { change, reloads: [], pending: [] };
    this.byID.set(change.id, row);
    const at = this.rows.findIndex((other) => time(other) <= time(row));
    this.rows = at < 0 ? [...this.rows, row] : [...this.rows.slice(0, at), row, ...this.rows.slice(at)];
    this.cut();
    for (const told of this.early) this.tell(row.change.id, told);
    this.early = this.early.filter((told) => this.isEarly(told));
    return this.byID.has(change.id);
  }

  // reload takes what became of changes for one workload; the same reload again replaces what was known of it.
  reload(reload: Reload): boolean {
    for (const { changeID } of reload.causes ?? []) this.tell(changeID, reload);
    this.keep(reload, (told) => 'outcome' in told && told.id === reload.id && told.cluster === reload.cluster);
    return false;
  }

  // workload takes which changes a workload waits for.
  workload(w: Workload): boolean {
    const waits = new Set(changesOf(w));
    for (const row of this.rows) if (row.pending.length > 0 || waits.has(row.change.id)) this.tell(row.change.id, w);
    this.keep(w, (told) => !('outcome' in told) && same(told, w));
    return false;
  }

  // tell adds to the row of a change, if there is one, what is told of it.
  private tell(change: string, told: Reload | Workload): void {
    const row = this.byID.get(change);
    if (!row) return;
    const others = row.pending.filter((p) => !same(p, told));
    if ('outcome' in told) {
      if (changesOf(told).includes(change)) this.replace({ ...row, pending: others, reloads: merge(row.reloads, summary(told)) });
      return;
    }
    const waits = changesOf(told).includes(change);
    if (!waits && others.length === row.pending.length) return;
    const own = { cluster: told.cluster, workload: told.workload, ...(told.hold && { hold: told.hold }) };
    this.replace({ ...row, pending: waits ? [...others, own] : others });
  }

  // keep holds on to what is told of a change that is not known yet, in place of what it supersedes.
  private keep(told: Reload | Workload, supersedes: (old: Reload | Workload) => boolean): void {
    this.early = this.early.filter((old) => !supersedes(old));
    if (this.isEarly(told)) this.early = [...this.early.slice(1 - mostEarly), told];
  }

  private isEarly(told: Reload | Workload): boolean {
    return changesOf(told).some((id) => !this.byID.has(id));
  }

  private replace(row: TimelineRow): void {
    const old = this.byID.get(row.change.id);
    this.byID.set(row.change.id, row);
    const at = old ? this.rows.indexOf(old) : -1;
    if (at >= 0) this.rows[at] = row;
  }
}

const sameConfig = (a: Change, b: Change): boolean => a.cluster === b.cluster && a.config.kind === b.config.kind && a.config.namespace === b.config.namespace && a.config.name === b.config.name;

const idsOf = (rows: TimelineRow[]): string[] => rows.map((row) => row.change.id);

const time = (row: TimelineRow): number => Date.parse(row.change.verifiedAt);

// changesOf are the changes that are behind a reload, or that a workload waits for.
const changesOf = (told: Reload | Workload): string[] =>
  'outcome' in told ? (told.causes ?? []).map((c) => c.changeID) : (told.dependencies ?? []).map((d) => d.pendingChange).filter((id) => id !== undefined);

interface Placed {
  cluster: string;
  workload: WorkloadRef;
}

const same = ({ cluster, workload: a }: Placed, other: Placed): boolean =>
  a.name === other.workload.name && a.namespace === other.workload.namespace && a.kind === other.workload.kind && cluster === other.cluster;

function merge(list: Reload[], one: Reload): Reload[] {
  const at = list.findIndex((r) => (r.id === one.id && r.cluster === one.cluster) || same(r, one));
  return at < 0 ? [...list, one] : list.map((r, i) => (i === at ? one : r));
}

function summary(r: Reload): Reload {
  const { causes: _, ...rest } = r;
  return rest;
}
