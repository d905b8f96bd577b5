import { batch, signal } from '@preact/signals';
import { Book } from '../lib/book';
import { count } from '../lib/format';
import type { Change, List, Reload, TimelineRow, Workload } from '../lib/types';
import type { Fault } from '../lib/fault';
import { ask, AskError, query } from './client';
import { listen } from './live';
import { onLater } from './resource';
import { announce } from './voice';

// most bounds what a page keeps: what is older is asked for by a filter.
const most = 20_000;
const pageSize = 200;

export const book = new Book();
// edition grows with every change of the book, so that views follow it.
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
let generation = 0;

// readMore reads the next page of older rows; false if there is none.
export async function readMore(): Promise<boolean> {
  if (reading.value || complete.value || book.size >= most) return false;
  reading.value = true;
  const own = generation;
  try {
    const page = await ask<List<TimelineRow>>(`timeline${query({ limit: pageSize, continue: next })}`);
    if (own !== generation) return true;
    batch(() => {
      book.add(page.items);
      next = page.metadata.continue;
      complete.value = next === undefined;
      warnings.value = page.warnings;
      fault.value = undefined;
      edition.value++;
    });
    return true;
  } catch (error) {
    const why: Fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
    if (why.kind === 'expired') restart();
    else fault.value = why;
    return false;
  } finally {
    if (own === generation) reading.value = false;
  }
}

// restart forgets where the reading was; rows that are there stay until they are replaced.
function restart(): void {
  generation++;
  next = undefined;
  batch(() => {
    reading.value = false;
    complete.value = false;
  });
}

// refresh reads the newest page again after news may have been missed. If it reaches down to rows that are there, what is older stays
// as it is; otherwise there is a gap, and all that is older is read anew.
async function refresh(): Promise<void> {
  if (book.size === 0) {
    restart();
    await readMore();
    return;
  }
  try {
    const page = await ask<List<TimelineRow>>(`timeline${query({ limit: pageSize })}`);
    const oldest = page.items[page.items.length - 1];
    const joined = oldest === undefined || book.get(oldest.change.id) !== undefined;
    if (!joined) restart();
    batch(() => {
      book.add(page.items);
      if (!joined) {
        book.forgetBelow(page.items.length);
        next = page.metadata.continue;
        complete.value = next === undefined;
      }
      warnings.value = page.warnings;
      fault.value = undefined;
      edition.value++;
    });
  } catch (error) {
    fault.value = error instanceof AskError ? error.fault : { kind: 'unreachable' };
  }
}

export function start(): void {
  void readMore();
  onLater(() => void refresh());
  listen((event) => take(event.type, event.data));
}

// waiting are events that are shown together with the next frame.
let waiting: (() => boolean)[] = [];

function take(type: string, data: string): void {
  const apply = applier(type, data);
  if (!apply) return;
  waiting.push(apply);
  if (waiting.length === 1) setTimeout(show, 100);
}

function applier(type: string, data: string): (() => boolean) | undefined {
  switch (type) {
    case 'change': {
      const change = JSON.parse(data) as Change;
      return change.type === 'Baseline' ? undefined : () => book.change(change) && arrive(change.id);
    }
    case 'reload': {
      const reload = JSON.parse(data) as Reload;
      return () => book.reload(reload);
    }
    case 'workload': {
      const workload = JSON.parse(data) as Workload;
      return () => book.workload(workload);
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
  const news = waiting;
  waiting = [];
  const added = news.filter((apply) => apply()).length;
  batch(() => {
    edition.value++;
    fresh.value += added;
  });
  if (added > 0) announce(tell(added));
}

function tell(added: number): string {
  const row = book.rows[0];
  return row ? `${count(added, 'new change')}. Newest: ${row.change.config.kind} ${row.change.config.name} in ${row.change.config.namespace}.` : '';
}
