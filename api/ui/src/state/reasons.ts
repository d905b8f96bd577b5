import { signal } from '@preact/signals';
import { wordsOf } from '../lib/outcome';
import type { ReasonInfo } from '../lib/types';
import { ask } from './client';

const meanings = signal(new Map<string, string>());

// meaningOf says in a sentence what a reason means, as the server tells it.
export function meaningOf(reason: string): string {
  return meanings.value.get(reason) ?? wordsOf(reason);
}

export function start(): void {
  ask<{ items: ReasonInfo[] }>('reasons').then(
    ({ items }) => {
      meanings.value = new Map(items.map((r) => [r.reason, r.meaning]));
    },
    () => undefined, // their names say enough then
  );
}
