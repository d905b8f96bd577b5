import { effect, untracked } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Calm } from '../lib/calm';
import { type Fault, passes } from '../lib/fault';
import { AskError, token } from './client';
import { epoch, listen } from './live';

export interface Resource<T> {
  data?: T;
  fault?: Fault;
  loading: boolean;
}

const retryEvery = 10_000;

interface Timing {
  // events are the types of live events that concern what is shown.
  events?: readonly string[];
  // every is after how many milliseconds it may be out of date without any event.
  every?: number;
}

// useResource asks for something, and asks again when key changes or when what it shows may be out of date. What is there stays on
// the page meanwhile, unless somebody else looks.
export function useResource<T>(key: string, read: (abort: AbortSignal) => Promise<T>, { events = [], every }: Timing = {}): Resource<T> {
  const who = token.value;
  const [state, setState] = useState<Resource<T> & { key: string; who: string }>({ key, who, loading: true });
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const abort = new AbortController();
    let retry: ReturnType<typeof setTimeout> | undefined;
    const calm = new Calm(async () => {
      clearTimeout(retry);
      try {
        const data = await latest.current(abort.signal);
        if (!abort.signal.aborted) setState({ key, who, data, loading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const fault: Fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
        if (passes(fault)) retry = setTimeout(calm.soon, retryEvery);
        // Old data is better than none for a while; the page says that it is old.
        setState((old) => ({ key, who, fault, loading: false, ...(old.key === key && old.who === who && old.data !== undefined && passes(fault) && { data: old.data }) }));
      }
    });
    void calm.now();
    const ends = [onLater(calm.soon), listen((e) => events.includes(e.type) && calm.soon())];
    const timer = every && setInterval(calm.soon, every);
    return () => {
      abort.abort();
      calm.end();
      clearTimeout(retry);
      clearInterval(timer);
      ends.forEach((end) => end());
    };
  }, [key, who]);
  return state.key === key && state.who === who ? state : { loading: true };
}

// onLater calls back when all that is shown may be out of date, but not at once.
export const onLater = (callback: () => void): (() => void) => onChange(() => epoch.value, callback);

// onChange calls back when what values reads has changed.
export function onChange(values: () => unknown, callback: () => void): () => void {
  let first = true;
  return effect(() => {
    values();
    if (!first) untracked(callback);
    first = false;
  });
}
