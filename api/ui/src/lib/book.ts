import type { Change, Reload, ReloadSummary, TimelineRow, Workload, WorkloadRef } from './types';

// early bounds the reloads that are kept for changes not heard of yet.
const early = 200;

// Book is the timeline in memory, newest first. Rows are replaced, never altered, so that what is drawn can be compared.
export class Book {
  rows: TimelineRow[] = [];
  private byID = new Map<string, TimelineRow>();
  private orphans: Reload[] = [];

  get size(): number {
    return this.rows.length;
  }

  get(id: string): TimelineRow | undefined {
    return this.byID.get(id);
  }

  // add takes rows as the server lists them. They replace those of the same change.
  add(rows: TimelineRow[]): void {
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
  }

  // forgetBelow drops all but the newest rows.
  forgetBelow(kept: number): void {
    for (const row of this.rows.slice(kept)) this.byID.delete(row.change.id);
    this.rows = this.rows.slice(0, kept);
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
    const waiting = this.orphans.filter((r) => r.causes.some((c) => c.changeID === change.id));
    waiting.forEach((r) => this.reload(r));
    return true;
  }

  // reload takes what became of changes for one workload; the same reload again replaces what was known of it.
  reload(reload: Reload): boolean {
    let placed = false;
    for (const { changeID } of reload.causes) {
      const row = this.byID.get(changeID);
      if (!row) continue;
      placed = true;
      const pending = row.pending.filter((p) => !same(p, reload));
      this.replace({ ...row, pending, reloads: merge(row.reloads, summary(reload)) });
    }
    if (!placed) this.orphans = [...this.orphans.slice(1 - early), reload];
    return false;
  }

  // workload takes which changes a workload waits for.
  workload(w: Workload): boolean {
    const waits = new Set(w.dependencies.map((d) => d.pendingChange).filter((id) => id !== undefined));
    for (const row of this.rows) {
      const listed = row.pending.some((p) => same(p, w));
      if (!listed && !waits.has(row.change.id)) continue;
      const others = row.pending.filter((p) => !same(p, w));
      const own = waits.has(row.change.id) ? [{ cluster: w.cluster, workload: w.workload, ...(w.hold && { hold: w.hold }) }] : [];
      this.replace({ ...row, pending: [...others, ...own] });
    }
    return false;
  }

  private replace(row: TimelineRow): void {
    const old = this.byID.get(row.change.id);
    this.byID.set(row.change.id, row);
    const at = old ? this.rows.indexOf(old) : -1;
    if (at >= 0) this.rows[at] = row;
  }
}

const time = (row: TimelineRow): number => Date.parse(row.change.verifiedAt);

interface Placed {
  cluster: string;
  workload: WorkloadRef;
}

const same = ({ cluster, workload: a }: Placed, other: Placed): boolean =>
  a.name === other.workload.name && a.namespace === other.workload.namespace && a.kind === other.workload.kind && cluster === other.cluster;

function merge(list: ReloadSummary[], one: ReloadSummary): ReloadSummary[] {
  const at = list.findIndex((r) => (r.id === one.id && r.cluster === one.cluster) || same(r, one));
  return at < 0 ? [...list, one] : list.map((r, i) => (i === at ? one : r));
}

function summary(r: Reload): ReloadSummary {
  const { id, cluster, workload, outcome, message, decidedAt, patchedAt, rollout, latencySeconds } = r;
  return {
    id, cluster, workload, outcome, decidedAt,
    ...(message !== undefined && { message }),
    ...(patchedAt !== undefined && { patchedAt }),
    ...(rollout !== undefined && { rollout }),
    ...(latencySeconds !== undefined && { latencySeconds }),
  };
}
