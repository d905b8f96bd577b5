import { effect, untracked } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Fault } from '../lib/fault';
import { AskError, token } from './client';
import { epoch, listen } from './live';

export interface Resource<T> {
  data?: T;
  fault?: Fault;
  loading: boolean;
}

const calm = 400;

// useResource asks for something, and asks again when key changes or when what it shows may be out of date. What is there stays on
// the page meanwhile. events are the types of live events that concern it.
export function useResource<T>(key: string, read: (abort: AbortSignal) => Promise<T>, events: readonly string[] = []): Resource<T> {
  const [state, setState] = useState<Resource<T> & { key: string }>({ key, loading: true });
  const latest = useRef(read);
  latest.current = read;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const load = async () => {
      timer = undefined;
      try {
        const data = await latest.current(abort.signal);
        if (!abort.signal.aborted) setState({ key, data, loading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const fault: Fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
        // Old data is better than none while the server is away; the page says that it is.
        setState((old) => ({ key, fault, loading: false, ...(old.key === key && old.data !== undefined && fault.kind === 'unreachable' ? { data: old.data } : {}) }));
      }
    };
    const soon = () => {
      timer ??= setTimeout(() => void load(), calm);
    };
    void load();
    const ends = [onLater(soon), listen((e) => events.includes(e.type) && soon())];
    return () => {
      abort.abort();
      clearTimeout(timer);
      ends.forEach((end) => end());
    };
  }, [key]);
  return state.key === key ? state : { loading: true };
}

// onLater calls back when all that is shown may be out of date, or when somebody else looks, but not at once.
export function onLater(callback: () => void): () => void {
  let first = true;
  return effect(() => {
    void epoch.value;
    void token.value;
    if (!first) untracked(callback);
    first = false;
  });
}
