import { signal } from '@preact/signals';

// now moves on often enough that relative times are right, and seldom enough that nothing flickers.
export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 5_000);
