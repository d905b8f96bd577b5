import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { AskError, type Fault, passes, session } from './api';
import { onChanged, type Topic } from './live';

// Resource is what the server has answered. Data that is old stays for as long as the fault may pass.
export interface Resource<T> {
  data?: T;
  fault?: Fault;
}

const retryEvery = 10_000;
// restShare is how many times as long as an answer took nothing is asked: a large fleet is not asked for all the time.
const restShare = 10;

// Question asks the server for something, and asks again when one of the topics has changed.
export class Question<T> {
  readonly state: Signal<Resource<T>> = signal<Resource<T>>({});
  private readonly abort = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking = false;
  private again = false;
  // free is when it may ask again.
  private free = 0;

  // least is how many milliseconds lie at least between two questions.
  constructor(
    private readonly read: (abort: AbortSignal) => Promise<T>,
    private readonly topics: readonly Topic[],
    private readonly least = 1_000,
  ) {}

  // start asks, and goes on until the returned function is called.
  start(): () => void {
    void this.ask();
    const end = onChanged(this.topics, this.soon);
    return () => {
      end();
      this.abort.abort();
      clearTimeout(this.timer);
    };
  }

  // soon asks as soon as it may.
  readonly soon = (): void => {
    if (this.asking) this.again = true;
    else this.wait(this.free - Date.now());
  };

  private wait(ms: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), Math.max(0, ms));
  }

  private async ask(): Promise<void> {
    const { signal: abort } = this.abort;
    clearTimeout(this.timer);
    const begun = Date.now();
    this.asking = true;
    this.again = false;
    let fault: Fault | undefined;
    try {
      const data = await this.read(abort);
      if (!abort.aborted) this.state.value = { data };
    } catch (error) {
      if (abort.aborted) return;
      if (!(error instanceof AskError)) console.error(error);
      fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
      const { data } = this.state.peek();
      this.state.value = { fault, ...(data !== undefined && passes(fault) && { data }) };
    } finally {
      this.asking = false;
    }
    this.free = Date.now() + Math.max(this.least, restShare * (Date.now() - begun));
    if (fault && passes(fault)) this.wait(retryEvery);
    else if (this.again) this.soon();
  }
}

// useResource has a Question asked as long as key and the session stay the same. When version changes, it is asked again and what is there stays.
export function useResource<T>(key: string, topics: readonly Topic[], read: (abort: AbortSignal) => Promise<T>, least?: number, version?: unknown): Resource<T> {
  const who = session.value;
  const latest = useRef(read);
  latest.current = read;
  const question = useMemo(() => new Question<T>((abort) => latest.current(abort), topics, least), [key, who]);
  const first = useRef(true);
  useEffect(() => question.start(), [question]);
  useEffect(() => {
    if (!first.current) question.soon();
    first.current = false;
  }, [version]);
  return question.state.value;
}
