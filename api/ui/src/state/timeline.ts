import { batch, signal } from '@preact/signals';
import { rowOf, TimelineStore, type TimelineRow } from '../lib/timelinestore';
import { count } from '../lib/format';
import type { Change, ChangeRow, List, Reload, Workload } from '../lib/types';
import { Throttle } from '../lib/throttle';
import { type Fault, passes } from '../lib/fault';
import { ask, AskError, query, session } from './client';
import { link, listen } from './eventstream';
import { each, isPaused, onBack, onChange, onLater } from './resource';
import { scope } from './router';
import { announce } from './announcer';

const pageSize = 200;
const largestPage = 500;

export const store = new TimelineStore();
// edition grows with every change of the store, so that views follow it.
export const edition = signal(0);
export const reading = signal(false);
export const fault = signal<Fault | undefined>(undefined);
export const warnings = signal<string[]>([]);
export const complete = signal(false);
// arrived has the changes that came live a moment ago, so that they can be pointed out.
export const arrived = new Set<string>();
// fresh is what came live while it was not in sight.
export const fresh = signal(0);

let next: string | undefined;
// reads ends what is being read when the reading begins anew.
let reads = new AbortController();
// busy is how many answers are on their way. What comes live meanwhile may be newer than they are, and is told once more after them.
let busy = 0;
let meanwhile: News[] = [];

// News changes the store, and tells whether there is a row more.
type News = () => boolean;

async function during(read: (own: AbortSignal) => Promise<void>): Promise<void> {
  const own = reads.signal;
  busy++;
  try {
    await read(own);
  } finally {
    if (!own.aborted) busy--;
    if (meanwhile.length > 0) {
      for (const apply of meanwhile) apply();
      edition.value++;
    }
    if (busy === 0) meanwhile = [];
  }
}

async function ofTimeline(own: AbortSignal, from: string | undefined, limit = pageSize): Promise<List<TimelineRow>> {
  const page = await ask<List<ChangeRow>>(`changes${query({ namespace: scope.peek(), limit, continue: from })}`, own);
  return { ...page, items: page.items.map(rowOf) };
}

// readMore reads the next page of older rows; false if there is none.
export async function readMore(): Promise<boolean> {
  if (reading.value || complete.value || store.isFull) return false;
  reading.value = true;
  const own = reads.signal;
  try {
    await during(async () => {
      const page = await ofTimeline(own, next);
      if (!own.aborted) extend(page);
    });
    return true;
  } catch (error) {
    if (!own.aborted) fail(error);
    return false;
  } finally {
    if (!own.aborted) reading.value = false;
  }
}

function extend(page: List<TimelineRow>): void {
  batch(() => {
    store.add(page.items);
    next = page.metadata.continue;
    complete.value = next === undefined;
    warnings.value = [...new Set([...warnings.value, ...page.warnings])];
    fault.value = undefined;
    edition.value++;
  });
}

const retryEvery = 10_000;

function fail(error: unknown): void {
  const why: Fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
  if (why.kind === 'expired') return restart();
  if (why.kind === 'forbidden' || why.kind === 'unauthenticated') forget();
  fault.value = why;
  if (passes(why)) setTimeout(() => fault.peek() === why && !(isPaused() && store.size > 0) && readAll(), retryEvery);
}

// restart forgets where the reading was; rows that are there stay until they are replaced.
function restart(): void {
  reads.abort();
  reads = new AbortController();
  busy = 0;
  next = undefined;
  batch(() => {
    reading.value = false;
    complete.value = false;
  });
}

// forget drops everything: who looks may not see it, or looks elsewhere.
function forget(): void {
  restart();
  waiting = [];
  meanwhile = [];
  batch(() => {
    store.clear();
    fault.value = undefined;
    warnings.value = [];
    fresh.value = 0;
    edition.value++;
  });
}

// refresh reads again what is there, after news may have been missed: what the server no longer lists goes. Where that would be too
// often, what is below the newest page stays, if that reaches down to it.
async function refresh(): Promise<void> {
  const polled = !everything || link.peek() === 'polling';
  everything = false;
  const own = reads.signal;
  const limit = polled ? pageSize : Math.min(largestPage, Math.max(pageSize, store.size));
  try {
    await during(async () => {
      const rows: TimelineRow[] = [];
      const told = new Set<string>();
      let from: string | undefined;
      do {
        const page = await ofTimeline(own, from, limit);
        rows.push(...page.items);
        page.warnings.forEach((w) => told.add(w));
        from = page.metadata.continue;
      } while (from && !polled && !own.aborted && rows.length < store.size);
      if (!own.aborted) renew(rows, from, [...told], polled);
    });
  } catch (error) {
    if (!own.aborted) fail(error);
  }
}

function renew(rows: TimelineRow[], from: string | undefined, told: string[], polled: boolean): void {
  const oldest = rows[rows.length - 1];
  const joined = polled && oldest !== undefined && store.get(oldest.change.id) !== undefined;
  const newest = store.rows[0]?.change.verifiedAt;
  const added = rows.filter(({ change }) => newest !== undefined && Date.parse(change.verifiedAt) > Date.parse(newest) && !store.get(change.id));
  added.forEach(({ change }) => arrive(change.id));
  batch(() => {
    store.renew(rows, joined);
    if (!joined) {
      restart();
      next = from;
      complete.value = from === undefined;
    }
    warnings.value = told;
    fault.value = undefined;
    edition.value++;
    fresh.value += added.length;
  });
  if (added.length > 0) announce(tell(added.length));
}

const throttle = new Throttle(refresh);
// everything is whether more than the newest page is to be read again.
let everything = false;

function readAll(): void {
  everything = true;
  throttle.soon();
}

// readNewest has the newest page read again while one namespace is shown alone: the stream then tells nothing of workloads of other
// namespaces, which may have been rolled for a config of this one.
function readNewest(): void {
  if (scope.peek() && !isPaused() && (!fault.peek() || passes(fault.peek()!))) throttle.soon();
}

const scopedEvery = 30_000;
const scopedAfter = 5_000;

let later: ReturnType<typeof setTimeout> | undefined;

function readNewestLater(): void {
  later ??= setTimeout(() => {
    later = undefined;
    readNewest();
  }, scopedAfter);
}

export function start(): void {
  void readMore();
  onLater(readAll);
  onBack(() => fault.peek() && passes(fault.peek()!) && readAll());
  each(scopedEvery, readNewest);
  onChange(
    () => [session.value, scope.value],
    () => {
      forget();
      void readMore();
    },
  );
  listen((event) => take(event.type, event.data));
}

// waiting are events that are shown together with the next frame.
let waiting: News[] = [];

function take(type: string, data: string): void {
  const apply = applier(type, data);
  if (!apply) return;
  waiting.push(apply);
  if (waiting.length === 1) setTimeout(show, 100);
}

function applier(type: string, data: string): News | undefined {
  switch (type) {
    case 'change': {
      const change = JSON.parse(data) as Change;
      return change.type === 'Baseline' ? undefined : () => store.change(change) && arrive(change.id);
    }
    case 'reload': {
      const reload = JSON.parse(data) as Reload;
      return () => store.reload(reload);
    }
    case 'workload': {
      const workload = JSON.parse(data) as Workload;
      return () => store.workload(workload);
    }
  }
  return undefined;
}

const arrivalTime = 2_000;

function arrive(id: string): boolean {
  arrived.add(id);
  setTimeout(() => arrived.delete(id), arrivalTime);
  return true;
}

function show(): void {
  if (waiting.length === 0) return;
  const news = waiting;
  waiting = [];
  if (busy > 0) meanwhile.push(...news);
  const added = news.filter((apply) => apply()).length;
  if (added > 0) readNewestLater();
  batch(() => {
    if (store.isFull) complete.value = false; // the oldest may have gone
    edition.value++;
    fresh.value += added;
  });
  if (added > 0) announce(tell(added));
}

function tell(added: number): string {
  const row = store.rows[0];
  return row ? `${count(added, 'new change')}. Newest: ${row.change.config.kind} ${row.change.config.name} in ${row.change.config.namespace}.` : '';
}
