import { effect, signal, untracked } from '@preact/signals';
import { AskError, query, request, session } from './api';
import { scope } from './router';

// Topic is a listing that the server says has changed.
export type Topic = 'changes' | 'reloads' | 'workloads' | 'clusters';

// link is whether the page hears of news: shut is a stream that this user may not have, so that the page asks by the clock alone.
export const link = signal<'connecting' | 'live' | 'lost' | 'shut'>('connecting');
// lostSince is when the server was last heard, while it is not.
export const lostSince = signal(0);

const listeners = new Map<() => void, readonly Topic[]>();

// onChanged calls back when one of the listings may have changed, until the returned function is called: on a nudge of the server, now and then
// without one, and when the page comes in sight again. Nobody is called while it is not.
export function onChanged(topics: readonly Topic[], callback: () => void): () => void {
  listeners.set(callback, topics);
  return () => listeners.delete(callback);
}

const unseen = new Set<Topic>();

function tell(topics: readonly Topic[]): void {
  if (document.hidden) {
    topics.forEach((t) => unseen.add(t));
    return;
  }
  for (const [callback, of] of [...listeners]) if (topics.some((t) => of.includes(t))) callback();
}

const all: Topic[] = ['changes', 'reloads', 'workloads', 'clusters'];
const silence = 45_000; // four heartbeats
const every = 30_000;
const waits = [500, 1_000, 2_000, 4_000, 8_000];

export function start(): void {
  setInterval(() => tell(all), every);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden || unseen.size === 0) return;
    const missed = [...unseen];
    unseen.clear();
    tell(missed);
  });
  let stop = new AbortController();
  effect(() => {
    void session.value;
    const namespace = scope.value;
    untracked(() => {
      stop.abort();
      stop = new AbortController();
      void run(namespace, stop.signal);
    });
  });
}

// run follows the stream, and opens it again when it ends, until it is aborted or may not be had.
async function run(namespace: string, abort: AbortSignal): Promise<void> {
  link.value = 'connecting';
  for (let failures = 0; !abort.aborted; failures++) {
    try {
      await follow(namespace, abort, () => (failures = 0));
    } catch (error) {
      if (abort.aborted) return;
      const kind = error instanceof AskError ? error.fault.kind : 'unreachable';
      if (kind !== 'unreachable' && kind !== 'refused') {
        link.value = 'shut';
        return;
      }
      if (link.value !== 'lost') lostSince.value = Date.now();
      link.value = 'lost';
    }
    await new Promise((done) => setTimeout(done, waits[Math.min(failures, waits.length - 1)]! * (0.75 + Math.random() / 2)));
  }
}

// follow reads the stream until it ends, which the server has happen on purpose now and then, or breaks, or falls silent. Its first event is of everything.
async function follow(namespace: string, abort: AbortSignal, begun: () => void): Promise<void> {
  const quiet = new AbortController();
  let timer = setTimeout(() => quiet.abort(), silence);
  try {
    const answer = await request(`events${query({ namespace })}`, { signal: AbortSignal.any([abort, quiet.signal]) });
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      begun();
      link.value = 'live';
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), silence);
      const lines = (rest + value).split('\n');
      rest = lines.pop()!;
      for (const line of lines) if (line.startsWith('data: ')) tell((JSON.parse(line.slice(6)) as { changed: Topic[] }).changed);
    }
  } finally {
    clearTimeout(timer);
  }
}
