import { signal } from '@preact/signals';
import type { Self } from '../lib/types';
import { ask, session } from './client';
import { onBack, onChange } from './resource';

// self is what the server says of the user; undefined until it has.
export const self = signal<Self | undefined>(undefined);

async function learn(): Promise<void> {
  const who = session.peek();
  const answer = await ask<Self>('self').catch(() => undefined);
  if (who === session.peek()) self.value = answer;
}

export function start(): void {
  void learn();
  onChange(() => session.value, learn);
  onBack(learn);
}
