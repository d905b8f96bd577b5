import { effect, type Signal, signal, untracked } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { Throttle } from '../lib/throttle';
import { type Fault, passes } from '../lib/fault';
import type { ServerEvent } from '../lib/sse';
import { AskError, session } from './client';
import { away, epoch, link, listen } from './eventstream';

export interface Resource<T> {
  data?: T;
  fault?: Fault;
  loading: boolean;
}

const retryEvery = 10_000;
// mergeEvery is how long events are gathered that are merged together, and mostHeld how many are kept while an answer is on its way.
const mergeEvery = 100;
const mostHeld = 2_000;

export interface Timing<T> {
  // events are the types of live events that concern what is shown, and concerns tells those of them that do.
  events?: readonly string[];
  concerns?: (event: ServerEvent) => boolean;
  // merge returns the data with an event in it, or nothing if the server has to be asked again. Without it, every event has it asked.
  merge?: (data: T, event: ServerEvent) => T | undefined;
  // least is how many milliseconds lie between an event and the question that it leads to.
  least?: number;
  // every is after how many milliseconds it may be out of date without any event. Nobody is asked while the page is paused or not in sight.
  every?: number;
}

// Question asks the server for something, and asks again, or merges what events tell, when that may be out of date. What is there stays
// meanwhile.
export class Question<T> {
  readonly state: Signal<Resource<T>> = signal<Resource<T>>({ loading: true });
  private abort = new AbortController();
  private retry: ReturnType<typeof setTimeout> | undefined;
  private merging: ReturnType<typeof setTimeout> | undefined;
  // last is why there was no answer to the last question.
  private last: Fault | undefined;
  private reading = false;
  // news are events to be merged; held are those that came while an answer was on its way, which may be older.
  private news: ServerEvent[] = [];
  private held: ServerEvent[] = [];
  private readonly throttle: Throttle;

  constructor(
    private readonly read: (abort: AbortSignal) => Promise<T>,
    private readonly timing: Timing<T> = {},
  ) {
    this.throttle = new Throttle(() => this.ask(), timing.least);
  }

  // start asks, and goes on until the returned function is called.
  start(): () => void {
    const { every } = this.timing;
    void this.throttle.now();
    const ends = [
      onLater(this.throttle.soon),
      onBack(() => this.last && passes(this.last) && this.throttle.soon()),
      listen((e) => this.hear(e)),
      each(every, () => (!this.last || passes(this.last)) && this.throttle.soon()),
    ];
    return () => {
      this.abort.abort();
      this.throttle.end();
      clearTimeout(this.retry);
      clearTimeout(this.merging);
      ends.forEach((end) => end());
    };
  }

  private async ask(): Promise<void> {
    const { signal: abort } = this.abort;
    clearTimeout(this.retry);
    this.reading = true;
    this.held = [];
    try {
      const data = await this.read(abort);
      if (abort.aborted) return;
      this.last = undefined;
      this.news = [];
      this.take(data, this.held);
    } catch (error) {
      if (abort.aborted) return;
      const fault: Fault = error instanceof AskError ? error.fault : { kind: 'unreachable' };
      this.last = fault;
      const { data } = this.state.peek();
      if (passes(fault)) this.retry = setTimeout(() => (data === undefined || !isPaused()) && this.throttle.soon(), retryEvery);
      // Old data is better than none for a while; the page says that it is old.
      this.state.value = { fault, loading: false, ...(data !== undefined && passes(fault) && { data }) };
    } finally {
      this.reading = false;
    }
  }

  private hear(event: ServerEvent): void {
    const { events = [], concerns, merge } = this.timing;
    if (!events.includes(event.type) || (concerns && !concerns(event))) return;
    if (!merge) return this.throttle.soon();
    if (this.reading) {
      if (this.held.length < mostHeld) this.held.push(event);
      else this.throttle.soon();
    }
    this.news.push(event);
    this.merging ??= setTimeout(() => this.mergeNews(), mergeEvery);
  }

  private mergeNews(): void {
    this.merging = undefined;
    const { news } = this;
    this.news = [];
    const { data, fault } = this.state.peek();
    if (news.length === 0) return;
    if (data === undefined) return void (this.reading || this.throttle.soon());
    this.take(data, news, fault);
  }

  // take shows data with events in it, or without them if the server has to be asked for what they tell.
  private take(data: T, events: ServerEvent[], fault?: Fault): void {
    let merged: T | undefined = data;
    for (const event of events) {
      const more: T | undefined = this.timing.merge!(merged, event);
      if (more === undefined) this.throttle.soon();
      else merged = more;
    }
    this.state.value = { data: merged, loading: false, ...(fault && { fault }) };
  }
}

// useResource has a Question asked as long as key and the session stay the same.
export function useResource<T>(key: string, read: (abort: AbortSignal) => Promise<T>, timing: Timing<T> = {}): Resource<T> {
  const who = session.value;
  const latest = useRef(read);
  latest.current = read;
  const question = useMemo(() => new Question<T>((abort) => latest.current(abort), timing), [key, who]);
  useEffect(() => question.start(), [question]);
  return question.state.value;
}

// onLater calls back when all that is shown may be out of date, but not at once.
export const onLater = (callback: () => void): (() => void) => onChange(() => epoch.value, callback);

// onBack calls back when the server is heard again after it was not.
export const onBack = (callback: () => void): (() => void) =>
  onChange(
    () => away.value,
    () => !away.peek() && callback(),
  );

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
