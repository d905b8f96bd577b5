import { effect, type Signal, signal } from '@preact/signals';

// shortcuts tells whether single keys do something, and exactTimes whether times are shown exactly. The choice is kept in this browser.
export const shortcuts = kept('reroll-shortcuts', true);
export const exactTimes = kept('reroll-exact-times', false);

function kept(name: string, usual: boolean): Signal<boolean> {
  const chosen = signal(usual);
  try {
    if (localStorage.getItem(name) === String(!usual)) chosen.value = !usual;
  } catch {
    return chosen; // storage may be forbidden
  }
  effect(() => {
    if (chosen.value === usual) localStorage.removeItem(name);
    else localStorage.setItem(name, String(chosen.value));
  });
  return chosen;
}
