import { computed, type Signal, signal } from '@preact/signals';
import type { Verb } from '../lib/orders';
import type { Self } from '../lib/types';
import { ask, query, session } from './client';
import { epoch } from './eventstream';
import { onBack, onChange } from './resource';

interface Rights {
  actions: ReadonlySet<string>;
  configs: ReadonlySet<string>;
}

// atOnce is how many namespaces the server takes in one question.
const atOnce = 20;

// known has the rights of the user by namespace. Those in all namespaces, and in none, are under the empty name.
const known = new Map<string, Signal<Rights>>();
const nothing: Rights = { actions: new Set(), configs: new Set() };

// self is what the server says of the user; undefined until it has.
export const self = signal<Self | undefined>(undefined);
// readOnly tells that the server authenticates nobody, so that nobody may do anything.
export const readOnly = computed(() => self.value?.authenticated === false);

// may tells whether the user may do something in a namespace, or in all. Until the server has said so, they may not. Retrying is that of workloads.
export const may = (verb: Verb, namespace = ''): boolean => anywhere(namespace, (r) => r.actions.has(verb));

// mayGoOn tells whether the user may let the changes of a namespace's configs go on.
export const mayGoOn = (namespace: string): boolean => anywhere(namespace, (r) => r.configs.has('retry'));

const anywhere = (namespace: string, has: (r: Rights) => boolean): boolean => has(inPlace('')) || (namespace !== '' && has(inPlace(namespace)));

function inPlace(namespace: string): Rights {
  let found = known.get(namespace);
  if (!found) {
    found = signal(nothing);
    known.set(namespace, found);
    wanted.add(namespace);
    queueMicrotask(learn);
  }
  return found.value;
}

const wanted = new Set<string>();

// learn asks once for all namespaces that a view has just asked about.
function learn(): void {
  const all = [...wanted];
  wanted.clear();
  for (let i = 0; i < all.length; i += atOnce) void learnOf(all.slice(i, i + atOnce));
}

async function learnOf(names: string[]): Promise<void> {
  const who = session.peek();
  const answer = await ask<Self>(`self${query({ namespace: names.filter(Boolean).join(',') })}`).catch(() => undefined);
  if (who !== session.peek()) return;
  self.value = answer;
  const rights = (of: Pick<Self, 'actions' | 'configActions'> | undefined): Rights => ({ actions: new Set(of?.actions), configs: new Set(of?.configActions) });
  known.get('')!.value = rights(answer);
  for (const of of answer?.namespaces ?? []) {
    const into = known.get(of.namespace);
    if (into) into.value = rights(of);
  }
}

// start has rights asked for at once, and again when somebody else looks or when the server was away.
export function start(): void {
  known.set('', signal(nothing));
  const again = () => {
    for (const namespace of known.keys()) wanted.add(namespace);
    learn();
  };
  again();
  onChange(
    () => session.value,
    () => {
      self.value = undefined;
      for (const into of known.values()) into.value = nothing;
      again();
    },
  );
  onChange(() => epoch.value, again);
  onBack(again);
}
