import { effect, signal } from '@preact/signals';

// now moves on often enough that relative times are right, and seldom enough that nothing flickers.
export const now = signal(Date.now());

setInterval(() => {
  now.value = Date.now();
}, 5_000);

export type Theme = 'system' | 'light' | 'dark';

const name = 'reroll-theme';

export const theme = signal<Theme>(stored());

function stored(): Theme {
  try {
    const kept = localStorage.getItem(name);
    return kept === 'light' || kept === 'dark' ? kept : 'system';
  } catch {
    return 'system'; // storage may be forbidden
  }
}

effect(() => {
  const chosen = theme.value;
  if (chosen === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  try {
    if (chosen === 'system') localStorage.removeItem(name);
    else localStorage.setItem(name, chosen);
  } catch {
    // It then lasts as long as the page.
  }
});

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };

export function turnTheme(): void {
  theme.value = next[theme.value];
}
