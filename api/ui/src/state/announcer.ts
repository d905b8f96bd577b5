import { signal } from '@preact/signals';

// said is what a screen reader is told next, politely.
export const said = signal('');

const pauseBetween = 4_000;
let free = 0;
let pending: string | undefined;

// announce tells a screen reader of news: not more often than can be listened to, and then the newest.
export function announce(text: string): void {
  const now = Date.now();
  if (now >= free) {
    free = now + pauseBetween;
    said.value = text;
    return;
  }
  if (pending === undefined) {
    setTimeout(() => {
      const newest = pending;
      pending = undefined;
      if (newest) announce(newest);
    }, free - now);
  }
  pending = text;
}
