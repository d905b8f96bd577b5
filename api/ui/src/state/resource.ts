import { effect, untracked } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Calm } from '../lib/calm';
import { type Fault, passes } from '../lib/fault';
import { AskError, type Session, session } from './client';
import { done } from './giving';
import { away, epoch, link, listen } from './live';

export interface Resource<T> {
  data?: T;
  fault?: Fault;
  loading: boolean;
}

const retryEvery = 10_000;

interface Timing {
  // events are the types of live events that concern what is shown.
  events?: readonly string[];
  // every is after how many milliseconds it may be out of date without any event. Nobody is asked while the page is paused or not in sight.
  every?: number;
}

// useResource asks for something, and asks again when key changes or when what it shows may be out of date. What is there stays on
// the page meanwhile, unless somebody else looks.
export function useResource<T>(key: string, read: (abort: AbortSignal) => Promise<T>, { events = [], every }: Timing = {}): Resource<T> {
  const who = session.value;
  const [state, setState] = useState<Resource<T> & { key: string; who: Session }>({ key, who, loading: true });
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const abort = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    // last is why there was no answer to the last question, and has that there was one before.
    let last: Fault | undefined;
    let has = false;
    const calm = new Calm(async () => {
      clearTimeout(retry);
      try {
        const data = await latest.current(abort.signal);
        if (abort.signal.aborted) return;
        last = undefined;
        has = true;
        setState({ key, who, data, loading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const fault: Fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
        last = fault;
        if (passes(fault)) retry = setTimeout(() => (!has || !isPaused()) && calm.soon(), retryEvery);
        // Old data is better than none for a while; the page says that it is old.
        setState((old) => ({ key, who, fault, loading: false, ...(old.key === key && old.who === who && old.data !== undefined && passes(fault) && { data: old.data }) }));
      }
    });
    void calm.now();
    const ends = [
      onLater(calm.soon),
      onBack(() => last && passes(last) && calm.soon()),
      onChange(() => done.value, () => done.peek() && calm.soon()),
      listen((e) => events.includes(e.type) && calm.soon()),
      each(every, () => (!last || passes(last)) && calm.soon()),
    ];
    return () => {
      abort.abort();
      calm.end();
      clearTimeout(retry);
      ends.forEach((end) => end());
    };
  }, [key, who]);
  return state.key === key && state.who === who ? state : { loading: true };
}

// onLater calls back when all that is shown may be out of date, but not at once.
export const onLater = (callback: () => void): (() => void) => onChange(() => epoch.value, callback);

// onBack calls back when the server is heard again after it was not.
export const onBack = (callback: () => void): (() => void) => onChange(() => away.value, () => !away.peek() && callback());

export const isPaused = (): boolean => link.peek() === 'paused';

// each calls back every so many milliseconds, if any, while the page is in sight and not paused.
export function each(ms: number | undefined, callback: () => void): () => void {
  const timer = ms && setInterval(() => !document.hidden && !isPaused() && callback(), ms);
  return () => clearInterval(timer);
}

// onChange calls back when what values reads has changed.
export function onChange(values: () => unknown, callback: () => void): () => void {
  let first = true;
  return effect(() => {
    values();
    if (!first) untracked(callback);
    first = false;
  });
}
