import { type Signal, signal } from '@preact/signals';
import type { Verb } from '../lib/orders';
import type { Self } from '../lib/types';
import { ask, query, token } from './client';
import { epoch } from './live';
import { onChange } from './resource';

// known is what who looks may do, by namespace. What lies in no namespace, or in all, is under the empty name.
const known = new Map<string, Signal<ReadonlySet<string>>>();
const nothing: ReadonlySet<string> = new Set();
let line: Promise<unknown> = Promise.resolve();

// may tells whether who looks may do something in a namespace, or in all. Until the server has said so, they may not.
export function may(verb: Verb, namespace = ''): boolean {
  if (inPlace('').has(verb)) return true;
  return namespace !== '' && inPlace(namespace).has(verb);
}

function inPlace(namespace: string): ReadonlySet<string> {
  let found = known.get(namespace);
  if (!found) {
    found = signal(nothing);
    known.set(namespace, found);
    learn(namespace, found);
  }
  return found.value;
}

// learn asks for one namespace after the other: a page may show many.
function learn(namespace: string, into: Signal<ReadonlySet<string>>): void {
  line = line.then(async () => {
    const self = await ask<Self>(`self${query({ namespace })}`).catch(() => undefined);
    into.value = new Set(self?.actions);
  });
}

// start has rights asked for again when somebody else looks, or when the server was away.
export function start(): void {
  onChange(
    () => [epoch.value, token.value],
    () => known.forEach((into, namespace) => learn(namespace, into)),
  );
}
