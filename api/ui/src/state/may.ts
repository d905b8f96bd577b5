import { type Signal, signal } from '@preact/signals';
import type { Verb } from '../lib/orders';
import type { Self } from '../lib/types';
import { ask, query, session } from './client';
import { epoch } from './live';
import { onBack, onChange } from './resource';

interface Rights {
  actions: ReadonlySet<string>;
  configs: ReadonlySet<string>;
}

// known is what who looks may do, by namespace. What lies in no namespace, or in all, is under the empty name.
const known = new Map<string, Signal<Rights>>();
const nothing: Rights = { actions: new Set(), configs: new Set() };
let line: Promise<unknown> = Promise.resolve();

// may tells whether who looks may do something in a namespace, or in all. Until the server has said so, they may not. To retry is meant of workloads.
export const may = (verb: Verb, namespace = ''): boolean => anywhere(namespace, (r) => r.actions.has(verb));

// mayGoOn tells whether who looks may let the changes of a namespace's configs go on.
export const mayGoOn = (namespace: string): boolean => anywhere(namespace, (r) => r.configs.has('retry'));

const anywhere = (namespace: string, has: (r: Rights) => boolean): boolean => has(inPlace('')) || (namespace !== '' && has(inPlace(namespace)));

function inPlace(namespace: string): Rights {
  let found = known.get(namespace);
  if (!found) {
    found = signal(nothing);
    known.set(namespace, found);
    learn(namespace, found);
  }
  return found.value;
}

// learn asks for one namespace after the other: a page may show many.
function learn(namespace: string, into: Signal<Rights>): void {
  line = line.then(async () => {
    const self = await ask<Self>(`self${query({ namespace })}`).catch(() => undefined);
    into.value = { actions: new Set(self?.actions), configs: new Set(self?.configActions) };
  });
}

// start has rights asked for again when somebody else looks, or when the server was away.
export function start(): void {
  const again = () => known.forEach((into, namespace) => learn(namespace, into));
  onChange(() => [epoch.value, session.value], again);
  onBack(again);
}
