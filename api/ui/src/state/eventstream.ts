import { computed, effect, signal, untracked } from '@preact/signals';
import { pause } from '../lib/pause';
import { Parser, type ServerEvent } from '../lib/sse';
import { AskError, hangUp, longest, query, request, session } from './client';
import { scope } from './router';

// Link is how the page hears of news: by the stream, by asking again and again where there is none, or not at all.
export type Link = 'connecting' | 'live' | 'polling' | 'lost' | 'paused' | 'shut';

export const link = signal<Link>('connecting');
// away tells whether nothing is heard of the server, and nothing is about to be.
export const away = computed(() => link.value === 'lost' || link.value === 'paused' || link.value === 'shut');
// lostSince is when the server was last heard, while it is not.
export const lostSince = signal(0);
// epoch grows whenever all that is shown may be out of date.
export const epoch = signal(0);

type Listener = (event: ServerEvent) => void;
const listeners = new Set<Listener>();

// listen calls back for every event of the stream until the returned function is called.
export function listen(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const silence = 45_000; // three heartbeats
const shortest = 500; // a stream that ends sooner is not opened again at once
const pollEvery = 5_000;
const waits = [500, 1_000, 2_000, 4_000, 8_000];

let lastID = '';
let failures = 0;
let stop: AbortController | undefined;

// setPaused lets go of the stream, or takes it up again where it was left.
export function setPaused(paused: boolean): void {
  stop?.abort();
  stop = undefined;
  if (paused) link.value = 'paused';
  else void run();
}

export function start(): void {
  let first = true;
  effect(() => {
    void session.value;
    void scope.value;
    if (first || link.peek() !== 'paused') untracked(() => setPaused(false));
    first = false;
  });
}

async function run(): Promise<void> {
  const own = new AbortController();
  stop = own;
  if (link.value !== 'lost') link.value = 'connecting';
  while (!own.signal.aborted) {
    const begun = Date.now();
    try {
      await follow(own.signal);
      // The server ends a stream on purpose, such as to authenticate the reader again. That is no outage.
      if (Date.now() - begun >= shortest) continue;
      lose();
    } catch (error) {
      if (own.signal.aborted) return;
      if (!(await endures(error, own.signal))) return;
    }
    await pause(waits[Math.min(failures++, waits.length - 1)]! * (0.75 + Math.random() / 2), own.signal).catch(() => undefined);
  }
}

// endures deals with a stream that could not be had, and tells whether to try it again.
async function endures(error: unknown, abort: AbortSignal): Promise<boolean> {
  const kind = error instanceof AskError ? error.fault.kind : 'unreachable';
  if (kind === 'unauthenticated' || kind === 'forbidden') {
    link.value = 'shut';
    return false;
  }
  if (kind === 'unknown') {
    await poll(abort).catch(() => undefined);
    return !abort.aborted;
  }
  lose();
  return true;
}

function lose(): void {
  if (link.value !== 'lost') lostSince.value = Date.now();
  link.value = 'lost';
}

// poll stands in for a stream that this server does not have.
async function poll(abort: AbortSignal): Promise<void> {
  for (;;) {
    await request('self', { signal: AbortSignal.any([abort, AbortSignal.timeout(longest)]) });
    found('polling');
    await pause(pollEvery, abort);
    epoch.value++;
  }
}

function found(as: Link): void {
  const wasLost = link.value === 'lost';
  failures = 0;
  link.value = as;
  if (wasLost) hangUp();
  // A stream goes on where it ended, or tells that it cannot.
  if (wasLost && as === 'polling') epoch.value++;
}

// follow reads the stream until it ends, breaks, or falls silent.
async function follow(abort: AbortSignal): Promise<void> {
  const quiet = new AbortController();
  const either = AbortSignal.any([abort, quiet.signal]);
  let timer = setTimeout(() => quiet.abort(), silence);
  const answer = await request(`events${query({ namespace: scope.peek() })}`, { signal: either, headers: { Accept: 'text/event-stream', ...(lastID && { 'Last-Event-ID': lastID }) } });
  if (!answer.body) throw new AskError({ kind: 'unreachable' });
  found('live');
  const parser = new Parser();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silence);
      for (const event of parser.push(value)) deliver(event);
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => undefined);
  }
}

function deliver(event: ServerEvent): void {
  // What happened between the first answers and the beginning of the stream was told by neither.
  const begun = event.type === 'hello' && lastID === '';
  if (event.id) lastID = event.id;
  if (begun || event.type === 'resync') epoch.value++;
  for (const listener of listeners) listener(event);
}
